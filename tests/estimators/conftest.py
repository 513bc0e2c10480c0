import pytest

from tests.small_problems import run_in_plain_python


@pytest.fixture(scope="module")
def plain_python():
    """Nothing is compiled in a module: its data are tiny, and kernels of its problems are tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        run_in_plain_python(patch)
        yield

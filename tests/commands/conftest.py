import pytest

from fwexp.cli import main
from tests.data.conftest import horseseg_without_h5py, letter_file, real_data  # noqa: F401 (fixtures)
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)


@pytest.fixture
def fwexp(tmp_path, monkeypatch, capsys):
    """Call a command in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        code = main(list(argv))
        return code, *capsys.readouterr()

    return call

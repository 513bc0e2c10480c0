"""Kernels as plain Python, unless a test is marked ``compiled``: what the folders do whose conftest takes these two hooks.

Machine code takes seconds, for problems that are small; that it does what plain Python does is
tested in tests/test_every_solver.py, and in tests/jit of what is compiled, bit for bit.
"""

import pytest

from tests.small_problems import run_in_plain_python


@pytest.fixture(scope="module", autouse=True)
def all_in_plain_python():
    """Run a whole module so, also what its fixtures make: one that imports this fixture, in a folder without the hooks."""
    with pytest.MonkeyPatch.context() as patch:
        run_in_plain_python(patch)
        yield


both_ways = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.compiled])])
_patch = pytest.MonkeyPatch()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Begin before the fixtures of a module."""
    if not item.get_closest_marker("compiled"):
        run_in_plain_python(_patch)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Undo it after they have ended."""
    _patch.undo()

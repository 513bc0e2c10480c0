"""Set-up of all tests: hypothesis profiles, the marker ``data``, interrupts, and matplotlib without a display."""

import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

os.environ["MPLBACKEND"] = "Agg"

# Caches stay where they are when a test changes HOME: it would compile anew, and write into the folder that it looks at.
os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")

# Processes that run tests side by side share the processors, and threads of one would hold up the other: as with joblib's workers.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    share = (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, share)))

# quick is the default and the same on every machine; pytest --hypothesis-profile=long searches on.
# No deadline: the first example of a test compiles kernels.
hypothesis.settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
# faults has as many examples as the check of users' faults takes: pytest --hypothesis-profile=faults tests/convex/test_faults.py.
hypothesis.settings.register_profile("faults", max_examples=500, deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True)
hypothesis.settings.load_profile("quick")

REQUIRE_DATA = os.environ.get("FWEXP_REQUIRE_DATA") == "1"


def pytest_configure(config):
    """Check the folder of the real data once, and make its name independent of the working directory.

    Interrupts are heard here and in what tests start, also where the parent ignores them (``nohup``, the background of a
    script): a test that is about that ignores them itself.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = os.environ.get("FWEXP_DATA")
    if folder:
        if not Path(folder).is_dir():
            raise pytest.UsageError(f"FWEXP_DATA is {folder!r}, which is no folder; unset it to skip the data tests")
        os.environ["FWEXP_DATA"] = str(Path(folder).resolve())
    elif REQUIRE_DATA:
        raise pytest.UsageError("FWEXP_REQUIRE_DATA=1 asks for the tests on real data, but FWEXP_DATA is not set")


def pytest_collection_modifyitems(items):
    """Skip the tests marked ``data`` where there is no real data, and those marked ``unix`` on Windows."""
    missing = {} if os.environ.get("FWEXP_DATA") else {"data": "needs real data: FWEXP_DATA is not set"}
    missing |= {"unix": "needs what Windows lacks"} if os.name == "nt" else {}
    for name, reason in missing.items():
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish():
    """Leave all that was imported to no collection of garbage: to look through it takes half a second each time."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _first_interrupt(monkeypatch):
    """Forget the Ctrl-C of other tests: to `fwexp.solve` all tests are one script."""
    monkeypatch.setattr("fwexp.driver.clock._interrupted", None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn a skip of a test on real data into a failure where the data are required."""
    report = yield
    if REQUIRE_DATA and report.skipped and item.get_closest_marker("data"):
        report.outcome = "failed"
        report.longrepr = f"skipped although FWEXP_REQUIRE_DATA=1: {call.excinfo.value}"
    return report

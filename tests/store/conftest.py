from tests.plain_python import pytest_runtest_setup, pytest_runtest_teardown  # noqa: F401 (hooks)
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)

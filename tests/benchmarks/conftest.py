from tests.plain_python import pytest_runtest_setup, pytest_runtest_teardown  # noqa: F401 (hooks)

"""The driver's tests compare numbers of small runs: none may depend on the CPU."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder ``portable``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.portable)

import copy
import functools

import pytest

from fwexp.run import from_arguments
from tests.papers import drawn_store
from tests.papers.drawn_store import drawn, folders, published  # noqa: F401 (fixtures)

_composed = functools.cache(lambda overrides, preset, expand=from_arguments.expand: expand(overrides, preset=preset))


@pytest.fixture(autouse=True, scope="module")  # that of a package would last for the whole session, without an __init__.py
def _each_preset_is_expanded_once():
    """Keep what Hydra composes, which takes a second for a preset: no test in this folder changes one."""
    with pytest.MonkeyPatch.context() as patch:

        def once(overrides, *, preset=None):
            return copy.deepcopy(_composed(tuple(overrides), preset))

        patch.setattr(from_arguments, "expand", once)
        yield


@pytest.fixture(scope="module")
def computed_as_published():
    with drawn_store.computed_as_published():
        yield

import copy
import functools

import pytest

from fwexp.run import sweep


@pytest.fixture(autouse=True, scope="package")
def _each_preset_is_expanded_once():
    """Keep what Hydra composes, which takes a second for a preset: no test in this folder changes one."""
    composed = functools.cache(lambda overrides, preset, expand=sweep.expand: expand(overrides, preset=preset))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "expand", lambda overrides, *, preset=None: copy.deepcopy(composed(tuple(overrides), preset)))
        yield

import copy
import functools
from pathlib import Path

import pytest

from fwexp.papers.claims import verdict_records
from fwexp.run import from_arguments
from tests.papers.drawn_store import drawn, folders, published  # noqa: F401 (fixtures)

PUBLISHED = Path(__file__).parents[2] / "results" / "published" / "claims"

_composed = functools.cache(lambda overrides, preset, expand=from_arguments.expand: expand(overrides, preset=preset))


@pytest.fixture(autouse=True, scope="module")  # that of a package would last for the whole session, without an __init__.py
def _each_preset_is_expanded_once():
    """Keep what Hydra composes, which takes a second for a preset: no test in this folder changes one."""
    with pytest.MonkeyPatch.context() as patch:

        def once(overrides, *, preset=None):
            return copy.deepcopy(_composed(tuple(overrides), preset))

        patch.setattr(from_arguments, "expand", once)
        yield


@pytest.fixture(scope="session")
def published_verdicts():
    """Return the published records of all claims."""
    return {id: record for path in PUBLISHED.glob("*.json") for id, record in verdict_records.read(path).items()}


@pytest.fixture(scope="module")
def computed_as_published(published_verdicts):
    """Take verdicts that need no runs from the published ones: tests/papers/test_claims.py computes them, and compares."""
    known, decide, fields = published_verdicts, verdict_records.decide, ("verdict", "why", *verdict_records.NOTHING)

    def decided(claim, runs):
        if claim.needs or claim.id not in known:
            return decide(claim, runs)
        return {name: known[claim.id][name] for name in fields}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict_records, "decide", decided)
        yield

"""One walk, two forms of vectors: families train alike with entries and with arrays as vectors of parts."""

import numpy as np
import pytest

import fwexp
from fwexp.problems import protocol, sparse_blocks, sparse_parts, tiers, walk
from fwexp.problems.matching import MatchingProblem
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.pose import PoseProblem
from tests.problems.definitions import build


class SparseGraphs(MultiLabelProblem):
    """Graphs of many labels whose vectors of parts are entries: rows, and shared parts with weights."""


class SparseMatchings(MatchingProblem):
    """Matchings whose vectors of parts are entries: rows alone."""


class SparsePoses(PoseProblem):
    """Poses whose vectors of parts are entries: shared parts alone, all of them."""


SPARSE = (SparseGraphs, SparseMatchings, SparsePoses)
sparse_parts.register(*SPARSE)


@sparse_blocks.most_parts.register(*SPARSE)
def _(problem, i):
    return problem.part_ptr[i + 1] - problem.part_ptr[i]


RUNS = [
    {"iterates": ["last", "wavg", "tavg"]},
    {"cache": True},
    {"step": "corrective", "cache": True, "iterates": ["last", "wavg"]},
    {"step": "pairwise", "sampling": "gap"},
]


@pytest.mark.parametrize("options", RUNS, ids=str)
@pytest.mark.parametrize(
    ("form", "other"),
    [("dense graphs of three labels", SparseGraphs), ("dense matchings", SparseMatchings), ("poses", SparsePoses)],
)
def test_the_form_of_vectors_changes_nothing(monkeypatch, form, other, options):
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 0)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 1)
    problem = build(form).problem
    assert type(protocol.workspace(problem).direction) is not type(protocol.workspace(other(*problem)).direction)
    results = [fwexp.solve(each, "bcfw", lam=0.1, max_passes=4, gap_tol=0, **options) for each in (problem, other(*problem))]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-10)
    np.testing.assert_allclose(results[0].trace.primal, results[1].trace.primal, atol=1e-10)


def test_families_with_a_walk():
    """Segmentations into two classes have functions of their own."""
    walked = {cls.__name__.removesuffix("Problem") for cls in tiers.families() if walk.parts.find(cls)}
    assert walked == {"Chain", "Enumerated", "Matching", "Multiclass", "MultiLabel", "Pose"}

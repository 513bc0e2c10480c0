"""One walk, two forms of vectors: families train alike with entries and with arrays as vectors of parts."""

import numpy as np
import pytest

import fwexp
from fwexp.problems import protocol, sparse_blocks, sparse_parts, walk
from fwexp.problems.matching import MatchingProblem
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.pose import PoseProblem
from tests.problems.definitions import FORMS, build
from tests.small_problems import run_in_plain_python


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
    run_in_plain_python(monkeypatch)
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 0)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 1)
    problem = build(form).problem
    assert type(protocol.workspace(problem).direction) is not type(protocol.workspace(other(*problem)).direction)
    results = [fwexp.solve(each, "bcfw", lam=0.1, max_passes=4, gap_tol=0, **options) for each in (problem, other(*problem))]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-10)
    np.testing.assert_allclose(results[0].trace.primal, results[1].trace.primal, atol=1e-10)


PROBLEMS = {form: build(form).problem for form in FORMS}
WALKED = [form for form, problem in PROBLEMS.items() if walk.parts.find(type(problem))]


@pytest.mark.parametrize("form", WALKED)
def test_the_true_labeling_differs_in_nothing(form):
    problem = PROBLEMS[form]
    work, w = protocol.workspace(problem), protocol.new_weights(problem)
    for i in range(problem.n):
        protocol.true_labeling(problem, i, work.y)
        protocol.scatter_psi(problem, i, work.y, 1.0, w)
        protocol.scores(problem, i, np.arange(problem.num_weights) + 0.5, work.theta)
        assert protocol.psi_score(problem, i, work.y, work.theta) == 0.0
    assert not w.any()


def test_families_with_a_walk():
    """Segmentations into two classes have functions of their own."""
    walked = {type(PROBLEMS[form]).__name__.removesuffix("Problem") for form in WALKED}
    assert walked == {"Chain", "Enumerated", "Matching", "Multiclass", "MultiLabel", "Pose"}

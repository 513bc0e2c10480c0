"""Families in tiers: what a family from outside gets from the required functions, and what it is told that it lacks.

Machine code of families from outside is not kept on disk, so every process that runs these tests compiles it: as little as
shows that all functions compile, and give what they give in plain Python.
"""

import functools
from itertools import product
from typing import NamedTuple

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core import event

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol, sparse_blocks, sparse_parts, tiers, walk
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.chain import ChainProblem
from fwexp.problems.features import DenseFeatures
from fwexp.problems.multiclass import MulticlassProblem
from fwexp.solvers import SOLVERS, check_needs, of_kind
from fwexp.solvers.auto import best_options
from fwexp.solvers.ssg import SSG
from fwexp.solvers.table import table
from fwexp.testing import CheckFailed, check_problem
from tests import reference as ref
from tests.plugin.fwexp_plugin.bits import BitsProblem
from tests.small_problems import chain, run_in_plain_python

# --- a family from outside: several yes/no labels per example ---------------------------------------------------------


class Multilabel(BitsProblem):
    """The family of tests/plugin: it registers what is required, and no more."""


class WithSets(BitsProblem):
    """The same with functions of its own for active sets."""


class Sparse(BitsProblem):
    """The same with entries as vectors of parts."""


class Unlabelled(NamedTuple):
    """The same with bits in a matrix instead of runs of integers: it has no functions to compare labelings."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray
    bits: np.ndarray  # int32 (n, L)
    x: np.ndarray


class Idle(NamedTuple):
    """Registers some of the required functions."""

    n: int = 1
    d: int = 1
    num_weights: int = 1


FAMILIES = (Multilabel, WithSets, Unlabelled, Sparse)
L, P = 3, 2


def truth(problem, i):
    return problem.bits[i] if isinstance(problem, Unlabelled) else problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]


for function in (protocol.scores, protocol.decode, protocol.scatter):
    function.register(Unlabelled)(function.implementations[BitsProblem])


@protocol.max_oracle.register(Unlabelled)
def _(problem, i, theta, y, scratch):
    size, value = problem.bits.shape[1], 0.0
    for label in range(size):
        true = problem.bits[i, label]
        gain = 1.0 / size - (2 * true - 1) * theta[label]
        y[label] = 1 - true if gain > 0.0 else true
        value += max(gain, 0.0)
    return value


@protocol.loss.register(Unlabelled)
def _(problem, i, y):
    wrong = 0
    for label in range(problem.bits.shape[1]):
        wrong += y[label] != problem.bits[i, label]
    return wrong / problem.bits.shape[1]


@protocol.add_psi.register(Unlabelled)
def _(problem, i, y, c, direction):
    for label in range(problem.bits.shape[1]):
        direction[label] += c * (problem.bits[i, label] - y[label])


@protocol.workspace.register(Unlabelled)
def _(problem):
    return protocol.Workspace(np.zeros(L), np.zeros(L), np.zeros(L), np.zeros(L, dtype=np.int32), np.zeros(0))


@protocol.true_labeling.register(Unlabelled)
def _(problem, i, y):
    y[:] = problem.bits[i]


@protocol.new_labelings.register(Unlabelled)
def _(problem):
    return np.zeros_like(problem.bits)


@protocol.store_labeling.register(Unlabelled)
def _(problem, i, y, labelings):
    labelings[i] = y


@protocol.stored_labeling.register(Unlabelled)
def _(problem, i, labelings):
    return labelings[i]


@protocol.as_labeling.register(*FAMILIES)
def _(problem, i, y):
    bits = np.array(y, dtype=np.int32)
    if bits.shape != truth(problem, i).shape or not ((bits == 0) | (bits == 1)).all():
        raise ParameterError(f"y must hold {len(truth(problem, i))} bits, got {y}")
    return bits


@protocol.public_labeling.register(*FAMILIES)
def _(problem, i, y):
    return np.array(y[: len(truth(problem, i))], dtype=np.int64)


@protocol.joint_feature.register(*FAMILIES)
def _(problem, i, y):
    phi = np.zeros((problem.d // P, P))
    phi[: len(y)] = np.outer(y, problem.x[i])
    return sp.csr_array(phi.reshape(1, -1))


sparse_parts.register(Sparse)  # Each bit is a row of one label, with the inputs of its example.


@walk.parts.register(Sparse)
def _(problem, i, y, c, visitor):
    start, total = problem.label_ptr[i], 0.0
    for label in range(problem.label_ptr[i + 1] - start):
        if y[label] != problem.labels[start + label]:
            total += walk.add_row(visitor, label, 0, c * (problem.labels[start + label] - y[label]))
    return total


@walk.row_width.register(Sparse)
def _(problem):
    return 1


@walk.inputs.register(Sparse)
def _(problem):
    return DenseFeatures(problem.x)


@walk.scores_at.register(Sparse)
def _(problem, i, r, w, out):
    p, total = problem.x.shape[1], 0.0
    for f in range(p):
        total += w[r * p + f] * problem.x[i, f]
    out[0] = total


@walk.scatter_at.register(Sparse)
def _(problem, i, r, row, c, w):
    walk.scatter_one(problem, i, r, 0, c * row[0], w)


@walk.scatter_one.register(Sparse)
def _(problem, i, r, label, c, w):
    p = problem.x.shape[1]
    for f in range(p):
        w[r * p + f] += c * problem.x[i, f]


@sparse_parts.product_at.register(Sparse)
def _(problem, i, r, s):
    return np.sum(problem.x[i] ** 2) if r == s else 0.0


@sparse_blocks.most_parts.register(Sparse)
def _(problem, i):
    return problem.label_ptr[i + 1] - problem.label_ptr[i]


@protocol.psi_score.register(WithSets)
def _(problem, i, y, theta):
    start, total = problem.label_ptr[i], 0.0
    for label in range(problem.label_ptr[i + 1] - start):
        total += (problem.labels[start + label] - y[label]) * theta[label]
    return total


@protocol.gram_scores.register(WithSets)
def _(problem, i, direction, theta):
    x_sq = np.sum(problem.x[i] ** 2)
    for label in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        theta[label] = x_sq * direction[label]


def multilabel(family=Multilabel, lengths=(L,) * 6, seed=0):
    """Return a problem of one of the families; of ``Unlabelled`` all lengths are L."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    labels, x = rng.integers(2, size=ptr[-1]).astype(np.int32), rng.normal(size=(len(lengths), P))
    d = max(lengths) * P
    if family is Unlabelled:
        return Unlabelled(len(lengths), d, d, ptr, labels.reshape(-1, L), x)
    return family(len(lengths), d, d, ptr, ptr, labels, x)


def written_out(problem):
    """Return the same problem, output by output."""
    labelings = [list(product((0, 1), repeat=len(truth(problem, i)))) for i in range(problem.n)]
    phi = [np.array([protocol.joint_feature(problem, i, y).toarray()[0] for y in of_i]) for i, of_i in enumerate(labelings)]
    losses = [np.mean(np.array(of_i) != truth(problem, i), axis=1) for i, of_i in enumerate(labelings)]
    return ref.from_features(
        phi, losses, labelings, [of_i.index(tuple(truth(problem, i).tolist())) for i, of_i in enumerate(labelings)]
    )


SUBLINEAR = ("ssg", "fw", "approx_bcfw")
LAM = 0.1


@functools.cache
def optimum():
    """Return the optimum of ``multilabel()``, of whichever family."""
    return ref.qp_optimum(written_out(multilabel()), LAM)


def compiled():
    """Record what numba compiles."""
    return event.install_recorder("numba:compile")


# --- what the required functions give ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(L,) * 6, (1,), (1, 4, 2)])
@pytest.mark.parametrize("family", [Multilabel, WithSets, Sparse])
def test_required_functions_make_a_family(family, lengths):
    assert check_problem(multilabel(family, lengths)) == ("required", "sets")


@pytest.mark.slow
def test_labelings_of_another_form_make_a_family_without_sets():
    assert check_problem(multilabel(Unlabelled)) == ("required",)
    assert best_options(multilabel(Unlabelled), LAM) == {"sampling": "perm", "step": "fw", "accelerate": False}


REQUIRED_ONLY = [
    ("bcfw", {}),
    ("bcfw", {"sampling": "gap", "refresh": 5}),
    ("fw", {}),
    ("ssg", {}),
    ("fcfw", {}),
    ("one_slack", {"cache": 0}),
]
SETS = [
    *(("bcfw", {"step": step}) for step in ("pairwise", "away", "corrective")),
    *(("bcfw", {"step": step, "cache": True, "sampling": "max_gap"}) for step in ("fw", "pairwise")),
    ("one_slack", {}),
    ("n_slack", {}),
    ("approx_bcfw", {}),
    ("auto", {}),
]


RUNS = [(Multilabel, *run) for run in REQUIRED_ONLY + SETS]
RUNS += [
    (WithSets, "bcfw", {"step": "pairwise"}),
    (Sparse, "bcfw", {"step": "away", "cache": True}),
    (Unlabelled, "bcfw", {}),
    (Unlabelled, "fw", {}),
    (Unlabelled, "auto", {}),
]


@pytest.mark.parametrize(("family", "solver", "options"), RUNS)
def test_a_family_from_outside_trains(monkeypatch, family, solver, options):
    run_in_plain_python(monkeypatch)
    train(family, solver, options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "solver", "options"), [(Sparse, "bcfw", {"sampling": "gap", "refresh": 5}), (Unlabelled, "fw", {})]
)
def test_a_family_from_outside_trains_compiled(family, solver, options):
    with compiled() as recorder:
        train(family, solver, options)
    assert recorder.buffer


def train(family, solver, options):
    """Solve, and compare with the optimum."""
    result = fwexp.solve(multilabel(family), solver, lam=LAM, max_passes=400, gap_tol=1e-3, iterate="last", **options)
    best = optimum()
    assert best.dual - 1e-9 <= result.primal <= best.primal + (0.05 if solver in SUBLINEAR else 2e-3)
    assert not result.trace.dual.max() > best.primal + 1e-9


@pytest.mark.parametrize("options", [{}, {"step": "pairwise"}])
def test_sparse_vectors_of_parts_change_nothing(monkeypatch, options):
    run_in_plain_python(monkeypatch)
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 0)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 1)  # so that blocks have to grow
    common = {"lam": LAM, "max_passes": 20, "gap_tol": 0, "iterates": ["last", "wavg", "tavg"]} | options
    sparse, dense = (fwexp.solve(multilabel(family, (1, 4, 2, 3)), "bcfw", **common) for family in (Sparse, Multilabel))
    np.testing.assert_allclose(sparse.w, dense.w, atol=1e-12)
    np.testing.assert_allclose(sparse.trace.primal, dense.trace.primal)


@numba.njit(error_model="numpy")
def call_all(problem, w, labelings, blocks, total, storage, work, out):
    """Call every function that kernels call, and write down what they return."""
    for i in range(problem.n):
        y, direction, theta = work.y, work.direction, work.theta
        protocol.prefetch_example(problem, i)
        protocol.prefetch_vector(problem, i, blocks)
        protocol.scores(problem, i, w, theta)
        protocol.decode(problem, i, theta, y, work.scratch)
        out[i, 0] = protocol.loss(problem, i, y) * protocol.loss_weight(problem, i, y)
        out[i, 1] = protocol.max_oracle(problem, i, theta, y, work.scratch)
        out[i, 2] = protocol.psi_score(problem, i, y, theta)
        protocol.store_labeling(problem, i, y, labelings)
        for t in range(protocol.labeling_ptr(problem)[i + 1] - protocol.labeling_ptr(problem)[i]):
            storage[t] = y[t]
        out[i, 3] = protocol.same_labeling(problem, i, protocol.stored_labeling(problem, i, labelings), storage, 0)
        protocol.clear(problem, i, direction)
        protocol.add_psi(problem, i, y, 2.0, direction)
        protocol.close(problem, i, direction)
        out[i, 4] = protocol.dot(problem, i, direction, theta)
        protocol.accumulate(problem, i, direction, 0.5, total)
        protocol.accumulate_psi(problem, i, y, 3.0, total)
        protocol.scatter(problem, i, direction, 0.1, w)
        protocol.scatter_psi(problem, i, y, 0.2, w)
        protocol.gram_scores(problem, i, direction, work.image)
        out[i, 5] = protocol.psi_score(problem, i, y, work.image)
        out[i, 6] = protocol.has_room(problem, i, blocks)
        protocol.set_direction(problem, i, y, blocks, direction)
        out[i, 7] = protocol.norm_sq(problem, i, direction)
        protocol.add_to_block(problem, i, direction, 0.7, blocks)
        protocol.true_labeling(problem, i, y)
        out[i, 8] = protocol.same_labeling(problem, i, y, storage, 0)
        protocol.set_direction(problem, i, y, blocks, direction)
        out[i, 9] = protocol.norm_sq(problem, i, direction)
        protocol.scatter_block(problem, i, blocks, 0.3, w)
        protocol.rescale(problem, i, -2.0, theta)
        out[i, 10] = protocol.psi_score(problem, i, protocol.stored_labeling(problem, i, labelings), theta)
        protocol.clear(problem, i, direction)
        protocol.add_labelings(problem, i, storage, np.zeros(1, dtype=np.int64), np.ones(1), direction)
        protocol.close(problem, i, direction)
        out[i, 11] = protocol.dot(problem, i, direction, theta) + protocol.num_positions(problem, i)
        protocol.scatter_labelings(problem, i, storage, np.zeros(1, dtype=np.int64), np.ones(1), 0.5, direction, w)
        protocol.prefetch_labelings(problem, i, storage, np.zeros(1, dtype=np.int64))
        protocol.score_labelings(problem, i, storage, np.zeros(1, dtype=np.int64), w, work, out[i, 12:])
        protocol.complete_scores(problem, i, w, work)
    protocol.scatter_sum(problem, total, 0.01, w)


def test_functions_that_kernels_call_are_all_there():
    kernels_call = {name for name in tiers.functions() if "lain Python)" not in getattr(protocol, name).__doc__.partition("\n")[0]}
    kernels_call -= {
        *tiers.TIERS["expectations"],
        *tiers.TIERS["exact"],
        "example_weight",
        "joint_feature",
        "workspace",
    }  # of other tiers; never in kernels
    assert kernels_call == {name for name in call_all.py_func.__code__.co_names if name in tiers.functions()}


@pytest.mark.slow
def test_functions_of_families_and_derived_ones_compile_to_what_they_are_in_plain_python():
    results = []
    for function in (call_all, call_all.py_func):
        problem, rng = multilabel(lengths=(1, 4, 2, 3)), np.random.default_rng(0)
        w, out = rng.normal(size=problem.d), np.full((problem.n, 13), np.nan)
        blocks = protocol.copy_blocks(problem, protocol.new_blocks(problem))
        storage, labelings = protocol.new_storage(problem, 4), protocol.new_labelings(problem)
        work, (total,) = protocol.workspace(problem), protocol.new_sums(problem, 1)
        function(problem, w, labelings, blocks, total, storage, work, out)
        results.append((out, w, protocol.blocks_to_weights(problem, blocks, 1.0)))
    for compiled_to, plain in zip(*results):
        np.testing.assert_allclose(compiled_to, plain, rtol=1e-12, atol=1e-12)
    assert len(np.unique(results[0][0])) > 3 * problem.n


@pytest.mark.parametrize("name", ["psi_score", "gram_scores", "norm_sq", "scatter_psi"])
def test_derived_functions_equal_those_of_a_family(name):
    """Ways through R^d equal what a family computes in its parts, or the plain formula."""
    problem, other, rng = multilabel(), multilabel(WithSets), np.random.default_rng(1)
    work, y, direction = (
        protocol.workspace(problem),
        np.array([1, 0, 1], dtype=np.int32),
        np.concatenate((rng.normal(size=L), [0] * L)),
    )
    for i in range(problem.n):
        if name == "psi_score":
            theta = rng.normal(size=L)
            assert np.isclose(protocol.psi_score(problem, i, y, theta), protocol.psi_score(other, i, y, theta))
        elif name == "gram_scores":
            protocol.gram_scores(problem, i, direction, work.image)
            protocol.gram_scores(other, i, direction, wanted := np.zeros(L))
            np.testing.assert_allclose(work.image, wanted)
        elif name == "norm_sq":
            assert np.isclose(protocol.norm_sq(problem, i, direction), np.sum(np.outer(direction, problem.x[i]) ** 2))
        else:
            protocol.scatter_psi(problem, i, y, 2.0, w := np.ones(problem.num_weights))
            np.testing.assert_allclose(w - 1.0, 2.0 * np.outer(truth(problem, i) - y, problem.x[i]).ravel())


# --- what is missing is named before anything is compiled ---------------------------------------------------------------


SETS_NEEDED = "sets (labeling_ptr)"
BOUNDS_NEEDED = "bounds (radii_sq)"
MISSING = [
    (Multilabel, "online_eg", {}, "expectations (loss_augmented_scores, expectation_oracle, expectation_scratch, distance)"),
    (Multilabel, "bcfw", {"sampling": "lipschitz"}, BOUNDS_NEEDED),
    (Multilabel, "bcfw", {"accelerate": {"period": 2}}, BOUNDS_NEEDED),
    (WithSets, "kernel_fw", {}, "kernels (with_inputs, inner)"),
    (Unlabelled, "bcfw", {"step": "away"}, SETS_NEEDED),
    (Unlabelled, "bcfw", {"cache": True}, SETS_NEEDED),
    (Unlabelled, "n_slack", {}, SETS_NEEDED),
]


@pytest.mark.parametrize(("family", "solver", "options", "tier"), MISSING)
def test_a_missing_tier_is_named_before_anything_is_compiled(family, solver, options, tier):
    with compiled() as recorder, pytest.raises(OptionError) as error:
        fwexp.solve(multilabel(family), solver, lam=LAM, **options)
    needs = f"solver {solver}{' with these options' if options else ''} needs the tier {tier}"
    assert str(error.value) == f"{needs}, which {family.__name__} does not have"
    assert not recorder.buffer


def test_the_recorder_records():
    class Other(Multilabel):
        """Nothing is compiled for it yet."""

    problem = Other(*multilabel())
    with compiled() as recorder:
        fwexp.evaluate(problem, np.zeros(problem.d))
    assert recorder.buffer


@pytest.mark.parametrize("options", [{"accelerate": {"kap": 1.0}}, {"accelerate": False}])
def test_bounds_are_needed_only_where_kap_is_not_given(monkeypatch, options):
    run_in_plain_python(monkeypatch)
    assert fwexp.solve(multilabel(), "bcfw", lam=LAM, max_passes=30, **options).gap < 0.1


def test_required_functions_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(protocol.scores.implementations, Idle, lambda *args: None)
    with pytest.raises(OptionError, match=r"fw needs the tier required \(max_oracle, .*workspace, .*, which Idle does not have"):
        fwexp.solve(Idle(), "fw", lam=LAM)
    with pytest.raises(CheckFailed, match="has_the_protocol: Idle does not register max_oracle, decode, loss"):
        check_problem(Idle())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "loss_augmented_scores",
            "does not register expectation_oracle, expectation_scratch, distance of the tier expectations, but loss_augmented",
        ),
        ("with_inputs", "does not register inner of the tier kernels, but with_inputs"),  # the plain product would be wrong
    ],
)
def test_half_a_tier_is_rejected(monkeypatch, name, message):
    monkeypatch.setitem(getattr(protocol, name).implementations, Multilabel, lambda *args: None)
    with pytest.raises(CheckFailed, match=message):
        check_problem(multilabel())


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (("sets", "bounds"), "does not register radii_sq of the tier bounds, which it states in its attribute tiers"),
        (("set",), "tiers must hold names of required, sets, .*exact, got set"),
    ],
)
def test_a_wrong_statement_of_tiers_is_rejected(monkeypatch, stated, message):
    monkeypatch.setattr(Multilabel, "tiers", stated, raising=False)
    with pytest.raises(CheckFailed, match=f"has_the_protocol: Multilabel.?{message}"):
        check_problem(multilabel())


def test_a_tier_that_is_not_stated_is_not_taken(monkeypatch):
    monkeypatch.setitem(protocol.radii_sq.implementations, Multilabel, lambda problem: np.ones(problem.n))
    message = "solver bcfw with these options needs the tier bounds, which Multilabel does not state in its attribute tiers"
    with pytest.raises(OptionError, match=message):
        fwexp.solve(multilabel(), "bcfw", lam=LAM, sampling="lipschitz")
    with pytest.raises(CheckFailed, match=r"Multilabel must state the tier bounds in its attribute tiers, got \('sets',\)"):
        check_problem(multilabel())


def test_a_wrong_comparison_of_labelings_is_rejected(monkeypatch):
    monkeypatch.setitem(protocol.same_labeling.implementations, Multilabel, lambda problem, i, y, storage, start: True)
    with pytest.raises(CheckFailed, match="labelings_are_told_apart: same_labeling"):
        check_problem(multilabel())


# --- the table ----------------------------------------------------------------------------------------------------------


def test_every_function_of_the_protocol_is_in_a_tier_or_derived():
    named = {name for names in tiers.TIERS.values() for name in names}
    assert named <= set(tiers.functions())
    derived = {name for name in tiers.functions() if object in getattr(protocol, name).implementations}
    assert set(tiers.functions()) - named <= derived
    assert not set(tiers.TIERS["required"]) & derived


def test_families_have_these_tiers():
    assert set(tiers.TIERS) - set(tiers.tiers_of(ChainProblem)) == {"exact"}
    assert tiers.tiers_of(MulticlassProblem) == tuple(tiers.TIERS)
    assert tiers.tiers_of(CallbackProblem) == tiers.tiers_of(chain("functions", 0)[1]) == ("required", "sets")


def test_oracles_are_exact_unless_a_family_says_otherwise(monkeypatch):
    assert protocol.exact_oracle(multilabel()) is True
    monkeypatch.setitem(protocol.exact_oracle.implementations, Multilabel, lambda problem: False)
    assert protocol.exact_oracle(multilabel()) is False
    assert protocol.exact_oracle(multilabel(WithSets)) is True


def test_the_table_says_what_is_refused():
    class Choosy(SSG):
        """Needs sets for one order."""

        name = "choosy"

        @classmethod
        def needs(cls, options):
            return ("sets",) if options.sampling == "perm" else ()

    assert table([Choosy], [Unlabelled, Multilabel]).splitlines()[2:] == [
        "| `choosy` | ✓ | ✓ |  |",
        "| `choosy` with `sampling=perm` | – | ✓ | sets |",
    ]


@pytest.mark.parametrize("solver", ["n_slack", "one_slack"])
def test_the_table_says_where_weights_that_must_not_be_negative_are_refused(solver):
    """Those of edges always are; those of poses only by default."""
    graphs = fwexp.segmentation_problem([np.ones((2, 1))], [[(0, 1)]], [np.ones((1, 1))], [[0, 1]])
    poses = fwexp.pose_problem([np.zeros((2, 2, 1))], [[(0, 0), (1, 1)]], [-1, 0], nonnegative=[])
    (row, *_) = table([SOLVERS[solver]], [type(graphs), type(poses)]).splitlines()[2:]
    check_needs(SOLVERS[solver], poses, SOLVERS[solver].Options())
    if SOLVERS[solver].constraints:
        assert row.split("|")[2:4] == [" ✓ ", " ✓ "]
        check_needs(SOLVERS[solver], graphs, SOLVERS[solver].Options())
    else:
        assert row.split("|")[2:4] == [" – ", " ✓ "]
        with pytest.raises(OptionError, match="cannot keep weights nonnegative"):
            check_needs(SOLVERS[solver], graphs, SOLVERS[solver].Options())


def test_the_table_has_every_solver():
    assert all(f"| `{name}` " in table() for name in of_kind("structured"))

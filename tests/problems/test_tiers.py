"""Families in tiers: what a family from outside gets from the required functions, and what it is told that it lacks.

As little is compiled as shows that all functions compile, and give what they give in plain Python.
"""

import contextlib
import functools
import sys
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.jit import listening
from fwexp.problems import protocol, tiers
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.chain import ChainProblem
from fwexp.problems.matching import MatchingProblem
from fwexp.problems.multiclass import MulticlassProblem
from fwexp.solvers import SOLVERS, check_needs, of_kind
from fwexp.solvers.auto import best_options
from fwexp.solvers.ssg import SSG
from fwexp.testing import CheckFailed, check_problem
from tests import reference as ref
from tests.pages import ROOT
from tests.plain_python import both_ways
from tests.plugin.fwexp_plugin.bits import BitsProblem
from tests.small_problems import chain, run_in_plain_python

sys.path.insert(0, str(ROOT / "docs"))
from solver_table import table

# --- a family from outside: several yes/no labels per example ---------------------------------------------------------


class Multilabel(BitsProblem):
    """The family of tests/plugin: it registers what is required, and no more."""


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


FAMILIES = (Multilabel, Unlabelled)
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


@contextlib.contextmanager
def compiled():
    """Record what is linked and compiled."""
    seen = []
    before = listening.on_compilation.set(seen.append)
    yield seen
    listening.on_compilation.reset(before)


# --- what the required functions give ---------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("lengths", [(L,) * 6, (1,), (1, 4, 2)])
def test_required_functions_make_a_family(lengths, compiled):
    assert check_problem(multilabel(lengths=lengths)) == ("required", "sets")


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
    (Unlabelled, "bcfw", {}),
    (Unlabelled, "fw", {}),
    (Unlabelled, "auto", {}),
]


@pytest.mark.parametrize(("family", "solver", "options"), RUNS)
def test_a_family_from_outside_trains(family, solver, options):
    train(family, solver, options)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("family", "options"),
    [
        (Multilabel, {"step": "corrective", "cache": True, "iterates": ["last", "wavg", "tavg"]}),
        (Unlabelled, {"iterates": ["wavg"]}),
    ],
)
def test_functions_of_families_and_derived_ones_compile_to_what_they_are_in_plain_python(family, options, monkeypatch):
    given = {"lam": LAM, "max_passes": 20, "gap_tol": 0, "sampling": "perm"} | options
    with compiled() as recorder:
        found = fwexp.solve(multilabel(family), "bcfw", **given)
    assert recorder
    run_in_plain_python(monkeypatch)
    plain = fwexp.solve(multilabel(family), "bcfw", **given)
    np.testing.assert_allclose(found.w, plain.w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.trace[["primal", "dual"]], plain.trace[["primal", "dual"]], rtol=1e-9, atol=1e-12)


def train(family, solver, options):
    """Solve, and compare with the optimum."""
    result = fwexp.solve(multilabel(family), solver, lam=LAM, max_passes=400, gap_tol=1e-3, iterate="last", **options)
    best = optimum()
    assert best.dual - 1e-9 <= result.primal <= best.primal + (0.05 if solver in SUBLINEAR else 2e-3)
    assert not result.trace.dual.max() > best.primal + 1e-9


# --- what is missing is named before anything is compiled ---------------------------------------------------------------


SETS_NEEDED = "sets (labeling_ptr)"
BOUNDS_NEEDED = "bounds (radii_sq)"
MISSING = [
    (Multilabel, "online_eg", {}, "expectations (loss_augmented_scores, expectation_oracle, expectation_scratch, distance)"),
    (Multilabel, "bcfw", {"sampling": "lipschitz"}, BOUNDS_NEEDED),
    (Multilabel, "bcfw", {"accelerate": {"period": 2}}, BOUNDS_NEEDED),
    (Multilabel, "kernel_fw", {}, "kernels (with_inputs, inner)"),
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
    assert not recorder


@pytest.mark.compiled
def test_the_recorder_records():
    class Other(Multilabel):
        """Nothing is compiled for it yet."""

    problem = Other(*multilabel())
    with compiled() as recorder:
        fwexp.evaluate(problem, np.zeros(problem.d))
    assert recorder


@pytest.mark.parametrize("options", [{"accelerate": {"kap": 1.0}}, {"accelerate": False}])
def test_bounds_are_needed_only_where_kap_is_not_given(options):
    assert fwexp.solve(multilabel(), "bcfw", lam=LAM, max_passes=30, **options).gap < 0.1


def test_required_functions_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(protocol.scores.implementations, Idle, lambda *args: None)
    with pytest.raises(OptionError, match=r"fw needs the tier required \(max_oracle, .*workspace, .*, which Idle does not have"):
        fwexp.solve(Idle(), "fw", lam=LAM)
    with pytest.raises(CheckFailed, match="has_the_protocol: Idle does not register max_oracle, decode, loss"):
        check_problem(Idle())


NOTHING = lambda *args: None  # noqa: E731 - a function that registers itself and no more


@pytest.mark.parametrize(
    ("registered", "stated", "message"),
    [
        (
            {"loss_augmented_scores": NOTHING},
            None,
            "does not register expectation_oracle, expectation_scratch, distance of the tier expectations, but loss_augmented",
        ),
        ({"with_inputs": NOTHING}, None, "does not register inner of the tier kernels, but with_inputs"),  # u @ v would be wrong
        (
            {},
            ("sets", "bounds"),
            "does not register radii_sq of the tier bounds, which it states in its attribute tiers",
        ),
        ({}, ("set",), "has_the_protocol: Multilabel.?tiers must hold names of required, sets, .*exact, got set"),
        ({"same_labeling": lambda problem, i, y, storage, start: True}, None, "labelings_are_told_apart: same_labeling"),
    ],
)
def test_half_a_tier_and_wrong_statements_are_rejected(monkeypatch, registered, stated, message):
    for name, function in registered.items():
        monkeypatch.setitem(getattr(protocol, name).implementations, Multilabel, function)
    if stated:
        monkeypatch.setattr(Multilabel, "tiers", stated, raising=False)
    with pytest.raises(CheckFailed, match=message):
        check_problem(multilabel())


def test_a_tier_that_is_not_stated_is_not_taken(monkeypatch):
    monkeypatch.setitem(protocol.radii_sq.implementations, Multilabel, lambda problem: np.ones(problem.n))
    message = "solver bcfw with these options needs the tier bounds, which Multilabel does not state in its attribute tiers"
    with pytest.raises(OptionError, match=message):
        fwexp.solve(multilabel(), "bcfw", lam=LAM, sampling="lipschitz")
    with pytest.raises(CheckFailed, match=r"Multilabel must state the tier bounds in its attribute tiers, got \('sets',\)"):
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
    assert tiers.tiers_of(MatchingProblem) == ("required", "sets", "bounds")  # expectations are permanents
    assert tiers.tiers_of(CallbackProblem) == tiers.tiers_of(chain("functions", 0)[1]) == ("required", "sets")


def test_oracles_are_exact_unless_a_family_says_otherwise(monkeypatch):
    assert protocol.exact_oracle(multilabel()) is True
    monkeypatch.setitem(protocol.exact_oracle.implementations, Multilabel, lambda problem: False)
    assert protocol.exact_oracle(multilabel()) is False
    assert protocol.exact_oracle(multilabel(Unlabelled)) is True


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

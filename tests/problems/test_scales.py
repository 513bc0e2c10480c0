"""Numbers whose squares are no floats are refused where they come in, by name; others of any scale are trained on."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.protocol import radii_sq
from fwexp.problems.tiers import has
from fwexp.solvers import of_kind

X = np.random.default_rng(0).normal(size=(6, 3))
Y, EDGES = [0, 1, 2, 0, 1, 2], [[(0, 1), (1, 2)]] * 2
Z, GRID = np.abs(X), X[:4].reshape(2, 2, 3)
COSTS, PSI, LOSSES = 1.0 - np.eye(3), np.vstack((0.0 * X[0], X)), np.append(0.0, np.ones(6))
POSE = {"X": [X.reshape(1, 6, 3)], "y": [[(0, 1), (0, 3)]], "parents": [-1, 0]}


def graphs(x=X, z=Z, labels=2, **more):
    return fwexp.segmentation_problem([x[:3], x[3:]], EDGES, [z[:2], z[2:4]], [[0, 1, 1], [0, 0, 1]], num_labels=labels, **more)


def functions(x, size=1.0, sparse=False):
    def oracle(i, w):
        return int(np.argmax([w @ np.kron(np.eye(3)[k], x[i]) + size * (k != Y[i]) for k in range(3)]))

    def features(i, k):
        phi = np.kron(np.eye(3)[k], x[i])
        return sp.csr_array(phi[None]) if sparse else phi

    return fwexp.CallbackProblem(Y, features=features, loss=lambda i, k: size * (k != Y[i]), max_oracle=oracle)


def poses(**more):
    return fwexp.pose_problem(**POSE | more)


FAMILIES = {  # by the array that is multiplied by s
    "chain": ("X", lambda s: fwexp.chain_problem([X[:2] * s, X[2:] * s], [Y[:2], Y[2:]])),
    "sparse chain": ("X", lambda s: fwexp.chain_problem([sp.csr_array(X * s)], [Y])),
    "classes": ("X", lambda s: fwexp.multiclass_problem(X * s, Y)),
    "costs": ("costs", lambda s: fwexp.multiclass_problem(X, Y, costs=COSTS * s, rescaling="slack")),
    "matching": ("X", lambda s: fwexp.matching_problem([GRID * s], [[(0, 1)]])),
    "nodes": ("X", lambda s: graphs(X * s)),
    "edges": ("Z", lambda s: graphs(z=Z * s)),
    "many labels": ("X", lambda s: graphs(X * s, labels=3)),
    "edges of many labels": ("Z", lambda s: graphs(z=Z * s, labels=3)),
    "node_weight": (r"node_weight\[0\]", lambda s: graphs(node_weight=[np.ones(3) * s] * 2)),
    "psi": ("psi", lambda s: fwexp.enumerated_problem([PSI * s], [LOSSES])),
    "losses": ("losses", lambda s: fwexp.enumerated_problem([PSI], [LOSSES * s])),
    "poses": ("X", lambda s: poses(X=[POSE["X"][0] * s])),
    "weighted": ("X", lambda s: fwexp.weighted_problem(fwexp.multiclass_problem(X * s, Y), np.arange(6))),
    "features": (r"features\(0, y\)", lambda s: functions(X * s)),
    "loss": (r"loss\(0, y\)", lambda s: functions(X, s)),
}


def refused(name, call):
    with pytest.raises(ValueError, match=rf"^{name} must be of a scale within 1e-50 \.\. 1e\+50, got [^ ]+: choose other units$"):
        call()


@pytest.mark.parametrize("scale", [1e-300, 1e-60, 1e60, 1e300])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_array_that_is_out_of_range_is_named(family, scale):
    name, build = FAMILIES[family]
    refused(name, lambda: fwexp.solve(build(scale), lam=1.0, max_passes=2))


@pytest.mark.parametrize("solver", ["bcfw", "one_slack"])
@pytest.mark.parametrize("scale", [1e-24, 1e24])
@pytest.mark.parametrize("family", FAMILIES)
def test_other_scales_are_trained_on(family, scale, solver):
    problem = FAMILIES[family][1](scale)
    size = scale if family in ("costs", "losses", "loss") else 1.0  # of losses
    radius_sq = (1.0 if family == "loss" else scale**2) if family in ("features", "loss") else radii_sq(problem).max()
    result = fwexp.solve(problem, solver, lam=radius_sq / size, max_passes=10, gap_tol=0)
    assert result.status == "max_passes"
    assert 0.01 * size <= result.dual <= result.primal + 1e-9 * size <= 1.1 * size


TAKE_FUNCTIONS = [
    *((name, {}) for name in ("auto", "bcfw", "fw", "ssg", "one_slack", "bmrm", "fcfw", "n_slack", "approx_bcfw", "later_bcfw")),
    *(("bcfw", {"step": step}) for step in ("pairwise", "away", "corrective")),
    ("bcfw", {"sampling": "gap", "cache": True, "accelerate": {"kap": 1.0}}),
    ("n_slack", {"batch": 2}),
]
# Of features and losses, as powers of two, which are exact in float32 up to 2^127 and down to 2^-149, and from 1e-50 to 1e50.
POWERS = [(-75, 0), (66, 66), (120, 80), (-140, -140), (163, 163), (0, 160)]


def test_every_solver_that_takes_functions_is_tried():
    takes = {name for name, cls in of_kind("structured").items() if all(has(CallbackProblem, tier) for tier in needs(cls))}
    assert {name for name, _ in TAKE_FUNCTIONS} == takes


def needs(cls):
    return cls.needs(cls.Options())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("solver", "options"), TAKE_FUNCTIONS, ids=str)
def test_functions_of_any_scale_are_trained_on_alike(solver, options, sparse):
    """P has the scale of losses if lam has the scale of features^2 / losses: each step is the same, except for its units."""
    whole = np.round(3.0 * X)

    def run(features, losses):
        problem = functions(whole * features, losses, sparse=sparse)
        result = fwexp.solve(
            problem,
            solver,
            lam=0.1 * (features * (features / losses)),
            gap_tol=1e-3 * losses,
            max_passes=12,
            schedule=4.0,
            **options,
        )
        return result.status, (result.trace[["passes", "primal", "dual", "gap"]].to_numpy() / [1.0, *[losses] * 3]).tolist()

    status, trace = run(1.0, 1.0)
    for a, b in POWERS[::3] if sparse else POWERS:
        again, rows = run(2.0**a, 2.0**b)
        assert again == status
        np.testing.assert_allclose(rows, trace, rtol=1e-7, atol=1e-9)
    for features, losses in ((1e49, 1e50), (1e-49, 1e-50)):  # rounding breaks ties in other ways
        _, rows = run(features, losses)
        np.testing.assert_allclose(rows[-1][1:3], trace[-1][1:3], rtol=0.05)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("unit", lambda: poses(unit=1e-300)),
        ("unit", lambda: poses(unit=1e300)),
        ("offsets", lambda: poses(offsets=np.full((2, 2), 1e160))),
        ("unit = 1e-30 and offsets: the square of the largest deformation", lambda: poses(unit=1e-30)),
        ("reach", lambda: poses(reach=1e-60)),
        ("reach", lambda: poses(reach=[1e60])),
        ("precision_cost", lambda: fwexp.matching_problem([GRID], [[]], precision_cost=1e200)),
        ("recall_cost", lambda: fwexp.matching_problem([GRID], [[]], recall_cost=1e-200)),
        ("lam", lambda: fwexp.solve(fwexp.multiclass_problem(X, Y), lam=1e-300)),
        ("lam", lambda: fwexp.solve(fwexp.multiclass_problem(X, Y), lam=1e300)),
        ("lam_min", lambda: fwexp.regularization_path(fwexp.multiclass_problem(X, Y), lam_min=1e-300)),
        (r"lams\[1\]", lambda: fwexp.grid_search(fwexp.multiclass_problem(X, Y), lams=[1.0, 1e-300])),
    ],
)
def test_numbers_out_of_range_are_named(name, call):
    refused(name, call)


def test_the_offset_of_the_root_does_not_matter():
    assert poses(offsets=[[1e160, 0.0], [0.0, 1.0]]).n == 1


@pytest.mark.parametrize("weights", [[1e-320, 1e-200, 1e-160, 1.0, 1e300, 1e300], [1e-320, 3e-320, 2e-321, 1e-319, 1e-320, 0.0]])
def test_weights_of_any_scale(weights):
    problem = fwexp.weighted_problem(fwexp.multiclass_problem(X, Y), weights)
    for solver in ("auto", "bcfw", "one_slack", "n_slack", "fcfw"):
        assert fwexp.solve(problem, solver, lam=0.1, gap_tol=0.01, max_passes=200).status == "converged"

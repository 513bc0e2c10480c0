"""The pose family, against brute force over all poses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from fwexp.problems.constraints import public_indices
from fwexp.solvers import check_needs, check_options, get_solver
from fwexp.testing import check_problem
from tests.blocks.test_constraints import METHODS, optimum
from tests.small_problems import run_in_plain_python

PARENTS = (1, -1, 1)  # the root is in the middle
FEATURES = ([0], [0, 1], [1])


def random_arrays(rng, n=3, shapes=((2, 2), (1, 3), (3, 1)), p=2):
    shapes = [shapes[i % len(shapes)] for i in range(n)]
    X = [rng.normal(size=(*shape, p)) for shape in shapes]
    return X, [np.column_stack([rng.integers(size, size=len(PARENTS)) for size in shape]) for shape in shapes]


def poses(shape):
    return [np.array(pose) for pose in product(product(range(shape[0]), range(shape[1])), repeat=len(PARENTS))]


def phi(problem, image, pose):
    """Return the joint features, from their definition."""
    parts = [image[tuple(place)][chosen] for place, chosen in zip(pose, FEATURES, strict=True)]
    deformations = []
    for part, parent in enumerate(PARENTS):
        if parent >= 0:
            down, right = (pose[part] - pose[parent] - problem.offsets[part]) / 2.0
            deformations.append(-np.array([down**2, down, right**2, right]))
    return np.concatenate(parts + deformations)


def loss(truth, pose, reach):
    known = [part for part in range(len(PARENTS)) if truth[part][0] >= 0]
    return np.mean([min(1.0, np.hypot(*(pose[part] - truth[part])) / reach) for part in known])


def build(X, y, **options):
    return fwexp.pose_problem(X, y, PARENTS, features=FEATURES, reach=1.5, unit=2.0, **options)


def test_keeps_the_promises_of_the_protocol():
    X, y = random_arrays(np.random.default_rng(0), n=4)
    check_problem(build(X, y))


def test_joint_feature_loss_and_oracles_against_all_poses():
    X, y = random_arrays(np.random.default_rng(1), shapes=((2, 2), (1, 3)))
    problem = build(X, y)
    w = np.random.default_rng(2).normal(size=problem.d)
    for i, image in enumerate(X):
        for pose in poses(image.shape)[::7]:
            np.testing.assert_allclose(fwexp.joint_feature(problem, i, pose).toarray()[0], phi(problem, image, pose), atol=1e-12)
            assert fwexp.loss(problem, i, pose) == pytest.approx(loss(y[i], pose, 1.5), abs=1e-14)
        scores = [w @ phi(problem, image, pose) for pose in poses(image.shape)]
        truth = w @ phi(problem, image, y[i])
        values = [score + loss(y[i], pose, 1.5) - truth for score, pose in zip(scores, poses(image.shape), strict=True)]
        pose, hinge = fwexp.max_oracle(problem, i, w)
        assert hinge == pytest.approx(max(values), abs=1e-12)
        assert w @ phi(problem, image, pose) - truth + loss(y[i], pose, 1.5) == pytest.approx(hinge, abs=1e-12)
        assert w @ phi(problem, image, fwexp.predict(problem, w)[i]) == pytest.approx(max(scores), abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-10, 1.0, 1e8]))
def test_oracle_against_all_poses(seed, scale):
    """With deformation weights of any sign, and ties."""
    rng = np.random.default_rng(seed)
    X, y = random_arrays(rng, n=1, shapes=[((2, 2), (1, 3), (3, 1), (1, 1))[seed % 4]])
    problem = build([np.round(X[0])], y)
    w = scale * rng.integers(-2, 3, size=problem.d).astype(float)
    _, hinge = fwexp.max_oracle(problem, 0, w)
    all_poses = poses(X[0].shape)
    values = [
        loss(y[0], pose, 1.5) + w @ (phi(problem, np.round(X[0]), pose) - phi(problem, np.round(X[0]), y[0])) for pose in all_poses
    ]
    assert hinge == pytest.approx(max(values), abs=1e-9 * max(scale, 1.0))


def written_out(problem, X, y):
    """All poses as psi and losses."""
    psi, losses = [], []
    for image, truth in zip(X, y, strict=True):
        rows = [truth, *(pose for pose in poses(image.shape) if not np.array_equal(pose, truth))]
        psi.append(np.array([phi(problem, image, truth) - phi(problem, image, pose) for pose in rows]))
        losses.append(np.array([loss(truth, pose, 1.5) for pose in rows]))
    return psi, losses


@pytest.fixture(scope="module")
def small():
    X, y = random_arrays(np.random.default_rng(8), n=4, shapes=((1, 2), (2, 1), (1, 3)))
    problem = build(X, y)
    psi, losses = written_out(problem, X, y)
    free, best = optimum(psi, losses, 0.3, [])[1], optimum(psi, losses, 0.3, problem.nonnegative)[1]
    assert best > free + 1e-2  # some constraint matters
    return problem, best


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), METHODS, ids=str)
def test_every_solver_reaches_the_optimum(small, monkeypatch, name, options):
    problem, best = small
    run_in_plain_python(monkeypatch)
    if name != "auto":
        cls = get_solver(name)
        try:
            check_needs(cls, problem, check_options(cls, options))
        except OptionError:
            assert name in ("online_eg",)
            return
    result = fwexp.solve(problem, name, lam=0.3, max_passes=150, gap_tol=1e-4, schedule=10, **options)
    tol = 1e-4 if result.status == "converged" else 0.02
    assert best - 1e-7 <= result.primal <= best + tol
    assert not result.dual > best + 1e-7
    assert (result.w[public_indices(problem)] >= 0.0).all()


def test_parts_that_are_not_annotated_do_not_count():
    X, y = random_arrays(np.random.default_rng(3), n=1, shapes=[(3, 1)])
    y[0][1] = -1
    problem = build(X, y, offsets=np.zeros((3, 2)))
    for pose in poses((3, 1))[::5]:
        assert fwexp.loss(problem, 0, pose) == pytest.approx(loss(y[0], pose, 1.5))
    with pytest.raises(ParameterError, match="labels of a training problem"):
        fwexp.solve(problem, lam=1.0)


def test_offsets_are_means():
    X, y = random_arrays(np.random.default_rng(4), n=3)
    expected = np.mean([pose[0] - pose[1] for pose in y], axis=0)
    np.testing.assert_allclose(build(X, y).offsets[0], expected)
    assert public_indices(build(X, y)).tolist() == [4, 6, 8, 10]
    assert public_indices(build(X, y, nonnegative=[])).tolist() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parents": [1, 2, 0]}, "must have one root, marked by -1, got 0"),
        ({"parents": [-1, 2, 1]}, "must be a tree, got a cycle with part [12]$"),
        ({"parents": [-1, 2, 3, 2]}, "must be a tree, got a cycle with part [23]$"),
        ({"parents": [-1, -1, 0]}, "must have one root, marked by -1, got 2"),
        ({"parents": [-1, 3, 0]}, "must be parts 0 .. 2, or -1 for the root, got 3"),
        ({"y": [[(0, 0), (0, 2), (1, 1)]]}, r"must lie within its image of 2 x 2, got \(0, 2\) for part 1"),
        ({"y": [[(0, 0), (0, -1), (1, 1)]]}, r"got \(0, -1\) for part 1"),
        ({"y": [[(0, 0), (0, 1)]]}, r"must have shape \(3, 2\)"),
        ({"X": [np.zeros((2, 2))]}, r"must have shape \(rows, columns, p\)"),
        ({"X": []}, "same length n >= 1"),
        ({"features": [[0], [1], [2]]}, r"features\[2\] must be in 0 .. 1, got 2"),
        ({"offsets": np.zeros(3)}, r"offsets must have shape \(3, 2\)"),
        ({"unit": 0}, "unit must be a positive finite number, got 0"),
        ({"reach": 0}, "reach must be a positive finite number, got 0"),
        ({"reach": [1.0, 2.0]}, "reach must hold 1 positive finite numbers"),
    ],
)
def test_what_is_no_pose_takes_one_line(changes, message):
    good = {"X": [np.zeros((2, 2, 2))], "y": [[(0, 0), (0, 1), (1, 1)]], "parents": PARENTS}
    assert fwexp.pose_problem(**good).n == 1
    with pytest.raises(ParameterError, match=message) as error:
        fwexp.pose_problem(**good | changes)
    assert "\n" not in str(error.value)


def test_a_pose_has_all_its_parts():
    X, y = random_arrays(np.random.default_rng(0), n=1)
    with pytest.raises(ParameterError, match="a place for every part"):
        protocol.as_labeling(build(X, y), 0, [(0, 0), (-1, -1), (0, 0)])

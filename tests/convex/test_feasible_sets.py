"""Sets: linear minimisation against linear programs and eigenvalues, membership, projections."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from fwexp import convex
from fwexp.convex.feasible_sets import PROJECTED


def linear_program(c, **constraints):
    result = scipy.optimize.linprog(c, **{"bounds": (None, None)} | constraints)
    assert result.status == 0
    return result.fun


def split(c, radius, k=1):
    """min <c, x> over sum |x| <= k radius, |x| <= radius, by x = u - v."""
    bounds = (0.0, radius)
    return linear_program(np.r_[c, -c], A_ub=np.ones((1, 2 * len(c))), b_ub=[k * radius], bounds=bounds)


def birkhoff(c, n, equal=True):
    rows = np.kron(np.eye(n), np.ones((1, n)))
    A, b = np.vstack((rows, np.kron(np.ones((1, n)), np.eye(n)))), np.ones(2 * n)
    return linear_program(c, bounds=(0, None), **({"A_eq": A, "b_eq": b} if equal else {"A_ub": A, "b_ub": b}))


def chain(c, T, K):
    """Return the least over all labelings."""
    pairs, unary = c[: K * K].reshape(K, K), c[K * K :].reshape(T, K)
    labelings = itertools.product(range(K), repeat=T)
    return min(sum(pairs[edge] for edge in itertools.pairwise(y)) + unary[np.arange(T), y].sum() for y in labelings)


def capped(c, k, cap=1.0):
    return linear_program(c, A_eq=np.ones((1, len(c))), b_eq=[k], bounds=(0, cap))


def orders(c, values):
    """x = P values over doubly stochastic P."""
    return birkhoff(np.outer(c, values).ravel(), len(c))


DAG = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("a", "t"), ("s", "t")]
ROUND = [(0, 1), (1, 2), (2, 1), (2, 3), (1, 0), (3, 0)]  # has cycles


def flow(c, edges, source, sink):
    nodes = sorted({node for edge in edges for node in edge})
    A = np.array([[(tail == node) - (head == node) for tail, head in edges] for node in nodes], dtype=float)
    return linear_program(c, A_eq=A, b_eq=[(node == source) - (node == sink) for node in nodes], bounds=(0, 1))


def dual_norm(c, p):
    """Return the norm that the linear minimisation over a unit ball attains, |c| <= 10 or not."""
    top = np.abs(c).max()
    return top * np.linalg.norm(c / (top or 1.0), {1.0: np.inf, np.inf: 1.0}.get(p) or p / (p - 1.0))


POINTS = np.random.default_rng(3).standard_normal((6, 4))
POLYTOPES = {
    "simplex": (convex.Simplex(5, 2.0), lambda c: linear_program(c, A_eq=np.ones((1, 5)), b_eq=[2.0], bounds=(0, None))),
    "one point": (convex.Simplex(1, 3.0), lambda c: 3.0 * c[0]),
    "l1": (convex.L1Ball(4, 3.0), lambda c: split(c, 3.0)),
    "linf": (convex.LInfBall(4, 0.5), lambda c: linear_program(c, bounds=(-0.5, 0.5))),
    "box": (convex.Box([-1, 0, 2], [1, 0, 5]), lambda c: linear_program(c, bounds=[(-1, 1), (0, 0), (2, 5)])),
    "k-sparse": (convex.KSparse(5, 3, 2.0), lambda c: split(c, 2.0, 3)),
    "birkhoff": (convex.Birkhoff(3), lambda c: birkhoff(c, 3)),
    "hull": (convex.Hull(POINTS), lambda c: linear_program(POINTS @ c, A_eq=np.ones((1, 6)), b_eq=[1.0], bounds=(0, None))),
    "chain": (convex.ChainPolytope(4, 3), lambda c: chain(c, 4, 3)),
    "long chain": (convex.ChainPolytope(6, 2), lambda c: chain(c, 6, 2)),
    "chain of one": (convex.ChainPolytope(1, 3), lambda c: chain(c, 1, 3)),
    "matching": (convex.MatchingPolytope(3, 3), lambda c: birkhoff(c, 3, equal=False)),
    "capped": (convex.CappedSimplex(5, 3), lambda c: capped(c, 3)),
    "capped, k between": (convex.CappedSimplex(4, 0.7, 0.3), lambda c: capped(c, 0.7, 0.3)),
    "capped, one point": (convex.CappedSimplex(3, 6, 2.0), lambda c: 2.0 * c.sum()),
    "capped to a simplex": (convex.CappedSimplex(3, 0.5), lambda c: 0.5 * c.min()),
    "permutahedron": (convex.Permutahedron([2.0, -1.0, 2.0, 0.5]), lambda c: orders(c, [2.0, -1.0, 2.0, 0.5])),
    "permutahedron of one": (convex.Permutahedron([-3.0]), lambda c: -3.0 * c[0]),
    "flow": (convex.UnitFlow(DAG, "s", "t"), lambda c: flow(c, DAG, "s", "t")),
    "path": (convex.UnitFlow([(0, 1)], 0, 1), lambda c: c[0]),
    "product": (convex.Product([convex.Simplex(2), convex.L1Ball(2)]), lambda c: c[:2].min() - np.abs(c[2:]).max()),
}
OTHERS = {
    **{f"lp, p={p}": (convex.LpBall(4, p, 3.0), lambda c, p=p: -3.0 * dual_norm(c, p)) for p in (1.0, 1.001, 1.5, 3, np.inf)},
    "lp of one": (convex.LpBall(1, 2.5, 2.0), lambda c: -2.0 * abs(c[0])),
    "group": (
        convex.GroupBall([[0, 3], [1], [4, 2]], 2.0),
        lambda c: -2.0 * max(np.hypot(c[0], c[3]), abs(c[1]), np.hypot(c[2], c[4])),
    ),
    "l2": (convex.L2Ball(4, 3.0), lambda c: -3.0 * np.linalg.norm(c)),
    "spectrahedron": (convex.Spectrahedron(3, 2.0), lambda c: 2.0 * np.linalg.eigvalsh(symmetric(c, 3))[0]),
    "nuclear": (convex.NuclearBall(2, 3, 2.0), lambda c: -2.0 * np.linalg.norm(c.reshape(2, 3), 2)),
}
ALL = POLYTOPES | OTHERS
VALUES = st.floats(-10, 10).map(lambda value: round(value, 2))  # ties and zeros happen


def symmetric(c, n):
    C = c.reshape(n, n)
    return 0.5 * (C + C.T)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_linear_minimisation_finds_the_minimum_at_a_member(name, data):
    convex_set, minimum = ALL[name]
    g = np.array(data.draw(st.lists(VALUES, min_size=convex_set.dim, max_size=convex_set.dim)))
    s = convex_set.lmo(g)
    assert convex_set.contains(s)
    assert s @ g == pytest.approx(minimum(g), abs=1e-8)
    assert convex_set.atom(g).dot(g) == pytest.approx(s @ g, abs=1e-12)


@pytest.mark.parametrize("make", [lambda: convex.Spectrahedron(60), lambda: convex.NuclearBall(60, 50)])
def test_lanczos_finds_what_a_full_decomposition_finds(make):
    convex_set, rng = make(), np.random.default_rng(0)
    g = rng.standard_normal(convex_set.dim)
    if isinstance(convex_set, convex.Spectrahedron):
        best = np.linalg.eigvalsh(symmetric(g, 60))[0]
    else:
        best = -np.linalg.norm(g.reshape(60, 50), 2)
    assert convex_set.lmo(g) @ g == pytest.approx(best, rel=1e-9)
    assert convex_set.lmo(np.zeros_like(g)).shape == g.shape  # nothing to decompose


def test_lanczos_is_not_misled_by_an_eigenvector_at_right_angles_to_its_start():
    n = 50
    v = np.r_[1.0, -1.0, np.zeros(n - 2)] / np.sqrt(2.0)  # of sum 0
    assert convex.Spectrahedron(n).lmo(-np.outer(v, v).ravel()) @ np.outer(v, v).ravel() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ALL)
def test_members_are_members_and_others_are_not(name):
    convex_set, _ = ALL[name]
    rng = np.random.default_rng(1)
    points = [convex_set.random(rng) for _ in range(20)]
    corners = [convex_set.lmo(rng.standard_normal(convex_set.dim)) for _ in range(20)]
    assert all(convex_set.contains(x) for x in points + corners)
    assert not convex_set.contains(points[0] + 100.0)
    assert not convex_set.contains(np.full(convex_set.dim, np.nan))
    assert not convex_set.contains(np.zeros(convex_set.dim + 1))
    g = rng.standard_normal(convex_set.dim)
    beyond = convex_set.lmo(g) - 0.01 * g  # lower than the minimum
    assert not convex_set.contains(beyond)
    if np.isfinite(convex_set.diameter):
        most = max(np.linalg.norm(a - b) for a in corners for b in points + corners)
        assert most <= convex_set.diameter + 1e-9


PROJECT = [name for name, (convex_set, _) in ALL.items() if type(convex_set).__name__ in PROJECTED]


@pytest.mark.parametrize("name", PROJECT)
@given(data=st.data())
def test_projections_are_the_nearest_points(name, data):
    """The variational inequality: <x - p, s - p> <= 0 for every s of the set."""
    convex_set, _ = ALL[name]
    x = np.array(data.draw(st.lists(VALUES, min_size=convex_set.dim, max_size=convex_set.dim)))
    p = convex_set.project(x)
    normal = x - p
    if isinstance(convex_set, convex.Spectrahedron):
        normal = symmetric(normal, 3).ravel()
    assert convex_set.contains(p)
    assert convex_set.lmo(-normal) @ normal - p @ normal <= 1e-7 * (1.0 + np.abs(x).max())


@pytest.mark.parametrize("name", ["simplex", "matching", "chain", "long chain", "chain of one"])
def test_entropic_projections_maximise(name):
    """The maximiser of <theta, x> + H(x) has theta as the gradient of -H there: it moves as the definition says."""
    convex_set, _ = ALL[name]
    rng = np.random.default_rng(2)
    theta = rng.standard_normal(convex_set.dim)
    x = convex_set.soften(theta)
    assert convex_set.contains(x)
    # A gradient map of a convex function: monotone, and nearer and nearer to the corner as theta grows.
    other = theta + 0.1 * rng.standard_normal(convex_set.dim)
    assert (convex_set.soften(other) - x) @ (other - theta) > 0.0
    sharp = convex_set.soften(1e3 * theta)
    assert np.abs(sharp - convex_set.lmo(-theta)).max() < 1e-3
    assert np.isfinite(convex_set.soften(1e6 * theta)).all()


def test_the_entropic_projection_onto_matchings_is_that_of_the_definition():
    polytope, theta = convex.MatchingPolytope(2, 2), np.array([1.0, 0.3, -0.5, 0.8])

    def negative(z):
        z = np.maximum(z, 1e-300)
        return -(theta @ z) + (z * np.log(z) - z).sum()

    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    constraint = scipy.optimize.LinearConstraint(rows, -np.inf, 1.0)
    solution = scipy.optimize.minimize(negative, np.full(4, 0.3), constraints=[constraint], bounds=[(1e-9, 1)] * 4, tol=1e-12)
    assert polytope.soften(theta) == pytest.approx(solution.x, abs=1e-5)


@pytest.mark.parametrize("radius", [1e-10, 1e8])
@pytest.mark.parametrize(
    "cls",
    [
        *(convex.Simplex, convex.L1Ball, convex.L2Ball, convex.LInfBall),
        lambda dim, radius: convex.GroupBall([[0, 1], [2]], radius),
        lambda dim, radius: convex.Permutahedron([radius, 0.0, -2.0 * radius]),
        lambda dim, radius: convex.CappedSimplex(dim, 1.5 * radius, radius),
    ],
)
def test_sets_of_any_size(cls, radius):
    convex_set, rng = cls(3, radius), np.random.default_rng(0)
    for x in (convex_set.lmo(rng.standard_normal(3)), convex_set.random(rng), convex_set.project(rng.standard_normal(3))):
        assert convex_set.contains(x)
    assert not convex_set.contains(convex_set.lmo(np.ones(3)) * 1.001 - 1e-3 * radius)


@given(st.lists(st.floats(0, 5), min_size=6, max_size=6))
def test_in_a_graph_with_cycles_costs_without_negative_ones_have_a_shortest_path(g):
    network = convex.UnitFlow(ROUND, 0, 3)
    s = network.lmo(g)
    assert network.contains(s)
    assert s @ g == pytest.approx(flow(np.array(g), ROUND, 0, 3), abs=1e-8)
    with pytest.raises(ValueError, match=r"^g must have no cycle of negative cost, got one"):
        network.lmo(-np.ones(6) - g)
    assert network.lmo([5.0, -1.0, 1.5, 0.0, 0.0, 0.0]).tolist() == [1, 1, 0, 1, 0, 0]


def test_ties_go_to_the_first():
    assert convex.Simplex(3).lmo([1.0, 1.0, 1.0]).tolist() == [1.0, 0.0, 0.0]
    assert convex.L1Ball(3).lmo([0.0, 0.0, 0.0]).tolist() == [1.0, 0.0, 0.0]
    assert convex.KSparse(4, 2).lmo([1.0, -1.0, 1.0, 1.0]).tolist() == [-1.0, 1.0, 0.0, 0.0]


def test_numbered_atoms_are_the_corners():
    for convex_set in (convex.Simplex(3, 2.0), convex.L1Ball(3, 2.0), convex.Hull(POINTS)):
        indices, values = convex_set.atoms(np.arange(convex_set.num_atoms))
        g = np.random.default_rng(5).standard_normal(convex_set.dim)
        dots = values @ g if indices is None else (values * g[indices]).sum(axis=1)
        assert dots.min() == pytest.approx(convex_set.atom(g).dot(g))

"""The regularisation path: what a change of lam does, and that the weights are as good as promised at every lam."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError, ParameterError
from fwexp.problems.protocol import to_public
from fwexp.tasks import path_bounds, path_sequence
from fwexp.tasks.path_sequence import PathSequence
from fwexp.testing import small_chains
from tests import reference as ref
from tests.small_problems import at_any_speed, at_start

EPS, LAM_MIN = 0.1, 0.01
SETTINGS = {
    "auto": {},
    "fw": {"step": "fw", "sampling": "gap", "accelerate": False},
    "fw-cache": {"step": "fw", "sampling": "gap", "cache": True, "accelerate": False},
    "pairwise-cache": {"step": "pairwise", "sampling": "gap", "cache": True, "accelerate": False},
    "accelerated": {"step": "corrective", "sampling": "gap", "accelerate": {"kap": 2.0, "period": 1.0}},
}


def tiny_chain(seed=0, n=5):
    """Return a chain problem twice: enumerated for the transcription, and compiled."""
    X, y = ref.random_chains(np.random.default_rng(seed), n=n)
    return ref.tiny_chain(X, y, 3), fwexp.chain_problem(X, y, 3)


def tiny_enumerated(seed=0, n=6, d=3, rescaling="margin"):
    """Random outputs, as matrices."""
    rng = np.random.default_rng(seed)
    psi = [np.vstack([np.zeros(d), rng.normal(size=(3, d))]) for _ in range(n)]
    losses = [np.concatenate([[0.0], rng.uniform(0.5, 2.0, size=3)]) for _ in range(n)]
    tp = ref.TinyProblem(tuple(psi), tuple(losses), tuple([(k,) for k in range(4)] for _ in psi), (0,) * n)
    problem = fwexp.enumerated_problem(psi, losses, rescaling=rescaling)
    return (ref.slack_rescaled(tp) if rescaling == "slack" else tp), problem


def tiny_callback():
    """Return the enumerated problem behind functions, without a prediction."""
    tp, _ = tiny_enumerated(1)
    problem = fwexp.CallbackProblem(
        [0] * tp.n,
        features=lambda i, y: -tp.psi[i][y],
        loss=lambda i, y: float(tp.loss[i][y]),
        max_oracle=lambda i, w: tp.argmax(i, w),
    )
    return tp, problem


def tiny_slack():
    return tiny_enumerated(rescaling="slack")


bcfw = partial(at_start, "bcfw")


def primal(problem, w, lam):
    """P(w), evaluated anew."""
    value = fwexp.evaluate(problem, w)
    return 0.5 * lam * value.norm_sq + value.hinge


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_change_of_lam_keeps_w_and_knows_all_gaps(options):
    _, problem = tiny_chain()
    solver = bcfw(problem, 0.5, **options)
    solver.advance(Budget(3 * problem.n, 10**9))
    before, w = solver.exact_gap(), solver.state.iterate.w.copy()
    delta = solver.point("last").dual - 0.25 * (w @ w)
    solver.change_lam(0.2)
    np.testing.assert_array_equal(solver.state.iterate.w, w)
    assert solver.known_gap == pytest.approx(before + (1 - 0.4) * delta, abs=1e-12)
    if solver.state.centre is None:  # then w is A a, also from scratch
        np.testing.assert_allclose(solver._from_scratch()[0], w, atol=1e-12)
    known, dual = solver.state.iterate.gaps.copy(), solver.point("last").dual
    assert solver.exact_dual() == pytest.approx(dual, abs=1e-12)
    gap = solver.exact_gap()
    np.testing.assert_allclose(known, solver.state.iterate.gaps, atol=1e-12)
    assert gap == pytest.approx(primal(problem, to_public(problem, w), 0.2) - dual, abs=1e-12)


@pytest.mark.parametrize("step", ["fw", "pairwise"])
def test_gaps_that_are_not_exact_never_fall_with_lam(step):
    _, problem = tiny_chain(n=20)
    solver = bcfw(problem, 0.05, step=step, sampling="gap", cache=True)
    solver.advance(Budget(3 * problem.n, 10**9))
    exact = bcfw(problem, 0.05, step=step, sampling="gap", cache=True)
    exact.advance(Budget(3 * problem.n, 10**9))
    known, true = solver.state.iterate.gaps.copy(), (exact.exact_gap(), exact.state.iterate.gaps.copy())[1]
    solver.change_lam(0.04)
    exact.change_lam(0.04)
    changes = exact.state.iterate.gaps - true
    assert (changes < 0).any()
    np.testing.assert_allclose(solver.state.iterate.gaps - known, np.maximum(changes, 0), atol=1e-12)
    assert solver.state.iterate.mean_gap[0] == 0.0  # no global criterion of the cache
    assert exact.state.iterate.mean_gap[0] == pytest.approx(exact.known_gap)


@pytest.mark.parametrize("lam", [0.6, 0.0, -1.0, float("nan")])
def test_lam_can_only_fall(lam):
    solver = bcfw(tiny_chain()[1], 0.5)
    with pytest.raises(ParameterError, match=r"up to 0\.5 only"):
        solver.change_lam(lam)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(
    ("make", "two_sided"), [(tiny_chain, True), (tiny_chain, False), (tiny_slack, True), (tiny_callback, True)]
)
def test_path_is_good_at_every_lam(make, two_sided, options):
    tp, problem = make()
    if options == {} and not isinstance(problem, tuple):
        options = {"step": "corrective"}
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, two_sided=two_sided, **options)
    assert path.status == "converged"
    assert path.lam_end <= LAM_MIN
    assert (np.diff(path.lam) <= 0).all()
    assert (path.gap[1:] <= 0.9 * EPS).all()
    lams = np.exp(np.random.default_rng(0).uniform(np.log(LAM_MIN), np.log(3 * path.lam[0]), size=15))
    for lam in [*lams, *path.lam[path.lam >= LAM_MIN][::3]]:
        suboptimality = ref.primal(tp, path.w_at(lam), lam) - ref.qp_optimum(tp, lam).dual
        assert suboptimality <= path.gap_at(lam) + 1e-8
        assert path.gap_at(lam) <= EPS + 1e-8


def test_path_starts_at_lam_inf():
    tp, problem = tiny_chain()
    lam_inf, alpha = ref.lam_infinity(tp, 0.9 * EPS)
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN)
    assert path.lam[0] == pytest.approx(lam_inf, rel=1e-10)
    np.testing.assert_allclose(path.weights[0], ref.weights(tp, alpha, path.lam[0]), atol=1e-12)
    np.testing.assert_allclose(path.w_at(4 * path.lam[0]), path.weights[0] / 4)
    short = fwexp.regularization_path(problem, EPS, lam_min=10 * lam_inf)
    assert len(short.lam) == 1
    np.testing.assert_allclose(short.w_at(10 * lam_inf), path.w_at(10 * lam_inf))


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "heuristic"])
@pytest.mark.parametrize("cache", [None, (0.25, 0.01)], ids=["no cache", "cache"])
@pytest.mark.parametrize("step", ["fw", "away"])
def test_paths_equal_the_transcription(step, cache, exact):
    compared = hits = 0
    for seed in range(3):
        tp, problem = tiny_chain(seed)
        draws = np.random.default_rng(seed).random(10_000)
        wanted = ref.published_path(tp, EPS, 0.8, draws, 30, step, cache, exact, refresh=2 if exact else 10**6)
        options = {"sampling": "gap", "step": step, "accelerate": False, "refresh": 2 if exact else 10**6}
        options |= {"cache": dict(zip(("F", "nu"), cache, strict=True))} if cache else {}
        path = PathSequence(problem, options, seed, exact, EPS, lam_min=1e-6, kappa=0.8)
        for lam, gap, steps, w in wanted:
            path.advance(Budget(10**9, 10**9))
            assert path.at_row
            assert path.step == steps
            assert path.solver.lam == pytest.approx(lam, rel=1e-9)
            assert path.solver.known_gap == pytest.approx(gap, abs=1e-9)
            np.testing.assert_allclose(path.weights[-1], w, rtol=1e-8, atol=1e-9)
            compared += steps > 0
        hits += path.cache_hits
    assert compared >= 60
    assert (hits > 0) == (cache is not None)


def test_path_to_zero_where_the_data_can_be_fitted():
    _, problem = tiny_enumerated(n=4, d=20)
    path = fwexp.regularization_path(problem, EPS, lam_min=1e-9)
    assert path.lam_end == 0.0
    assert fwexp.evaluate(problem, path.w_at(1e-12)).hinge <= EPS
    np.testing.assert_array_equal(path.w_at(path.lam_end), path.weights[-1])
    assert path.gap_at(path.lam_end) <= EPS


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("objective", "chosen"), [("hinge", {"solver": "bcfw", "step": "pairwise"}), ("log", {})])
def test_bounds_between_break_points_contain_the_optimum(objective, chosen):
    _, problem = tiny_chain(n=8)
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, objective=objective)
    for a, b in zip(path.points, path.points[1:], strict=False):
        lams = np.geomspace(b.lam, a.lam, 200)
        upper, lower = path_bounds.upper_bound(lams, a, b), path_bounds.lower_bound(lams, a, b)
        assert (upper - lower).max() <= path_bounds.largest_gap(a, b) <= EPS
        for lam, most, least in list(zip(lams, upper, lower, strict=True))[20::60]:
            best = fwexp.solve(problem, lam=lam, gap_tol=1e-4, max_passes=5000, objective=objective, **chosen)
            assert least <= best.primal
            assert best.dual <= most
            value = fwexp.evaluate(problem, path.w_at(lam), objective=objective)
            assert 0.5 * lam * value.norm_sq + value.hinge <= most + 1e-12
            assert path.gap_at(lam) <= most - least + 1e-12
        assert max(path_bounds.bounds_alone(b.lam, a)[1], a.ell - a.dual_norm_sq / (2 * b.lam)) <= upper[0]


def test_intervals_that_are_too_long_are_cut(monkeypatch):
    tp, problem = tiny_chain()
    few = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN)
    published = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, two_sided=False)
    assert len(few.lam) <= len(published.lam) / 3
    assert few.frame["oracle_calls"].max() <= published.frame["oracle_calls"].max() / 2
    monkeypatch.setattr(path_sequence, "EXCESS", 1e-3)  # so that lam falls to its end at once
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN)
    assert len(path.lam) > 2
    assert (np.diff(path.lam) < 0).all()
    assert (np.diff(path.frame["oracle_calls"]) < 0).any()
    np.testing.assert_array_equal(path.lam, [point.lam for point in path.points])
    for lam in np.geomspace(LAM_MIN, path.lam[0], 20):
        assert ref.primal(tp, path.w_at(lam), lam) - ref.qp_optimum(tp, lam).dual <= path.gap_at(lam) + 1e-8 <= EPS + 1e-8


@pytest.mark.parametrize("scale", [1e-10, 1e8])
def test_paths_scale_with_features(scale):
    X, y = ref.random_chains(np.random.default_rng(0), n=1)
    plain, scaled = (fwexp.chain_problem([s * x for x in X], y, 3, loss="errors") for s in (1.0, scale))
    for problem, factor in ((plain, 1.0), (scaled, scale**2)):
        path = fwexp.regularization_path(problem, 0.05, lam_min=0.01 * factor, step="corrective", accelerate=False)
        assert path.status == "converged"
        for lam in np.geomspace(0.01 * factor, path.lam[0], 9):
            best = fwexp.solve(problem, lam=lam, gap_tol=1e-3)
            assert primal(problem, path.w_at(lam), lam) - best.dual <= 0.051


def test_problem_without_anything_to_learn():
    """psi = 0: w = 0 is optimal at every lam."""
    problem = fwexp.enumerated_problem([np.zeros((2, 3))] * 2, [np.array([0.0, 1.0])] * 2)
    path = fwexp.regularization_path(problem, EPS, lam_min=0.1)
    assert not path.w_at(0.1).any()
    assert path.status == "converged"


def test_heuristic_path_certifies_nothing():
    _, problem = tiny_chain()
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, exact=False, sampling="gap", accelerate=False)
    exact = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, two_sided=False, sampling="gap", accelerate=False)
    assert not path.certified
    assert not path.frame["certified"].any()
    assert (path.gap[1:] <= 0.8 * 0.7 * EPS).all()
    assert path.frame["passes"].iloc[-1] < exact.frame["passes"].iloc[-1]


def test_bounds_end_a_path_early():
    _, problem = tiny_chain()
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, max_passes=8)
    assert path.status == "max_passes"
    assert path.lam_end > LAM_MIN
    assert path.gap_at(path.lam_end) == pytest.approx(EPS)
    with pytest.raises(ParameterError, match="where the path ends"):
        path.w_at(0.9 * path.lam_end)


@pytest.mark.compiled
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "heuristic"])
@pytest.mark.parametrize("sampling", ["gap", "gap_perm"])
def test_where_a_path_is_cut_into_portions_does_not_matter(sampling, exact, monkeypatch):
    """Where another lam begins, the next thing to do may cost n calls."""
    how = {"step": "corrective", "sampling": sampling, "cache": True, "accelerate": True, "max_passes": 400, "exact": exact}
    frame = at_any_speed(monkeypatch, lambda: fwexp.regularization_path(small_chains(15), eps=0.1, lam_min=0.05, **how).frame)
    assert frame.passes.max() < 400


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("warm", [True, False])
def test_grid_reaches_eps_everywhere(warm, options):
    tp, problem = tiny_chain()
    lams = [8.0, 2.0, 0.5, 0.1, 0.02]
    frame = fwexp.grid_search(problem, EPS, lams=lams[::-1], warm=warm, **options)
    assert list(frame["lam"]) == lams
    for row in frame.itertuples():
        assert row.dual - 1e-9 <= ref.qp_optimum(tp, row.lam).dual <= row.primal + 1e-9
        assert row.gap == pytest.approx(row.primal - row.dual)
        assert row.gap <= EPS
    for cost in ("step", "oracle_calls", "passes"):
        assert (np.diff(frame[cost]) >= 0).all()
    path = fwexp.regularization_path(problem, EPS, lam_min=LAM_MIN, **options)
    assert list(frame.columns) == list(path.frame.columns)


def test_bounds_end_a_grid_early():
    _, problem = tiny_chain()
    frame = fwexp.grid_search(problem, 1e-3, lams=[8.0, 0.001], max_passes=30)
    assert list(frame["lam"]) == [8.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 0.0}, "eps must be a positive finite number, got 0.0"),
        ({"kappa": 1.0}, "kappa must be a number > 0 and < 1, got 1.0"),
        ({"kappa": 0}, "kappa must be a number > 0 and < 1, got 0"),
        ({"two_sided": 1}, "two_sided must be true or false, got 1"),
        ({"two_sided": True, "exact": False}, "two_sided must be false if exact is false, got true"),
        ({"lam_min": -1}, "lam_min must be a positive finite number, got -1"),
        ({"step": "newton"}, "step must be one of"),
    ],
)
def test_wrong_values_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        fwexp.regularization_path(tiny_chain()[1], **{"lam_min": 0.1} | arguments)


@pytest.mark.parametrize(("theirs", "ours"), [("tol", "eps"), ("alpha", "lam_min"), ("max_iter", "max_passes")])
def test_names_of_other_software_lead_to_those_of_paths(theirs, ours):
    with pytest.raises(OptionError, match=rf"unknown option '{theirs}' \(here it is {ours}\); accepted: "):
        fwexp.regularization_path(tiny_chain()[1], lam_min=0.1, **{theirs: 0.1})


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.compiled
def test_path_on_handwriting():
    """Certified at 50 random lam by dual points that the path knows nothing of."""
    train, _ = fwexp.load_dataset("ocr", split="ocr")
    path = fwexp.regularization_path(train, EPS, lam_min=1e-4)
    assert path.status == "converged"
    lams = np.exp(np.random.default_rng(0).uniform(np.log(1e-4), np.log(2 * path.lam[0]), size=50))
    grid = fwexp.grid_search(train, EPS / 4, lams=lams)
    assert len(grid) == 50
    for row in grid.itertuples():
        w = path.w_at(row.lam)
        assert primal(train, w, row.lam) - row.dual <= EPS
        assert primal(train, w, row.lam) - row.primal <= path.gap_at(row.lam) <= EPS + 1e-9


def padded_or_not(family, K):
    """Return a problem whose weight rows are K padded to 1, 2, 4, 8, 16, ..., so sometimes not padded at all."""
    rng = np.random.default_rng(K)
    if family == "multiclass":
        return fwexp.multiclass_problem(rng.normal(size=(20, 3)), rng.integers(K, size=20), K)
    if family == "chain":
        lengths = rng.integers(1, 4, size=10)
        return fwexp.chain_problem([rng.normal(size=(T, 2)) for T in lengths], [rng.integers(K, size=T) for T in lengths], K)
    if family == "matching":
        grids = [sp.csr_array(1.0 * (rng.random((6, K)) < 0.5)) for _ in range(8)]  # for these there is machine code already
        return fwexp.matching_problem(grids, [[(0, rng.integers(3))] for _ in grids], shapes=[(2, 3)] * 8)
    psi = [np.vstack([np.zeros(K), rng.normal(size=(3, K))]) for _ in range(8)]
    return fwexp.enumerated_problem(psi, [[0.0, 1.0, 0.5, 1.0]] * 8)


@pytest.mark.parametrize("K", [1, 3, 8])
@pytest.mark.parametrize("family", ["multiclass", "chain", "matching", "enumerated"])
def test_what_is_handed_out_stays_as_it_was(family, K):
    """Weights are copies whether K is padded or not."""
    problem = padded_or_not(family, K)
    w = np.zeros(problem.num_weights)
    public = to_public(problem, w)
    w += 1.0
    assert not public.any()
    assert public.flags.writeable
    result = fwexp.solve(problem, lam=0.1, max_passes=3, gap_tol=0)
    before = result.w.copy()
    fwexp.solve(problem, lam=0.1, max_passes=5, gap_tol=0, warm_start=result)
    np.testing.assert_array_equal(result.w, before)

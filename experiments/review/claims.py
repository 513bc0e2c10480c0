"""Claims of the review of Frank-Wolfe variants, on the synthetic problems of R1 to R5."""

import numpy as np

import fwexp
from fwexp.experiments.icml2013.theory import curvature_bounds
from fwexp.experiments.lecture.claims import CURVATURE
from fwexp.experiments.review.figures import R1, R2, R3, R5
from fwexp.experiments.theory import quadratics
from fwexp.papers.claims.registry import Kind, claim
from fwexp.papers.claims.runs import interval, is_linear, measured, reached, sign
from fwexp.papers.claims.verdict import NOT_REACHED, Finding, Undecided, every


@claim(
    "R-1",
    "Away steps converge linearly where Frank-Wolfe is sublinear: with the optimum at the boundary of a polytope.",
    R1.runs(),
    place="section 1.2, paragraphs 1 and 3",
    vary={"level": (1e-8, 1e-7, 1e-6), "behind": (10.0, 100.0, 1e4)},
    kind=Kind.THEOREM,
)
def away_is_linear(runs, *, level=1e-8, behind=100.0):
    """On the triangles, at every angle with the optimum on an edge: (a) away steps certify {level:g}, which takes few steps at a
    linear rate only; (b) after as many steps the best gap of Frank-Wolfe is at least {behind:g} times that; where away steps do not
    get there, neither is reached. (c) With the optimum inside, Frank-Wolfe does not stagnate: it certifies {level:g}, too. How the
    steps grow with the angle is among the numbers.
    """
    steps, best, numbers = {}, [], {}
    for run in runs.each("away", **{"dataset.optimum": "edge"}):
        divisor = run["dataset.divisor"].iloc[0]
        steps[divisor] = reached(run, level)
        plain = runs.one("frank_wolfe", **{"dataset.optimum": "edge", "dataset.divisor": divisor})
        best.append(plain[plain["step"] <= steps[divisor]]["best"].iloc[-1])
        numbers[f"steps of away to {level:g}, t = pi/{divisor:g}"] = steps[divisor]
    if len(steps) < 3:
        raise Undecided(f"{len(steps)} angles are stored")
    there = bool(np.isfinite(list(steps.values())).all())
    inside = runs.one("frank_wolfe", **{"dataset.optimum": "inside"})
    parts = {
        "away steps get there": there or _not_yet(*runs.each("away", **{"dataset.optimum": "edge"})),
        "Frank-Wolfe is behind": min(best) >= behind * level if there else NOT_REACHED,
        "inside it is not": inside["best"].min() <= level or _not_yet(inside),
    }
    if there:
        numbers["exponent of 1/t"] = np.polyfit(np.log(list(steps)), np.log(list(steps.values())), 1)[0]
    return Finding(parts, numbers | {"Frank-Wolfe's best gap then, least": min(best), "inside": inside["best"].min()})


def _not_yet(*runs):
    """Return the verdict on linear convergence of runs above a level: contradicted if a power law explains one better."""
    slow = (run for run in runs if not is_linear(run["step"].to_numpy(float), run["best"].to_numpy()))
    return False if any(True for _ in slow) else NOT_REACHED


def _etas(runs):
    etas = sorted(runs.rows(task="convex", solver="random_away")["solver.eta"].unique())
    return {eta: runs.each("random_away", **{"solver.eta": eta}) for eta in etas}


@claim(
    "R-2",
    "Randomised away steps converge linearly in expectation with cheaper oracle calls; eta trades one for the other.",
    R2.runs(solver=("away", "random_away")),
    place="section 2, paragraph 3",
    vary={"level": (1e-6, 1e-5, 1e-4, 1e-3)},
    changed="runs that certify the level are asked for a line, too; before, only those that did not. Steps at different eta are "
    "compared by intervals over seeds, and costs in every seed; before, by medians and means.",
    kind=Kind.THEOREM,
)
def random_away(runs, *, level=1e-6):
    """On the lasso: (a) with every eta and seed a line explains the logarithm of the best gap better over the steps than over their
    logarithm, or else the sentence is contradicted; and it gets to {level:g}, or else that is not reached; (b) at every eta below 1
    and for every seed a step inspects fewer atoms than one of away steps; (c) the compromise: the number of steps to {level:g}
    falls from each eta to the next larger one, by a 95 % interval over seeds of its logarithm, where all get there.
    """
    etas = _etas(runs)
    if len(etas) < 2:
        raise Undecided("the values of eta are not among the runs")
    away = runs.one("away")
    each = {eta: [_inspected(run) for run in found] for eta, found in etas.items()}
    steps = {eta: [reached(run, level) for run in found] for eta, found in etas.items()}
    late = [run for eta, found in etas.items() for run, at in zip(found, steps[eta], strict=True) if not np.isfinite(at)]
    outcomes = [_linear_to(run, level) for found in etas.values() for run in found]
    logs = np.log(list(steps.values()))
    parts = {
        "linear with every eta": min(outcomes, key=(False, NOT_REACHED, True).index),
        "cheaper oracle calls": all(max(costs) < _inspected(away) for eta, costs in each.items() if eta < 1),
        "fewer steps with larger eta": NOT_REACHED if late else every(map(sign, logs[:-1] - logs[1:])),
    }
    numbers = {f"steps, eta = {eta:g}, median": np.median(found) for eta, found in steps.items()}
    numbers |= {f"atoms inspected per step, eta = {eta:g}": np.mean(costs) for eta, costs in each.items()}
    return Finding(parts, numbers | {"atoms inspected per step, away": _inspected(away)})


def _inspected(run):
    """Return the number of atoms inspected per step."""
    return run["inspected"].iloc[-1] / run["step"].iloc[-1]


@claim(
    "R-3",
    "The best gap of Frank-Wolfe so far is at most 2 beta C_f/(t+2), beta = 27/8.",
    R3.runs(),
    place="section 1.1.1, first theorem",
    kind=Kind.THEOREM,
)
def best_gap(runs):
    """For ||x||^2 on the simplex, where C_f = 4, in every logged row after the first step, with both kinds of steps; one part per
    kind. Of the last iterate the bound does not speak; its largest ratio is among the numbers.
    """
    parts, numbers = {}, {}
    for run in runs.each("frank_wolfe"):
        kind, run = _kind(run), run[run["step"] >= 1]
        bound = 2 * 27 / 8 * CURVATURE / (run["step"] + 2)
        parts[kind] = bool((run["best"] <= bound).all())
        numbers |= {f"{kind}, best over bound, most": (run["best"] / bound).max()}
        numbers |= {f"{kind}, last over bound, most": (run["gap"] / bound).max()}
    return Finding(parts, numbers)


def _kind(run):
    return "predefined steps" if run.iloc[0].get("solver.step") == "open_loop" else "line search"


@claim(
    "R-4",
    "A point of k nonzeros on the simplex has f at least 1/k and a gap of at least 2/k; the bound is attained. The review also "
    "prints gap <= 1/k - 1/n, which is false.",
    R3.runs(),
    place="section 1.1.2, lemma, and the sentence below it",
    kind=Kind.THEOREM,
)
def sparsity(runs):
    """For ||x||^2 on the simplex of 100 corners, in every row with t + 1 < 100: (a) with line search f = 1/(t+1) to 1e-9; (b) the
    gap is at least 2/(t+1), for both kinds of steps; (c) predefined steps stay above 1/(t+1) from t = 2 on.
    """
    parts, numbers = {}, {}
    for run in runs.each("frank_wolfe"):
        kind, run = _kind(run), run[run["step"] < 99]
        k = run["step"] + 1
        if kind == "line search":
            apart = (run["primal"] * k - 1).abs().max()
            parts["line search attains it"] = apart <= 1e-9
            numbers["largest relative distance to 1/k"] = apart
        else:
            parts["predefined steps do not"] = bool((run["primal"] * k > 1 + 1e-9)[run["step"] >= 2].all())
        numbers[f"{kind}: gap times k, least"] = (run["gap"] * k).min()
        parts[f"the gap is at least 2/k, {kind}"] = bool((run["gap"] * k >= 2 - 1e-9).all())
    return Finding(parts, numbers)


claim(
    "R-5",
    "The product curvature is n times smaller than the curvature of the batch, as the bounds on them are: in the worst case, "
    "which the review leaves out.",
    place="section 1.3.3, sentence behind the proof on the product curvature",
    changed="as B13-15.",
)(curvature_bounds)


def _linear_to(run, level):
    """Return whether the best gap of a run reaches a level linearly in the steps, which a better power law contradicts."""
    linear = is_linear(run["step"].to_numpy(float), run["best"].to_numpy())
    return linear and (True if run["best"].min() <= level else NOT_REACHED)


@claim(
    "R-6",
    "Saddle-point Frank-Wolfe is linear where both sets are strongly convex and gradients do not vanish; extragradient is O(1/t).",
    R5.runs(dataset="ball_game"),
    place="section 4.1.1, theorem on the rate; section 4.2, for the comparison; section 3.1.4, theorem (11), for extragradient",
    vary={"level": (1e-8, 1e-6, 1e-4), "slope": (0.8, 0.9, 1.0)},
    kind=Kind.THEOREM,
)
def saddle_point(runs, *, level=1e-6, slope=0.9):
    """On balls: (a) with steep gradients (offset 3), which meet the conditions, the best gap at the step of the theorem gets to
    {level:g}, and a line explains its logarithm better over the steps than over their logarithm; (b) the exponent of
    extragradient's best gap in the steps is at most -{slope:g} from 10 steps on, with steep gradients and with vanishing ones
    (offset 0.5); (c) it is not linear: on the steep ones a line explains its logarithm better over the logarithm of the steps. What
    SP-FW does where gradients vanish, of which the theorem does not speak, is among the numbers.
    """
    exponents, numbers = [], {}
    for offset in (3.0, 0.5):
        theorem = runs.one("sp_fw", **{"dataset.offset": offset, "solver.step": "linear_rate"})
        numbers[f"offset {offset:g}: best gap, step of the theorem"] = theorem["best"].min()
        run = runs.one("dual_extragradient", **{"dataset.offset": offset})
        run = run[(run["step"] >= 10) & (run["best"] > 1e-11)]
        if len(run) < 6:
            raise Undecided("extragradient has fewer than 6 logged points from 10 steps on")
        exponents.append(np.polyfit(np.log(run["step"]), np.log(run["best"]), 1)[0])
        numbers[f"offset {offset:g}: exponent of extragradient"] = exponents[-1]
        if offset == 3.0:
            linear = _linear_to(theorem, level), is_linear(run["step"].to_numpy(float), run["best"].to_numpy())
    parts = {
        "linear on steep balls": linear[0],
        "extragradient is O(1/t)": max(exponents) <= -slope,
        "extragradient is not linear": not linear[1],
    }
    return Finding(parts, numbers)


@claim(
    "R-7",
    "The expected error of randomised away steps is at most (1 - eta^2 rho)^floor((T - s)/2) of the first one, rho = mu/(4 C); an "
    "iteration looks at the sampled atoms and the active set.",
    R2.runs(solver="random_away"),
    place="section 2.0.1, definition and theorem; algorithm 5",
    changed="the rate is evaluated; before, only linear decrease was looked at. The atoms inspected are compared by intervals over "
    "seeds; before, by means.",
    kind=Kind.THEOREM,
)
def random_rate(runs):
    """On the lasso, with every eta. Linear: a line explains the mean over seeds of the log best gap better over the steps than over
    their logarithm, at the steps that all seeds logged. Within the rate: at these steps the mean over seeds of f less the highest
    lower bound of any run, of which 1e-9 of the first one is rounding, is at most the bound after T + 1 steps, with s = 1. C is the
    away curvature, at corners; mu lies between the smallest eigenvalue times the square of the pyramidal width and the least value
    that its definition has for 300 random points. A run within the bound of the latter, which is the smaller one, is within the
    theorem's; one above that of the former contradicts it; between them nothing is decided. One part each per eta, and one that
    atoms inspected per step grow with eta.
    """
    parts, numbers, inspected = {}, {}, []
    rho, highest = lasso_rates(), runs.rows(task="convex", solver="random_away")["dual"].max()
    for eta, found in _etas(runs).items():
        logs = [run.drop_duplicates("step", keep="last").set_index("step") for run in found]
        common = sorted(set.intersection(*(set(log.index) for log in logs)))
        mean = np.exp(np.mean([np.log(np.maximum(log["best"].loc[common], 1e-12)) for log in logs], axis=0))
        steps = np.array(common, dtype=float)
        parts[f"linear, eta = {eta:g}"] = is_linear(steps, mean)
        errors = np.mean([log["primal"].loc[common].to_numpy() for log in logs], axis=0) - highest
        errors = np.where(errors > 1e-9 * errors[0], errors, 0.0)
        bounds = [errors[0] * (1 - eta**2 * each) ** np.maximum(0, (steps - 2) // 2) for each in rho]
        loose, strict = ((errors / bound).max() for bound in bounds)
        parts[f"within the rate, eta = {eta:g}"] = True if strict <= 1 else False if loose > 1 else None
        numbers |= {f"eta = {eta:g}: error over the smaller bound, most": strict}
        numbers |= {
            f"eta = {eta:g}: bounds after the last step, of the start": f"{bounds[1][-1] / errors[0]:.3g} to "
            f"{bounds[0][-1] / errors[0]:.3g}"
        }
        inspected.append([_inspected(run) for run in found])
        numbers[f"atoms inspected per step, eta = {eta:g}"] = str(interval(inspected[-1]))
    parts["inspected grows with eta"] = every(map(sign, np.diff(inspected, axis=0)))
    return Finding(parts, numbers | {"rho, at least": rho[0], "rho, at most": rho[1]})


def lasso_rates():
    """Return lower and upper bounds of rho on the lasso."""
    from fwexp.convex import minimize

    f, ball = fwexp.load_dataset("lasso")[0]
    A = f.matrix.columns(slice(None))
    found = minimize(f, ball, method="away", gap_tol=1e-6, max_iter=100_000)
    constants = quadratics.away_constants(np.asarray(A), f.b, ball.radius, found.x)
    return tuple(mu / (4 * constants.curvature) for mu in (constants.least, constants.most))


@claim(
    "R-8",
    "Saddle-point Frank-Wolfe with away steps converges linearly on polytopes (stated there, not proved).",
    R5.runs(solver="sp_away"),
    place="section 4.1, on away steps; section 4.2, on what is said to be proved",
    vary={"level": (1e-8, 1e-6, 1e-4, 1e-2)},
    changed="a game that is strongly convex and concave has a part: the theorem in the source of the review asks for that, and "
    "before only bilinear games, which it leaves out, were looked at.",
    kind=Kind.THEOREM,
)
def saddle_away(runs, *, level=1e-6):
    """With adaptive steps min(1, nu g/(2C)), of which the review defines neither nu nor C. Both are our choice: nu = 1, and C the
    norm of the matrix times the squared diameter of both sets. On the matrix game and the chain SVM, one part each: a line explains
    the logarithm of the best gap better over the steps than over their logarithm, or else the sentence is contradicted; and the
    best gap gets to {level:g}, or else that is not reached. Computed, one part: the same on five games (||x||^2 - ||y||^2)/2 + x'My
    + p'x - q'y on two simplices of three corners with ||M|| = 0.1 and a saddle point on edges, within the theorem of Gidel et al.
    (2017), which asks for curvatures that dominate the coupling; nu and C are those of that theorem.
    """
    parts, numbers = {}, {}
    for run in runs.each("sp_away"):
        name = run["dataset"].iloc[0]
        parts[name], numbers[f"{name}: best gap"] = _linear_to(run, level), run["best"].min()
    runs = [_strong_gaps(seed, True) for seed in range(5)]
    ends = [np.flatnonzero(gaps <= level * 1e-2) for gaps in runs]
    kept = [gaps[: at[0] + 1] if len(at) else gaps for gaps, at in zip(runs, ends, strict=True)]  # before rounding bends it
    linear = every(is_linear(np.arange(1.0, len(gaps) + 1), gaps) for gaps in kept)
    gap = max(gaps[-1] for gaps in kept)
    parts[STRONG], numbers[f"{STRONG}: largest of the best gaps"] = linear and (True if gap <= level else NOT_REACHED), gap
    return Finding(parts, numbers)


STRONG = "strongly convex and concave games"


@measured
def _strong_gaps(seed, away):
    return quadratics.saddle_gaps(quadratics.some_strong_game(seed), 20_000, away)


@claim(
    "R-17",
    "With the adaptive step min(1, nu g/(2C)) saddle-point Frank-Wolfe converges sublinearly, like Frank-Wolfe.",
    R5.runs("sp_fw_adaptive"),
    place="section 4.1, on saddle-point Frank-Wolfe",
    vary={"slope": (0.8, 0.9, 1.0)},
    changed="gaps of 1e-10 and below are within the rate; at first, runs that got to rounding and stayed there contradicted it, "
    "and curves that got steeper by any amount did not. The computed games are those of R-8, which were changed.",
    kind=Kind.THEOREM,
)
def adaptive_saddle_steps(runs, *, slope=0.9):
    """Frank-Wolfe's rate is 1/t. The exponent of the best gap in the steps, by least squares of the logarithms, over the last
    factor of 4 of the steps is at most -{slope:g}. Above that it is a contradiction if it is less than 0.05 below the exponent over
    the factor of 4 before, and not reached otherwise: a slow start is within a rate, and so is a gap of 1e-10. On the matrix game
    and the chain SVM of R-8, one part each, with nu and C as there; and computed, on its strongly convex and concave games, in
    20,000 steps, one part.
    """
    curves = {run["dataset"].iloc[0]: [(run["step"].to_numpy(float), run["best"].to_numpy())] for run in runs.each("sp_fw")}
    strong = [_strong_gaps(seed, False) for seed in range(5)]
    curves[STRONG] = [(np.arange(1.0, len(gaps) + 1), gaps) for gaps in strong]
    parts, numbers = {}, {}
    for name, found in curves.items():
        exponents = [[_exponent(t, gap, t[-1] / 4**k, t[-1] / 4 ** (k - 1)) for k in (2, 1)] for t, gap in found]
        parts[name] = every(
            True if late <= -slope or gap[-1] <= 1e-10 else False if late >= early - 0.05 else NOT_REACHED
            for (early, late), (_, gap) in zip(exponents, found, strict=True)
        )
        numbers |= {
            f"{name}: largest exponent": max(late for _, late in exponents),
            f"{name}: gap": max(gap[-1] for _, gap in found),
        }
    return Finding(parts, numbers)


def _exponent(t, gap, low, high):
    kept = (t >= low) & (t <= high)
    if kept.sum() < 4:
        raise Undecided(f"{kept.sum()} logged points from {low:g} to {high:g} steps, an exponent needs 4")
    return np.polyfit(np.log(t[kept]), np.log(np.maximum(gap[kept], 1e-300)), 1)[0]

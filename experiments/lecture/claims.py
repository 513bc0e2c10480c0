"""Claims of the lecture note on Frank-Wolfe methods and structural SVMs."""

import numpy as np

from fwexp.experiments.icml2013.claims import LAMS, OCR
from fwexp.experiments.icml2013.figures import FIG1
from fwexp.experiments.icml2013.theory import ROUNDING, batch_is_subgradient, corrective_is_cutting_plane
from fwexp.experiments.review.figures import R3
from fwexp.experiments.theory import small
from fwexp.papers.claims.registry import Kind, claim
from fwexp.papers.claims.verdict import Finding, Undecided, within

CURVATURE = 4.0
"""C_f of ||x||^2 on the simplex: L diam^2 = 2 * 2."""

claim(
    "L-1",
    "Fully corrective Frank-Wolfe is constraint generation for the 1-slack formulation.",
    place="page on fully corrective Frank-Wolfe, last page before the pointers",
    vary={"tol": (1e-8, 1e-6, 1e-4)},
    changed="as B13-13.",
)(corrective_is_cutting_plane)
claim(
    "L-2",
    "Batch Frank-Wolfe on the dual takes the steps of a batch subgradient method.",
    place="first page, on the step sizes; the print has lam on both sides, the steps above it beta lam = gamma",
    vary=ROUNDING,
)(batch_is_subgradient)


@claim(
    "L-3",
    "The smallest gap so far, and the weighted mean of the gaps, are at most three times the bound 2 C_f/(t+2) on the error.",
    R3.runs(),
    place="page on the Frank-Wolfe gap, behind its formula, with the weighted average between both sides",
    kind=Kind.THEOREM,
)
def gap_bound(runs):
    """For ||x||^2 on the simplex, where C_f = 4, in every logged row, with line search and with predefined steps: the smallest gap
    so far, and the mean of the gaps with weights s + 1, are at most 3 (2 C_f/(t+2)); one part per mean.
    """
    smallest, weighted = [], []
    for run in runs.each():
        run = run.drop_duplicates("step", keep="last")
        t = run["step"].to_numpy(float)
        if len(t) < 10 or not np.allclose(np.diff(t), 1):
            raise Undecided("not every step is logged")
        gaps, bound = run["gap"].to_numpy(), 6 * CURVATURE / (t + 2)
        smallest.append((np.minimum.accumulate(gaps) / bound).max())
        weighted.append((np.cumsum((t + 1) * gaps) / np.cumsum(t + 1) / bound).max())
    parts = {"smallest gap": max(smallest) <= 1, "weighted mean": max(weighted) <= 1}
    return Finding(parts, {"smallest gap over the bound, most": max(smallest), "weighted mean over it, most": max(weighted)})


@claim(
    "L-4",
    "At the start D(a_0) = 0 and P(0) is the mean of the largest losses.",
    FIG1.runs("bcfw", "fw", "one_slack", dataset=OCR, lam=LAMS),
    place="page on the Frank-Wolfe gap, sketch of primal and dual over the iterations",
    kind=Kind.THEOREM,
)
def start(runs):
    """In the first row of every run that starts at w = 0 on OCR: the dual is 0 and the primal is 1, the largest normalised Hamming
    loss, to 1e-9.
    """
    first = runs.rows()
    first = first[first["passes"] == 0]
    if first.empty:
        raise Undecided("no run logged its start")
    dual, primal = first["dual"].abs().max(), (first["primal"] - 1).abs().max()
    return Finding({"D(a_0) = 0": dual <= 1e-9, "P(0) = 1": primal <= 1e-9}, {"|D(a_0)|, most": dual, "|P(0) - 1|, most": primal})


@claim(
    "L-5",
    "The weighted average of subgradient iterates has a primal error of at most 8 R^2/(lam (t+2)).",
    place="note on the convergence of subgradient methods, where lam is lost in the print",
)
def subgradient_rate():
    """Computed, on ten small problems at lam = 1, 0.1 and 0.01, with steps 2/(lam (t+2)): after every step up to 200, P less the
    optimum is at most the bound, at the mean of w_1, ..., w_t with weights 1, ..., t; one part per lam.
    """
    ratios, steps = {}, 200
    for lam in (1.0, 0.1, 0.01):
        for seed in range(10):
            outputs = small.some_outputs(seed)
            ws = small.subgradients(outputs, lam, 2.0 / (lam * np.arange(2.0, steps + 2.0)))
            error = small.primal(outputs, small.averages(ws)["weighted mean"], lam) - small.optimum(outputs, lam)
            over = error * lam * np.arange(3.0, steps + 3.0) / (8.0 * outputs.radius_sq)
            ratios.setdefault(f"lam = {lam}", []).append(over.max())
    return within(ratios, "error over the bound")

"""Figures of the review of Frank-Wolfe variants, whose experiments are announced there and not shown, and what they decide."""

from fwexp.experiments.figure import Figure
from fwexp.plots import review

R1 = Figure(
    name="review/fig1",
    title="Frank-Wolfe, away, pairwise and corrective steps on triangles, with the optimum at the boundary and inside",
    data=review.r1_data,
    draw=review.r1_draw,
)
R2 = Figure(
    name="review/fig2",
    title="Randomised away steps on the lasso, by linear minimisations and by atoms inspected",
    data=review.r2_data,
    draw=review.r2_draw,
)
R3 = Figure(
    name="review/fig3",
    title="What a point of few nonzeros can reach on the simplex, and what line search and predefined steps do",
    data=review.r3_data,
    draw=review.r3_draw,
)
R4 = Figure(
    name="review/fig4",
    title="Batch and block-coordinate methods on the dual of a chain SVM, enumerated",
    data=review.r4_data,
    draw=review.r4_draw,
)
R5 = Figure(
    name="review/fig5",
    title="Dual extragradient and saddle-point Frank-Wolfe on matrix games, on balls and on a chain SVM",
    data=review.r5_data,
    draw=review.r5_draw,
    timed=True,
)

# What decides each claim of the review (R) and of the lecture (L): the criterion, and where it is tested.
CRITERIA = {
    "R-1": "R1: away reaches gap 1e-9 where the optimum is on an edge, in O(1/t) steps of the angle t, fw is above 1e-5 then; "
    "inside, fw reaches 1e-10 (tests/convex/test_minimize.py)",
    "R-2": "R2: every eta reaches 1e-6; atoms inspected at eta = 0.1 are fewer than away's",
    "R-3": "the best gap so far is at most 2 (27/8) L diam^2/(t+2) in every row, with both steps",
    "R-4": "R3: after t steps with line search f = 1/(t+1) to rounding, the gap is at least 2/(t+1); 2/(t+2) stays above. "
    "The printed bound, gap <= 1/k - 1/n, is false wherever k < n",
    "R-5": "decided with B13-15",
    "R-6": "R5 c, d: SP-FW with the step of the theorem keeps g_0 (1 - rho)^t on balls with steep gradients, and does not reach "
    "1e-3 where they vanish; extragradient keeps its O(1/t). Contradicted: the conclusion that SP-FW is the more practical one, "
    "where extragradient has a smaller gap after as many calls (R5 a)",
    "R-7": "R2: the mean of f - f* over seeds falls linearly; inspected counts the sample and the active set",
    "R-8": "R5: a fitted rate of SP-AFW on polytopes that is linear; not seen on the matrix game",
    "R-9": "misprints: the signs of r_t in 4.1 against algorithm 7; a sum over i that does not depend on i in the formula of s_t; "
    "argmin for argmax in (1); the algorithm C.1 that is called accelerated elsewhere is plain block descent",
    "L-1": "decided with B13-13",
    "L-2": "decided with B13-12",
    "L-3": "the smallest and the weighted mean of the gaps are at most 3 (2 C_f/(t+2)); from the rows of R-3",
    "L-4": "D(a_0) = 0 and P(0) = mean_i max_y L_i(y), in the first row of every run",
    "L-5": "P(weighted mean) - P* <= 8 R^2/(lam (t+2)) for batch FW with predefined steps, in every row",
}

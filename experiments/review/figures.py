"""Figures of the review of Frank-Wolfe variants, whose experiments are announced there and not shown."""

from fwexp.papers.figure import Figure
from fwexp.plots import review

R1 = Figure(
    name="review/fig1",
    title="Frank-Wolfe, away, pairwise and corrective steps on triangles, with the optimum at the boundary and inside",
    data=review.r1_data,
    draw=review.r1_draw,
    claims=("R-1",),
)
R2 = Figure(
    name="review/fig2",
    title="Randomised away steps on the lasso, by linear minimisations and by atoms inspected",
    data=review.r2_data,
    draw=review.r2_draw,
    claims=("R-2", "R-7"),
)
R3 = Figure(
    name="review/fig3",
    title="What a point of few nonzeros can reach on the simplex, and what line search and predefined steps do",
    data=review.r3_data,
    draw=review.r3_draw,
    claims=("L-3", "R-3", "R-4"),
)
R4 = Figure(
    name="review/fig4",
    title="Batch, block-coordinate and randomised methods on the dual of a chain SVM, enumerated",
    data=review.r4_data,
    draw=review.r4_draw,
)
R5 = Figure(
    name="review/fig5",
    title="Dual extragradient and saddle-point Frank-Wolfe on matrix games, on balls and on a chain SVM",
    data=review.r5_data,
    draw=review.r5_draw,
    claims=("R-6", "R-8"),
    timed=True,
)

"""Figures for the review of Frank-Wolfe variants: its abstract announces experiments, which it does not show; R1 to R5 are ours."""

from dataclasses import replace

from fwexp.papers.declarations import Figure, Kind
from fwexp.plots import frames
from fwexp.plots.curves import Chart, Panel

KIND = {"kind": Kind.ANNOUNCED, "seconds": 5.0}  # problems are small


def _panel(key: str, title: str, dataset: str, measure: str = "gap", axis: str = "calls", left: float = 1.0, **options) -> Panel:
    return Panel(key, title, dataset, "", measure, axis, left, full=left, options=options, task="convex", early=False)


def _chart(*panels: Panel, **size) -> Chart:
    return Chart(panels, derive=frames.with_certified_gaps, **size)


TWO = {"columns": 2, "height": 2.3}

R1 = Figure.declared(
    name="review/fig1",
    title="Frank-Wolfe, away, pairwise and corrective steps on triangles, with the optimum at the boundary and inside",
    caption="A triangle whose optimum lies on an edge that gets steeper, and one with the optimum inside.",
    paper="The abstract announces tests on synthetic data without a figure. Section 1.2: with the optimum at the boundary, the gap "
    "of Frank-Wolfe stagnates, which away steps address.",
    chart=_chart(
        *(
            _panel(key, f"triangle, t = π/{t}", "triangle", divisor=float(t), optimum="edge")
            for key, t in zip("abcd", (4, 20, 200, 2000))
        ),
        _panel("e", "triangle, optimum inside", "triangle", divisor=4.0, optimum="inside"),
    ),
    **KIND,
)
R2 = Figure.declared(
    name="review/fig2",
    title="Randomised away steps on the lasso, by linear minimisations and by atoms inspected",
    caption="The lasso: randomised away steps look at a part of the atoms in each iteration.",
    paper="Announced in the abstract, without a figure. Section 2, paragraph 3: a linear rate with cheaper oracle calls, as a "
    "compromise.",
    chart=_chart(_panel("a", "lasso", "lasso"), _panel("b", "lasso", "lasso", axis="inspected", left=100.0), **TWO),
    **KIND,
)
R3 = Figure.declared(
    name="review/fig3",
    title="What a point of few nonzeros can reach on the simplex, and what line search and predefined steps do",
    caption="The squared norm on the simplex, where the number of nonzeros bounds what can be reached. With line search the "
    "gap of panel (b) is zero after the last call.",
    paper="Announced in the abstract, without a figure. Section 1.1.2: in the number of atoms Frank-Wolfe is worst-case optimal.",
    chart=_chart(
        _panel("a", "||x||² on the simplex", "norm", "value"),
        replace(_panel("b", "||x||² on the simplex", "norm"), bottom=1e-3),
        **TWO,
    ),
    **KIND,
)
R4 = Figure.declared(
    name="review/fig4",
    title="Batch, block-coordinate and randomised methods on the dual of a chain SVM, enumerated",
    caption="The dual of a small chain SVM with all labelings enumerated, by passes and by labelings inspected.",
    paper="Announced in the abstract, without a figure. Section 2, paragraph 2: an iteration of the block method is cheaper, and "
    "its rate stays sublinear.",
    chart=_chart(
        _panel("a", "chain SVM, dual", "chain_dual"),
        _panel("b", "chain SVM, dual", "chain_dual", axis="inspected", left=1000.0),
        **TWO,
    ),
    **KIND,
)
R5 = Figure.declared(
    name="review/fig5",
    title="Dual extragradient and saddle-point Frank-Wolfe on matrix games, on balls and on a chain SVM",
    caption="Saddle points: matrix games, games on balls with steep and with vanishing gradients, and a chain SVM.",
    paper="Announced in the abstract, without a figure. Section 4.2, paragraphs 1 and 2: two oracle calls in each iteration of "
    "extragradient, one in one of saddle-point Frank-Wolfe.",
    chart=_chart(
        _panel("a", "matrix game, by calls", "matrix_game"),
        _panel("b", "matrix game, by time", "matrix_game", axis="time", left=1e-4),
        _panel("c", "balls, steep", "ball_game", offset=3.0),
        _panel("d", "balls, flat", "ball_game", offset=0.5),
        _panel("e", "chain SVM", "chain_game"),
    ),
    **KIND,
)

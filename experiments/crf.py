"""A figure of ours: solvers of the log-loss, which trains conditional random fields."""

from fwexp.papers.declarations import Figure
from fwexp.plots.curves import Chart, Panel

PROBABILITIES = Figure.declared(
    name="crf/fig1",
    title="Certified gaps of solvers of the log-loss on OCR and CoNLL-2000",
    caption="Conditional random fields: duality gap of the last iterate against passes and seconds. Block steps with entropic "
    "duals, plain and as auto runs them (accelerated), next to L-BFGS, online-EG and SAG with non-uniform sampling. The dual "
    "point of L-BFGS is the best mixture of the marginals that it has met.",
    chart=Chart(
        panels=[
            Panel(key, f"{title}, λ = 1/n", dataset, "1/n", "gap", axis, left, full=left)
            for keys, title, dataset, seconds in (("ab", "OCR", "ocr", 0.05), ("cd", "CoNLL", "conll2000", 0.2))
            for key, axis, left in zip(keys, ("passes", "time"), (1.0, seconds))
        ],
        columns=2,
        height=2.2,
    ),
    seconds=10.0,
)

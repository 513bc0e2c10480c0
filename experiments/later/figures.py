"""The figure of what came after: chains, joint steps and skipped oracles next to the methods of 2013 and 2016."""

from fwexp.papers.declarations import Figure
from fwexp.plots.curves import Chart, Panel

LAMS = (0.1, 0.001)
"""Of OCR-small: two of the three values of the 2016 paper on OCR."""

CONLL_LAM = 0.01

STEPS = ("bcpfw", "bcpfw_chain", "bcafw", "bcafw_chain", "bcpfw_wss2")
JOINT = {1: "bcfw", 4: "bcfw_joint_4", 16: "bcfw_joint_16", 64: "bcfw_joint_64"}
SKIPPING = {1: "bcfw_skip_1", 2: "bcfw_skip_2", 5: "bcfw_skip_5"}

SMALL = {"split": "ocr"}


def _panel(key: str, title: str, shown, place: tuple, axis: str = "passes") -> Panel:
    name, dataset, lam, options = place
    hidden = {*STEPS, *JOINT.values(), *SKIPPING.values()}.difference(shown)
    return Panel(key, f"{name}, λ = {lam}: {title}", dataset, lam, "gap", axis, left=1.0, options=options, without=tuple(hidden))


_OCR = [("OCR-small", "ocr", lam, SMALL) for lam in LAMS]
_CONLL = ("CoNLL", "conll2000", CONLL_LAM, {})

FIG1 = Figure.declared(
    name="later/fig1",
    title="Short step chains, joint steps of several blocks, and skipped oracles on OCR-small and CoNLL-2000",
    caption="Duality gap of methods of later papers. Pairwise and away steps, single and in short step chains, and pairwise "
    "steps with the away corner of the best improvement, against passes (a to c). Costly oracles in each pass, once in 2 "
    "and once in 5 passes, against the cost of the calls, which is in proportion to labels (d to f). Joint steps of 4, "
    "16 and 64 random blocks (g, h).",
    chart=Chart(
        [
            *(_panel(key, "chains", STEPS, place) for key, place in zip("abc", (*_OCR, _CONLL))),
            *(_panel(key, "skipping", SKIPPING.values(), place, "cost") for key, place in zip("def", (*_OCR, _CONLL))),
            *(_panel(key, "joint steps", JOINT.values(), place) for key, place in zip("gh", _OCR)),
        ],
        own_legends=True,
        columns=3,
        height=2.4,
    ),
    seconds=5.0,
)

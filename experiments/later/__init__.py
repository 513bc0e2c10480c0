"""Figures and claims of papers on block-coordinate Frank-Wolfe after 2016."""

from fwexp.papers.declarations import STAND_IN, Paper

PAPER = Paper.declared(
    id="A",
    name="later",
    title="What came after: papers on block-coordinate Frank-Wolfe since 2016",
    authors="Rinaldi, Zeffiro; Bomze, Rinaldi, Zeffiro; Braun, Pokutta, Woodstock; Zhang, Wang, Romero, Giannakis; Wang et al.; "
    "Franc",
    budget="Ours: we had the abstracts of these papers, and not their experiments.",
    data={
        "ocr": f"{STAND_IN}the words of one fold; we do not know the settings of these papers",
        "conll2000": f"{STAND_IN}sentences of 1 to 78 words, whose oracles take time in proportion to their length",
    },
    choices=(
        "Short step chains stay in two balls. The papers take Euclidean balls and a bound on the curvature of the objective. We "
        "take the norm in which the block's part of the dual has curvature 1, so that a chain without drop step is one step with "
        "line search.",
        "The costly oracles are those of examples with more labels than the mean, and a call costs as much as the example has "
        "labels.",
        "Joint steps have one exact line search for all blocks of a group. The papers have predefined steps, too.",
        "Semi-stochastic away steps (Goldfarb, Iyengar and Zhou 2016) replace the gradient of a finite sum by samples of it. The "
        "dual of a structural SVM is no such sum with cheap samples: the gradient of a block is exact after one oracle call. So "
        "there is no claim.",
    ),
)

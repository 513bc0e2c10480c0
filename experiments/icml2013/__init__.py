"""Figures and claims of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.papers.declarations import STAND_IN, Paper

PAPER = Paper.declared(
    id="B13",
    name="icml2013",
    title="Block-Coordinate Frank-Wolfe Optimization for Structural SVMs (ICML 2013)",
    authors="Simon Lacoste-Julien, Martin Jaggi, Mark Schmidt, Patrick Pletscher",
    year=2013,
    url="https://proceedings.mlr.press/v28/lacoste-julien13.html",
    budget="Ten runs of each stochastic method (caption of figure 1). The text names neither passes nor time.",
    data={
        "ocr": "the paper's data; d = 4082 follows from its features, where section 6, paragraph 1, prints 4028",
        "conll2000": "the paper's data and features (section 6, paragraph 1)",
        "hansards": f"{STAND_IN}the corpus and the test set of 347 sentences are the paper's (appendix F, on the implementation). "
        "The 5000 training alignments, which an unsupervised aligner made, and the 95 features are ours; the paper has 82 features "
        "(section 6, paragraph 1)",
    },
    choices=(
        "Ties of the oracle go to the smallest label: published code.",
        "Line search divides by the squared length of the step; the published code adds the precision of numbers to it.",
        "The cutting plane has no cache of labelings, which the published solver has as an option, and removes planes that had no "
        "weight in ten programs in a row (`one_slack_published`). The paper ran version 1.1 of svm-struct-matlab with its default "
        "options (appendix F).",
        "The exponent of online-EG is the step size times the loss-augmented scores, not that over n. Appendix F has the step "
        "sizes, not the scale.",
        "Suboptimality is the distance to the highest dual value of any method at that lam, as in appendix F, on the "
        "implementation. Here a long run of another method, which is not drawn, is one of them.",
    ),
)

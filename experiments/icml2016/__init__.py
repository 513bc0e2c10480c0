"""Figures and claims of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016)."""

from fwexp.papers.declarations import STAND_IN, Paper

PAPER = Paper.declared(
    id="G16",
    name="icml2016",
    title="Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs (ICML 2016)",
    authors="Anton Osokin, Jean-Baptiste Alayrac, Isabella Lukasewitz, Puneet K. Dokania, Simon Lacoste-Julien",
    year=2016,
    url="https://proceedings.mlr.press/v48/osokin16.html",
    budget="Five runs of each method (section 5.1, paragraph 2); 31 values of lam, and paths to an accuracy of 0.1 (section 5.2, "
    "paragraph 1). We used the version of the proceedings without its appendix, which names neither passes nor time.",
    data={
        "ocr": "the paper's data; OCR-small (`split=ocr`) is not among its six data sets (section 5.1, paragraph 2)",
        "conll2000": "the paper's data (section 5, paragraph 2)",
        "synthetic_horseseg": f"{STAND_IN}graphs of the three sizes of HorseSeg with planted weights; we had no copy of HorseSeg",
        "horses": f"{STAND_IN}the Weizmann horses are other images than those of HorseSeg, with features of ours",
        "synthetic_lsp": f"{STAND_IN}poses of the size of LSP with planted templates; we had no copy of the paper's part scores",
        "slow_lsp": f"{STAND_IN}the same poses with an oracle of about 50 ms per call; the paper's oracles take up to two "
        "seconds (section 5, paragraph 3)",
        "digits": "ours, for methods that the paper has no figure of",
        "chain_dual": "ours, for methods that the paper has no figure of",
    },
    choices=(
        "Gap sampling visits the examples in their order in the first pass: published code.",
        "Every method checks its gap each ten passes, which counts in passes and in time: published code.",
        "A pass is n calls of the oracle (footnote 5). A check of all gaps is one, an answer of the cache is none: published code.",
        "The cache has at most 50 labelings of an example: published code.",
        "Where weights must not be negative (section 5, paragraph 2), the paper's step is that of the published code, which is too "
        "short where coordinates are clipped. Our exact line search has lines of its own.",
        "Exact paths bring the gap to 0.9 of the accuracy at each break point, heuristic ones to 0.7: published code.",
        "The three values of lam on a data set are from the published code, because we did not have the appendix. On the stand-ins "
        "for LSP they are smaller, since features are about as long as 1.",
    ),
)

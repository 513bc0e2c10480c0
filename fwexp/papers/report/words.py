"""What the report says of each figure, in our words: what it shows here, and what the paper's figure showed."""

from fwexp.plots.style import METHODS

CAPTIONS = {
    "quickstart": (
        "Three solvers on the handwritten dates that come with the package: distance of the objective to the best lower bound "
        "above, test error below.",
        "This figure is ours; it shows in two minutes that an installation works.",
    ),
    "icml2013/fig1": (
        "How far the objective is from its minimum after so many passes over the data. Bands go from the best to the worst seed, "
        "lines are medians; of the batch solvers the lowest value so far is drawn.",
        "The same panels: the block-coordinate method and its weighted average were the lowest nearly everywhere, batch solvers "
        "fell behind at large lam, and stochastic subgradient suffered at lam = 1/n. On CoNLL a fraction of a pass was enough.",
    ),
    "icml2013/fig2": (
        "Line search against predefined steps, for the batch and the block-coordinate method.",
        "Line search gained much for the block-coordinate method, which without it resembled the subgradient method.",
    ),
    "icml2013/fig3": (
        "The stochastic solvers with all their averages on OCR: objective above, test error below.",
        "Weighted averages helped in test error; uniform averages were slow; at small lam the test error rose again after an "
        "early minimum.",
    ),
    "icml2013/fig4": (
        "The stochastic solvers with all their averages on CoNLL-2000, from a hundredth of a pass on; no online-EG.",
        "The order of the solvers was that of OCR, already within the first pass.",
    ),
    "icml2013/fig5": (
        "The stochastic solvers with all their averages on word alignment. Features and training alignments of the paper are not "
        "public; ours are stand-ins for them, made from the public part of the Hansards.",
        "The order of the solvers was the same; the paper shows one lam in its figure 1.",
    ),
    "icml2013/table1": (
        "Oracle calls of all methods: what theory guarantees, and what was measured on OCR, also on samples of its words.",
        "The paper's table has the theory only; the measured columns are ours.",
    ),
    "icml2016/fig1": (
        "Gap sampling with the block gaps recomputed more or less often: the gap, how far the estimate of it is off (true over "
        "estimate), and the improvement that theory predicts.",
        "Never refreshing stalled, refreshing in each pass wasted calls, and everything between was alike.",
    ),
    "icml2016/fig2": (
        "What the two thresholds of the oracle cache do: the share of steps that it answers, and the gap in four regimes.",
        "Large thresholds gave no hits, small ones starved the oracle; the local criterion did the work in the best regime.",
    ),
    "icml2016/fig3": (
        "Eight block methods on four data sets: gap against passes and against time. HorseSeg and LSP are synthetic data of their "
        "size here; Weizmann horses are real images.",
        "Gap sampling always helped, pairwise steps reached smaller gaps, and caching saved passes, and time where the oracle was "
        "slow.",
    ),
    "icml2016/fig4": (
        "Passes and time to follow the solutions from large to small lam on synthetic data of the size of HorseSeg-small: "
        "certified and heuristic paths, and grids with warm and cold starts. The last point of a path serves for all smaller lam.",
        "Warm starts made the grid faster, and a path to the end of the grid cost about as much as a grid.",
    ),
    "icml2016/fig5": (
        "The eight block methods on OCR and CoNLL-2000 at three strengths of the regularisation each; every method checks its gap "
        "each 10 passes.",
        "Six data sets; the larger the data, the more gap sampling gained.",
    ),
    "icml2016/fig6": (
        "The eight block methods on horses and on synthetic data of the sizes of HorseSeg and LSP, at three strengths of the "
        "regularisation each. Gaps are computed anew each 10 passes: where gap sampling has spent what it knows of them, it stands "
        "still until then.",
        "The order of the methods was that of OCR; with the slow oracle of LSP the cache paid in time, too.",
    ),
    "icml2016/auto": (
        "What the solver auto chooses, and accelerated corrective steps, beside the best method of the paper and plain gap "
        "sampling, on all data sets of figures 5 and 6.",
        "This figure is ours.",
    ),
    "icml2016/table1": (
        "The data sets: examples, dimension, oracle, what a call of it costs here, and its share of a run.",
        "The same columns for the paper's data, with costs from below a millisecond to seconds.",
    ),
    "icml2016/fig8": (
        "Passes and time to follow the solutions from large to small lam: certified and heuristic paths, and grids with warm and "
        "cold starts. The last point of a path serves for all smaller lam.",
        "A path cost about as much as a grid; warm starts made the grid faster.",
    ),
    "horses/overlays": (
        "Left the true figure, cut out, and right what was found, on six test images at equal ranks from the best to the worst; "
        "with the scores of all test images, with edges between superpixels and without. Scores in pictures are those of the run "
        "that is drawn, scores in words medians over the runs.",
        "This figure is ours; the paper's HorseSeg has other images and features.",
    ),
    "pose/overlays": (
        "Left the true pose and right the one found, on six test images of synthetic_lsp at equal ranks from the best to the "
        "worst, drawn over the score of the most likely joint at every cell. Photos are not shown: the part scores of our own in "
        "the data set lsp are too weak to learn poses from; no run there was better than weights of 0. Scores in pictures are "
        "those of the run that is drawn, scores in words medians over the runs.",
        "This figure is ours; the paper's poses are in photos, with part scores of a convolutional network.",
    ),
    "review/fig1": (
        "A triangle whose optimum lies on an edge that gets steeper, and one with the optimum inside.",
        "The review announces the experiment and shows no figure: Frank-Wolfe zig-zags at the boundary, away steps do not.",
    ),
    "review/fig2": (
        "The lasso: randomised away steps look at a part of the atoms in each iteration.",
        "Announced without a figure: cheaper iterations against more of them.",
    ),
    "review/fig3": (
        "The squared norm on the simplex, where the number of nonzeros bounds what can be reached.",
        "Announced without a figure; line search is on the bound.",
    ),
    "review/fig4": (
        "The dual of a small chain SVM with all labelings enumerated, by passes and by labelings inspected.",
        "Announced without a figure.",
    ),
    "review/fig5": (
        "Saddle points: matrix games, games on balls with steep and with vanishing gradients, and a chain SVM.",
        "Announced without a figure: one linear minimisation per iteration against two projections.",
    ),
}

OURS = {name for name, (_, paper) in CAPTIONS.items() if paper.startswith("This figure is ours")}
ANNOUNCED = {name for name in CAPTIONS if name.startswith("review/")}  # experiments that a paper describes without a figure

BEYOND = (
    "Not in any of the papers: corrective steps (after each oracle call the block is optimised over its stored labelings), outer "
    "acceleration (after Catalyst by Lin, Mairal and Harchaoui 2015, and accelerated prox-SDCA by Shalev-Shwartz and Zhang 2014; "
    "stored labelings as in the multi-plane method of Shah, Kolmogorov and Lampert 2015), and auto, the default, which chooses "
    "among them by the problem and lam. Every result carries a certificate, also along regularisation paths. Below: passes and "
    "time to a certified gap, for what is stored of the plain method, the accelerated one and auto."
)

COSTS = (
    "Passes and time until the certified gap, the lowest objective less the highest lower bound of a run so far, is that small: "
    "median, least and most over the seeds. A run certifies a gap only where it logs: one that logs every 50 passes is said to "
    "need 50. Never: not before the run ended."
)

SOURCES = (
    "Sources are the code that a run depends on, of data, problem and solver: these runs were made by more than one version of it, "
    "or by another than the one that drew them. force=stale runs them again."
)

GLOSSARY = {
    "pass": "As many calls of the max-oracle (loss-augmented decoding of one example) as there are training examples, n.",
    "lam": "The strength of the regularisation: the objective is lam/2 ||w||^2 plus the mean of the structured hinge losses.",
    "gap": "Duality gap: the objective less a lower bound on its minimum. It certifies how far a result can be from the optimum.",
    "suboptimality": "The objective less the best lower bound that any run on the same problem has, one made for that included.",
    "BCFW, FW, SSG": "Block-coordinate Frank-Wolfe, which visits one example per step; batch Frank-Wolfe; stochastic subgradient.",
    "BCPFW, BCAFW, bccfw": "BCFW with pairwise, away or corrective steps instead of Frank-Wolfe ones.",
    "wavg, tavg, avg": "Averages of the iterates: weighted by the step number; of those since the last power of two; of all alike.",
    "+ gap, + cache": "Examples are drawn in proportion to the gaps of their blocks; labelings found earlier are tried first.",
    "F, nu": "A cached labeling serves if its gap is at least F times the block's last gap (the local criterion) and nu times the "
    "mean of the last exact gaps (the global one). Regimes of these: "
    + "; ".join(f"{name} is {method.label}" for name, method in METHODS.items() if name.startswith("cache_"))
    + ".",
    "one_slack, n_slack": "Cutting planes with one slack variable, or one per example. In legends: cutting plane.",
    "OCR-small, OCR-large": "The data set ocr split in two ways: train on one of ten folds (split=ocr), or on nine (split=ocr2).",
    "P, D, h, R, chi": "Objective and its lower bound; suboptimality; a bound on the length of psi; how unevenly the gaps of "
    "blocks are spread (1: all alike).",
    "errors": "Shares of wrong labels, unless a unit is named.",
    "lam_inf, break point": "A lam above which weights are known; a lam at which a path computes new ones. Paths promise a gap of "
    "at most eps at every lam between: the last weights serve for all smaller lam that were asked for.",
    "full runs": "All runs that are defined for a figure. The papers let methods run longer; where that matters a note says so.",
    "below at k of m points, ratio r (a to b)": "Of m positions that both methods logged, at k the first method is below the "
    "second, in the median over the seeds; r is the median, a and b are the extremes of the second's values over the first's.",
    "share, seeds, factor": "Thresholds where the paper names no number. A method is lower in a range if it is at this share of "
    "its logged points; seeds 0.5 compares the medians over the seeds, the lines of figures, and 1 whole bands; what is "
    "considerably lower is so by this factor in the median, and what is similar is within it.",
    "not reached": "A verdict: what the sentence is about comes later than these runs went, which neither bears it out nor "
    "contradicts it.",
    "SP-FW, SP-AFW": "Frank-Wolfe for saddle points, without and with away steps; adaptive is a step by the gap.",
    "exact and heuristic path": "Both follow the solutions to smaller lam; the exact one computes the gap that it certifies with n "
    "oracle calls, the heuristic one trusts the last known gaps of blocks and certifies nothing.",
    "PCP, PDJ": "Shares of limbs, and of joints, that are found near enough to where they are.",
    "psi, atom, corner": "The difference of two joint feature vectors; a vertex of the set that is minimised over; one made of n "
    "labelings.",
}

IN_THE_PAPERS = {
    "ocr": "2013, 2016: n 6251 (or 626), d 4028 as printed; its features are 4082",
    "conll2000": "2013, 2016: n 8936, d 1643026",
    "hansards": "2013: n 5000, d 82; its features and training alignments are not public",
    "horseseg": "2016: n 147, 6121 or 25438, d 2069",
    "synthetic_horseseg": "2016: HorseSeg, of photos, has these sizes",
    "synthetic_lsp": "2016: LSP, of photos, n 100, d 2677",
}
"""What the papers say of the size of a data set, or of the one that it stands in for."""

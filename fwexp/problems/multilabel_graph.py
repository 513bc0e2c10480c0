"""Segmentation into more than two classes: a graph of superpixels, labelled by max-product or expansion moves.

phi(x, y) makes the score of a labeling y in {0 .. L-1}^V

    score(y) = sum_v <W[:, y_v], x_v> - sum_e <u, z_e> [y_a != y_b],    edges e = (a, b),

with edge features z_e >= 0 and weights u >= 0. The public w holds ``W[f*L + k]`` for feature f and label k, then u, so
d = L p + q. The loss is that of two classes (``segmentation``): the weighted share of wrong nodes, their weighted number, or the
mean of the shares of the classes that an example has.

If no graph has a cycle, max-product finds the best labeling. Otherwise that is NP-hard with three labels. The oracle is then alpha
expansion, a local search whose every move is a minimum cut, and declared inexact: what it finds is a labeling, never worse than the
true one, so that the dual objective is a lower bound on the optimum; but the primal objective may be too low, and nothing is
certified.

The parts of an example are the q edge features, then its nodes with their labels: theta holds u, then the score of every label
at every node, in rows of a padded width. Internal weights are rows of that width for W, then u.

Functions that solvers call are in ``multilabel_protocol``.
"""

from fwexp.problems.features import padded_width
from fwexp.problems.graphs import Graphs, graph_fields


class MultiLabelProblem(Graphs):
    """A set of graphs whose nodes have more than two labels; build it with ``fwexp.segmentation_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "bounds", "exact")

    def __repr__(self) -> str:
        sizes = f"L={self.num_labels}, nodes={len(self.labels)}, edges={self.edge_ptr[-1]}"
        return f"MultiLabelProblem(n={self.n}, d={self.d}, {sizes})"


def multilabel_from_arrays(x, z, *, num_labels: int, **arrays) -> MultiLabelProblem:
    """Build a problem from concatenated arrays, as `fwexp.problems.segmentation.segmentation_from_arrays`."""
    width = padded_width(num_labels)
    fields = graph_fields(x, z, **arrays, num_labels=num_labels, width=width, parts=width)
    return MultiLabelProblem(**fields, d=num_labels * fields["num_features"] + fields["num_pairwise"])

"""Some examples of a problem, as a problem of their own.

For each family made of arrays, what its fields hold: one row per example, per label, per part ...; what is not named here is
the same for all examples.
"""

import copy

import numpy as np

from fwexp.errors import ParameterError
from fwexp.jit.kernels import dispatched
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.chain import ChainProblem
from fwexp.problems.enumerated import EnumeratedProblem
from fwexp.problems.matching import MatchingProblem
from fwexp.problems.multiclass import MulticlassProblem
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.pose import PoseProblem
from fwexp.problems.segmentation import SegmentationProblem
from fwexp.problems.weighted import Weighted, WeightedFunctions

EXAMPLE, LABEL, PART = "", "label_ptr", "part_ptr"  # one row per example, or as many as this field of the problem says
_GRAPHS = {"labels": LABEL, "node_loss": LABEL, "x": LABEL, "z": "edge_ptr"}
ROWS = {
    ChainProblem: {"labels": LABEL, "x": LABEL, "gram": "gram_ptr", "local_x": LABEL, "num_local": EXAMPLE},
    MulticlassProblem: {"labels": LABEL, "x": EXAMPLE, "norm_sq": EXAMPLE},
    MatchingProblem: {"labels": LABEL, "x": PART, "marks": PART}
    | dict.fromkeys(("columns", "precision", "recall", "num_sure"), EXAMPLE),
    EnumeratedProblem: {"labels": LABEL, "psi": PART, "scale": PART, "losses": PART},
    SegmentationProblem: _GRAPHS,
    MultiLabelProblem: _GRAPHS,
    PoseProblem: {"labels": LABEL, "columns": EXAMPLE, "x": "cell_ptr", "reach": EXAMPLE},
}
TWICE = ("ends", "out")  # of graphs: two rows per edge
ONE_MORE = "first"  # of graphs: a row per node, and one more


@dispatched
def subset(problem, index):
    """Return the examples ``index``, an int array, as a problem of the same family; weights mean the same for both."""


@subset.register(tuple)
def _(problem, index):
    rows = ROWS.get(type(problem))
    if rows is None:
        raise ParameterError(f"problem must be of a family that can be divided, got {type(problem).__name__}")
    fields = {"n": len(index)}
    counts = {name: np.diff(getattr(problem, name))[index] for name in {LABEL, PART, *rows.values()} - {EXAMPLE}}
    fields |= {name: _starts(count) for name, count in counts.items()}
    for name, ptr in rows.items():
        starts = getattr(problem, ptr) if ptr else np.arange(problem.n + 1)
        fields[name] = _rows(getattr(problem, name), starts, index)
    if "edge_ptr" in counts:
        fields |= {name: _rows(getattr(problem, name), 2 * problem.edge_ptr, index) for name in TWICE}
        fields[ONE_MORE] = _rows(getattr(problem, ONE_MORE), problem.label_ptr + np.arange(problem.n + 1), index)
    return problem._replace(**fields)


@subset.register(Weighted)
def _(problem, index):
    part = subset(problem.unweighted, index)
    shared = {name: getattr(part, name) for name in ("n", "part_ptr", "label_ptr", "labels")}
    return problem._replace(unweighted=part, c=problem.c[index], **shared)


@subset.register(WeightedFunctions)
def _(problem, index):
    return WeightedFunctions(subset(problem.unweighted, index), problem.c[index])


class _Moved:
    """A function of an example, for examples that had other numbers before."""

    def __init__(self, function, index) -> None:
        self.function, self.index = function, index

    def __call__(self, i, *args):
        return self.function(int(self.index[i]), *args)


@subset.register(CallbackProblem)
def _(problem, index):
    names = ("features", "loss", "max_oracle", "decode")
    moved = {name: _Moved(function, index) if (function := getattr(problem, name)) else None for name in names}
    part = copy.copy(problem)  # of the same class, which may say more
    nonnegative = problem.nonnegative if len(problem.nonnegative) else None
    CallbackProblem.__init__(part, [problem.y[i] for i in index], **moved, nonnegative=nonnegative)
    return part


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _rows(values, starts: np.ndarray, index: np.ndarray):
    """Return the rows of some examples, of an array or of features; example i has the rows starts[i] .. starts[i+1]."""
    if hasattr(values, "indptr"):
        counts = np.diff(values.indptr)
        kept = {name: _rows(getattr(values, name), values.indptr[starts], index) for name in values._fields if name != "indptr"}
        return values._replace(indptr=_starts(_rows(counts, starts, index)).astype(values.indptr.dtype), **kept)
    if hasattr(values, "_fields"):
        return values._replace(**{name: _rows(getattr(values, name), starts, index) for name in values._fields})
    if len(values) == 0:  # what this problem does not have
        return values
    return np.ascontiguousarray(np.concatenate([values[starts[i] : starts[i + 1]] for i in index]))

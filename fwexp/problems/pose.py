"""Poses: a tree of parts, each at a cell of an image grid, with quadratic deformations (pictorial structures).

    score(y) = sum_j <u_j, x[y_j]>  -  sum_c <v_c, (r^2, r, s^2, s)>,

where x[cell] are the features that part j looks at, and (r, s) = (y_c - y_parent(c) - offset_c) / unit is how far a part c lies
from where its parent expects it, in rows and columns. w = (u_1, .., u_P, then v_c of all parts but the root, in their order).
The first and third weight of every v_c must not be negative, as in the published code of the ICML 2016 paper, unless that is
asked for otherwise; the oracle is exact for any sign. The loss of a pose is the mean over the annotated parts of
min(1, distance / reach).

A labeling is the cell of every part, counted row by row. The vector of parts of an example is psi itself: it is short, and
an oracle call costs many times as much. What solvers do with such problems is in ``pose_protocol``. Source: Felzenszwalb and
Huttenlocher, "Pictorial structures for object recognition", IJCV 61 (2005).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp.conversion import as_array, as_floats, as_list
from fwexp.errors import ParameterError, shown
from fwexp.options import check_positive_scale, check_scale
from fwexp.problems import protocol
from fwexp.problems.arrays import as_labels, check_scale_of, pointer
from fwexp.problems.constraints import constrained
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable
from fwexp.types import ArrayLike, SetOfExamples, Weights

DEFORMATIONS = 4  # weights of an edge: of r^2, r, s^2, s
ROOT, UNKNOWN = -1, -1


class PoseArrays(NamedTuple):
    """The fields of `PoseProblem`."""

    n: int
    d: int
    num_weights: int  # d
    num_labels: int  # parts P
    num_features: int  # p
    part_ptr: np.ndarray  # int64 (n + 1,): i * d
    label_ptr: np.ndarray  # int64 (n + 1,): i * P
    labels: np.ndarray  # int32 (n * P,), true cells; -1 where a part is not annotated (test sets)
    cell_ptr: np.ndarray  # int64 (n + 1,): cells of every image
    columns: np.ndarray  # int64 (n,), width of every image
    x: np.ndarray  # float64 (cells, p)
    feature_ptr: np.ndarray  # int64 (P + 1,): part j has the weights feature_ptr[j] .. feature_ptr[j+1]
    features: np.ndarray  # int64 (feature_ptr[P],), the columns of x that they belong to
    order: np.ndarray  # int64 (P,), parents before children
    parents: np.ndarray  # int64 (P,), -1 for the root
    edges: np.ndarray  # int64 (P,), where the deformation weights of a part begin; -1 for the root
    offsets: np.ndarray  # float64 (P, 2), expected place relative to the parent, in rows and columns
    unit: float  # of deformations, in cells
    reach: np.ndarray  # float64 (n,), distance at which a part counts as wrong
    nonnegative: np.ndarray = protocol.UNCONSTRAINED  # int64, indices of weights that must not be negative
    exhaustive: bool = False  # whether the oracle tries all pairs of cells, as if deformations were not quadratic


class PoseProblem(Sliceable, PoseArrays):
    """Images with poses; build it with ``fwexp.pose_problem``."""

    __slots__ = ()
    tiers = ("sets", "bounds")
    rows: ClassVar = {"labels": "label_ptr", "x": "cell_ptr", "columns": PER_EXAMPLE, "reach": PER_EXAMPLE}

    def __repr__(self) -> str:
        return f"PoseProblem(n={self.n}, d={self.d}, parts={self.num_labels})"


def pose_problem(
    X: Sequence[Any],
    y: Sequence[Any],
    parents: Sequence[int],
    *,
    offsets: ArrayLike | None = None,
    features: Sequence[Any] | None = None,
    reach: ArrayLike = 5.0,
    unit: float = 1.0,
    nonnegative: Weights | None = None,
) -> SetOfExamples:
    """Build a problem of poses from your own arrays.

    A pose places the parts of a tree, such as the joints of a body, in the cells of an image.

    Parameters
    ----------
    X : list of (rows_i, columns_i, p) arrays
        Features of every cell of every image, used as given: no constant is added.
    y : list of int arrays (P, 2)
        Row and column of every part, from 0; (-1, -1) for a part of a test set that is not annotated.
    parents : sequence of int (P,)
        The parent of every part, -1 for the root.
    offsets : (P, 2) array, optional
        Expected place of a part relative to its parent, in rows and columns; the entry of the root is ignored. By default the
        means of the annotated parts. For a test set, pass the offsets of the training problem (``problem.offsets``).
    features : list of int arrays, optional
        For every part, the features that its score depends on; by default all.
    reach : float or (n,) array, default 5
        Distance, in cells, at which a part counts as wrong; smaller distances count in proportion.
    unit : float, default 1
        Unit of deformations, in cells. Deformations and their squares are features, which should be about as large as the others.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative; by default the weights of the squared deformations, ``[]`` for none.

    Returns
    -------
    PoseProblem
        Its fields include ``n`` and ``d = sum_j len(features[j]) + 4 (P - 1)``. w has the weights of the features of every part,
        then the weights of the deformations (r^2, r, s^2, s) of every part except the root.

    Raises
    ------
    ValueError
        If there are no examples, lengths differ, features are not finite, features, offsets or units are out of the scales
        1e-50 .. 1e50, a joint is outside its image, or the parents are no tree.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> image = np.zeros((3, 4, 2))
    >>> image[0, 1, 0] = image[2, 3, 1] = 1.0  # a head and a foot
    >>> y, parents = [[(0, 1), (2, 3)]], [-1, 0]
    >>> problem = fwexp.pose_problem([image], y, parents, features=[[0], [1]])
    >>> fwexp.predict(problem, [1.0, 1.0, 0.1, 0.0, 0.1, 0.0])[0].tolist()
    [[0, 1], [2, 3]]
    """
    images = [_image(f"X[{i}]", image) for i, image in enumerate(as_list("X", X, "arrays (rows, columns, p), one per image"))]
    y = as_list("y", y, "int arrays (P, 2) of rows and columns, one per image")
    if not images or len(images) != len(y):
        raise ParameterError(f"X and y must have the same length n >= 1, got {len(images)} and {len(y)}")
    p = images[0].shape[2]
    for i, image in enumerate(images):
        if image.shape[2] != p:
            raise ParameterError(f"X[{i}] must have {p} features per cell like X[0], got {image.shape[2]}")
    parents, order = check_tree(parents)
    P = len(parents)
    joints = np.array([check_joints(f"y[{i}]", joints, P, images[i].shape) for i, joints in enumerate(y)])
    features = _features(features, P, p)
    feature_ptr = pointer([len(chosen) for chosen in features])
    edges = np.full(P, -1, dtype=np.int64)
    edges[parents != ROOT] = feature_ptr[-1] + DEFORMATIONS * np.arange(P - 1)
    n, d = len(images), int(feature_ptr[-1]) + DEFORMATIONS * (P - 1)
    sizes = np.array([image.shape[:2] for image in images], dtype=np.int64)
    cells = joints[:, :, 0] * sizes[:, 1:] + joints[:, :, 1]
    offsets = mean_offsets(joints, parents) if offsets is None else _offsets(offsets, P)
    unit = check_positive_scale("unit", unit)
    problem = PoseProblem(
        n=n,
        d=d,
        num_weights=d,
        num_labels=P,
        num_features=p,
        part_ptr=d * np.arange(n + 1, dtype=np.int64),
        label_ptr=P * np.arange(n + 1, dtype=np.int64),
        labels=np.where(joints[:, :, 0] == UNKNOWN, UNKNOWN, cells).astype(np.int32).ravel(),
        cell_ptr=pointer(sizes.prod(axis=1)),
        columns=sizes[:, 1].copy(),
        x=np.concatenate([image.reshape(-1, p) for image in images]),
        feature_ptr=feature_ptr,
        features=np.concatenate(features),
        order=order,
        parents=parents,
        edges=edges,
        offsets=offsets,
        unit=unit,
        reach=_reach(reach, n),
    )
    check_scale_of("X", problem.x)
    if P > 1:
        check_scale_of("offsets", offsets[parents != ROOT])
        farthest = float(np.abs(offsets[parents != ROOT]).max() + sizes.max()) / unit
        check_scale(f"unit = {unit:g} and offsets: the square of the largest deformation", farthest * farthest)
    return constrained(problem, _squares(edges) if nonnegative is None else nonnegative)


def part_maps(problem: PoseProblem, i: int, w: np.ndarray) -> np.ndarray:
    """Return how well every part fits to every cell of image i by its features alone: (P, rows, columns)."""
    x, ptr = problem.x[problem.cell_ptr[i] : problem.cell_ptr[i + 1]], problem.feature_ptr
    maps = [x[:, problem.features[a:b]] @ w[a:b] for a, b in pairwise(ptr)]
    return np.reshape(maps, (problem.num_labels, -1, problem.columns[i]))


def check_tree(parents) -> tuple[np.ndarray, np.ndarray]:
    """Return parents as an array, and the parts in an order with parents before their children."""
    parents = as_labels("parents", parents, "hold the parent of every part, -1 for the root")
    if parents.ndim != 1 or len(parents) == 0:
        raise ParameterError(f"parents must hold the parent of every part, got shape {parents.shape}")
    outside = (parents < ROOT) | (parents >= len(parents))
    if outside.any():
        raise ParameterError(f"parents must be parts 0 .. {len(parents) - 1}, or -1 for the root, got {parents[outside][0]}")
    roots = np.flatnonzero(parents == ROOT)
    if len(roots) != 1:
        raise ParameterError(f"parents must have one root, marked by -1, got {len(roots)}")
    order = list(roots)
    for part in order:  # which grows meanwhile
        order += np.flatnonzero(parents == part).tolist()
    if len(order) < len(parents):
        part = next(part for part in range(len(parents)) if part not in order)
        for _ in parents:  # so many steps up from it end on the cycle
            part = parents[part]
        raise ParameterError(f"parents must be a tree, got a cycle with part {part}")
    return parents, np.array(order, dtype=np.int64)


def mean_offsets(joints: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return where parts are relative to their parents on average, 0 where none is known: (P, 2) of joints (n, P, 2)."""
    offsets = np.zeros((len(parents), 2))
    for part, parent in enumerate(parents):
        known = (joints[:, part, 0] != UNKNOWN) & (joints[:, parent, 0] != UNKNOWN)
        if parent != ROOT and known.any():
            offsets[part] = (joints[known, part] - joints[known, parent]).mean(axis=0)
    return offsets


def _image(name: str, image) -> np.ndarray:
    image = as_floats(name, image, "hold numbers, shape (rows, columns, p)")
    if image.ndim != 3 or 0 in image.shape:
        raise ParameterError(f"{name} must have shape (rows, columns, p), all at least 1, got {image.shape}")
    return image


def check_joints(name: str, joints, parts: int, shape) -> np.ndarray:
    joints = as_labels(name, joints, "be an int array of rows and columns, shape (P, 2)")
    if joints.shape != (parts, 2):
        raise ParameterError(f"{name} must have shape ({parts}, 2), one row per part, got {joints.shape}")
    unknown = (joints == UNKNOWN).all(axis=1)
    outside = ((joints < 0) | (joints >= shape[:2])).any(axis=1) & ~unknown
    if outside.any():
        part = int(np.flatnonzero(outside)[0])
        place = tuple(joints[part].tolist())
        raise ParameterError(f"{name} must lie within its image of {shape[0]} x {shape[1]}, got {place} for part {part}")
    return joints


def _features(features, parts: int, p: int) -> list[np.ndarray]:
    if features is None:
        return [np.arange(p)] * parts
    features = as_list("features", features, "int arrays, one per part")
    if len(features) != parts:
        raise ParameterError(f"features must have length {parts}, one list per part, got {len(features)}")
    chosen = [as_labels(f"features[{j}]", indices).ravel() for j, indices in enumerate(features)]
    for j, indices in enumerate(chosen):
        if ((indices < 0) | (indices >= p)).any():
            raise ParameterError(f"features[{j}] must be in 0 .. {p - 1}, got {indices[(indices < 0) | (indices >= p)][0]}")
    return chosen


def _offsets(offsets, parts: int) -> np.ndarray:
    offsets = as_floats("offsets", offsets, "hold rows and columns, shape (P, 2)")
    if offsets.shape != (parts, 2):
        raise ParameterError(f"offsets must have shape ({parts}, 2), got {offsets.shape}")
    return np.ascontiguousarray(offsets)


def _reach(reach, n: int) -> np.ndarray:
    if not isinstance(reach, list | tuple | np.ndarray):
        return np.full(n, check_positive_scale("reach", reach))
    reach = as_array("reach", reach, "fiu", "hold positive numbers, one per image").astype(np.float64)
    if reach.shape != (n,) or not (np.isfinite(reach) & (reach > 0)).all():
        raise ParameterError(f"reach must hold {n} positive finite numbers, one per image, got {shown(reach)}")
    check_scale_of("reach", reach)
    return reach


def _squares(edges: np.ndarray) -> np.ndarray:
    """Return the indices of the weights of squared deformations."""
    first = edges[edges >= 0]
    return np.sort(np.concatenate((first, first + 2)))

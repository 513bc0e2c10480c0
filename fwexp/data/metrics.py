"""Metrics that each field reports of predictions, in addition to the training loss."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fwexp.data.chunks import check_lengths, chunks_of
from fwexp.errors import ParameterError, shown
from fwexp.tag_letters import SCHEMES


class ChunkScores(NamedTuple):
    """The report of conlleval; ratios are between 0 and 1, and 0 if the denominator is 0."""

    accuracy: float  # of tags
    precision: float
    recall: float
    f1: float
    correct: int  # chunks
    predicted: int
    true: int


class AlignmentScores(NamedTuple):
    """Measures of word alignments (Och and Ney 2000), all between 0 and 1."""

    aer: float  # alignment error rate
    precision: float  # of predicted links, how many are possible
    recall: float  # of sure links, how many are predicted


class SegmentationScores(NamedTuple):
    """Measures of figure and ground, both between 0 and 1."""

    pixel_accuracy: float  # the share of all pixels that are right
    iou: float  # intersection over union of the figure, the mean over images


class PoseScores(NamedTuple):
    """Measures of poses, both between 0 and 1, NaN if nothing can be compared."""

    pcp: float  # of limbs, how many have both ends within half the limb's length (Ferrari et al. 2008)
    pdj: float  # of joints, how many are within a fifth of the torso's length (Sapp and Taskar 2013)


def token_accuracy(problem, predictions: Sequence) -> float:
    """Return the share of all positions of all sequences that are labelled right.

    The loss that is trained for is an average of sequences; here long sequences count more.

    Parameters
    ----------
    problem : ChainProblem
        With the true labels; -1 counts as wrong.
    predictions : sequence of int arrays
        One labeling per sequence, as ``fwexp.predict`` returns them.
    """
    from fwexp.problems.chain import ChainProblem
    from fwexp.problems.protocol import original

    problem = original(problem)
    if not isinstance(problem, ChainProblem):
        raise ParameterError(f"problem must be made of sequences, got {type(problem).__name__}")
    lengths = [len(labels) for labels in predictions]
    check_lengths("predictions", lengths, np.diff(problem.label_ptr).tolist())
    return float(np.mean(np.concatenate([np.asarray(labels) for labels in predictions]) == problem.labels))


def chunk_f1(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return the F1 of chunks, between 0 and 1, as conlleval, the evaluation program of the CoNLL tasks, defines it.

    A chunk is right if both its ends and its type are. `chunk_scores` has more measures, and describes the arguments.

    Examples
    --------
    >>> from fwexp.data.metrics import chunk_f1
    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "B-NP", "B-VP"]])
    0.8
    """
    return chunk_scores(true, predicted).f1


def chunk_scores(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ChunkScores:
    """Return the accuracy of tags, and precision, recall and F1 of chunks, as conlleval defines them.

    A chunk begins at a tag ``B-TYPE``, and at an ``I-TYPE`` that does not continue one: at the start of a sentence, after
    ``O`` and after a tag of another type. It goes on as long as tags ``I-TYPE`` of the same type follow, and ends with
    its sentence at the latest. In BIOES, ``S-TYPE`` is a chunk of one token, and ``E-TYPE`` is the last token of a chunk.

    Parameters
    ----------
    true, predicted : sequences of sequences of str
        One tag per token of every sentence: ``O``, ``B-TYPE``, ``I-TYPE``, ``E-TYPE`` or ``S-TYPE``.
    """
    (own, found), (chunks, guesses), _ = chunks_of("true", true, "predicted", predicted, None)
    correct, of_true, of_predicted = len(np.intersect1d(chunks, guesses)), len(chunks), len(guesses)
    return ChunkScores(
        accuracy=int(np.count_nonzero(own == found)) / len(own),
        precision=correct / of_predicted if of_predicted else 0.0,
        recall=correct / of_true if of_true else 0.0,
        f1=2 * correct / (of_true + of_predicted) if of_true + of_predicted else 0.0,
        correct=correct,
        predicted=of_predicted,
        true=of_true,
    )


def entity_report(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]], scheme: str | None = None) -> pd.DataFrame:
    """Return precision, recall and F1 of entities by kind, as seqeval's ``classification_report`` has them.

    An entity is right if both its ends and its kind are.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        One tag per token of every sentence: ``O``, ``B-KIND``, ``I-KIND``, ...
    scheme : {"BIO", "IOB2", "IOB1", "BIOES", "IOBES", "BILOU", "BMES"}, optional
        By default, entities begin and end as in conlleval (see `chunk_scores`), in IOB1, BIO and BIOES alike, even where tags
        break the scheme. With a name, only entities that keep to the scheme count (the strict mode of seqeval). IOB2 is BIO, and
        IOBES is BIOES. Tags without a kind, as of words in BMES, have the kind ``_``.

    Returns
    -------
    DataFrame
        A row for every kind, then ``micro avg``, ``macro avg`` and ``weighted avg``; columns ``precision``, ``recall``, ``f1``,
        between 0 and 1, and ``support``, the number of true entities. Ratios are 0 if the denominator is 0.

    Raises
    ------
    ValueError
        If lengths differ, there are no tags, or a tag is not one of the scheme.

    Examples
    --------
    >>> from fwexp.data.metrics import entity_report
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-PER"]]
    >>> entity_report(y_true, y_pred)
                  precision  recall        f1  support
    LOC                0.00     0.0  0.000000        1
    PER                0.50     1.0  0.666667        1
    micro avg          0.50     0.5  0.500000        2
    macro avg          0.25     0.5  0.333333        2
    weighted avg       0.25     0.5  0.333333        2
    """
    if scheme is not None and (not isinstance(scheme, str) or scheme not in SCHEMES):
        raise ParameterError(f"scheme must be None, {', '.join(SCHEMES)}, got {shown(scheme)}")
    _, (chunks, guesses), kinds = chunks_of("y_true", y_true, "y_pred", y_pred, scheme)
    counts = [
        np.bincount(of_one % (len(kinds) or 1), minlength=len(kinds))
        for of_one in (np.intersect1d(chunks, guesses), guesses, chunks)
    ]
    rows = {kind: _ratios(*(of_one[k] for of_one in counts)) for k, kind in enumerate(kinds)}
    rows = {kind: rows[kind] for kind in sorted(rows) if rows[kind][3] or counts[1][kinds.index(kind)]}
    table = np.array([*rows.values()], dtype=np.float64).reshape(-1, 4)
    support = table[:, 3].sum()
    rows["micro avg"] = _ratios(*(of_one.sum() for of_one in counts))
    rows["macro avg"] = (*(table[:, :3].mean(axis=0) if len(table) else np.zeros(3)), support)
    rows["weighted avg"] = (*(table[:, 3] @ table[:, :3] / (support or 1.0)), support)
    report = pd.DataFrame.from_dict(rows, orient="index", columns=["precision", "recall", "f1", "support"])
    return report.astype({"support": np.int64})


def label_confusion(y_true: Sequence[Any], y_pred: Sequence[Any]) -> pd.DataFrame:
    """Return how often every label is predicted where another one is true.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences or arrays of labels
        The labels of every sentence or image.

    Returns
    -------
    DataFrame
        Counts; the rows are true labels, the columns are predicted ones.

    Examples
    --------
    >>> from fwexp.data.metrics import label_confusion
    >>> label_confusion([["D", "N", "V"]], [["D", "N", "N"]])
    predicted  D  N  V
    true
    D          1  0  0
    N          0  1  0
    V          0  1  0
    """
    flat = [[list(np.ravel(labels)) if isinstance(labels, np.ndarray) else list(labels) for labels in y] for y in (y_true, y_pred)]
    check_lengths("y_pred", [len(labels) for labels in flat[1]], [len(labels) for labels in flat[0]])
    true, predicted = (list(chain.from_iterable(y)) for y in flat)
    labels = {*true, *predicted}
    labels = sorted(labels, key=None if all(isinstance(label, str) for label in labels) else repr)
    numbers, counts = {label: k for k, label in enumerate(labels)}, np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, ([numbers[label] for label in true], [numbers[label] for label in predicted]), 1)
    return pd.DataFrame(counts, index=pd.Index(labels, name="true"), columns=pd.Index(labels, name="predicted"))


def class_iou(y_true: Sequence[Any], y_pred: Sequence[Any], ignore_label: Any = None) -> pd.DataFrame:
    """Return the intersection over union of every class of a segmentation, over all images together.

    Parameters
    ----------
    y_true, y_pred : sequences of arrays of labels
        The labels of every image, as `fwexp.estimators.GraphSVM` takes and returns them.
    ignore_label : object, optional
        Pixels with this true label are left out.

    Returns
    -------
    DataFrame
        A row for every class, then ``mean``; columns ``iou``, between 0 and 1, and ``support``, the number of true pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.data.metrics import class_iou
    >>> true, predicted = np.array([[0, 0], [1, 255]]), np.array([[0, 1], [1, 1]])
    >>> class_iou([true], [predicted], ignore_label=255)
          iou  support
    0     0.5        2
    1     0.5        1
    mean  0.5        3
    """
    counts = label_confusion(y_true, y_pred)
    if ignore_label is not None:
        counts = counts.drop(index=ignore_label, errors="ignore")
        counts = counts.loc[:, counts.any() | counts.columns.isin(counts.index)]
    table = counts.reindex(index=counts.columns, fill_value=0).to_numpy()
    both, support = np.diag(table), table.sum(axis=1)
    iou = both / np.maximum(support + table.sum(axis=0) - both, 1)
    report = pd.DataFrame({"iou": iou, "support": support}, index=[*counts.columns])
    report.loc["mean"] = [iou.mean(), support.sum()]
    return report.astype({"support": np.int64})


def least_sure(scores: Sequence[Any], labels: Sequence[Any], n: int = 20) -> pd.DataFrame:
    """Return the positions whose best two labels are closest to each other.

    Use it to find errors in labels, or sentences that are worth labelling.

    Parameters
    ----------
    scores : sequence of arrays (T, K)
        Scores of the labels at all positions: ``predict_proba`` of a `fwexp.estimators.ChainCRF`, or ``decision_function`` of any
        tagger.
    labels : sequence of K labels
        ``classes_`` of the tagger.
    n : int, default 20
        Number of positions.

    Returns
    -------
    DataFrame
        The least sure position first; columns ``sequence`` and ``position``, the ``label`` of highest score and the
        ``runner_up``, and the ``margin`` between their scores.

    Examples
    --------
    >>> from fwexp.data.metrics import least_sure
    >>> least_sure([[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8]]], ["N", "V"], n=2).round(1)
       sequence  position label runner_up  margin
    0         0         1     V         N     0.2
    1         1         0     V         N     0.6
    """
    arrays = [np.reshape(np.asarray(of_one, dtype=np.float64), (-1, len(labels))) for of_one in scores]
    lengths = [len(of_one) for of_one in arrays]
    table = np.concatenate([np.zeros((0, len(labels))), *arrays])
    order = np.argsort(table, axis=1)
    rows, names = np.arange(len(table)), np.array([*labels, None], dtype=object)
    best, second = order[:, -1], order[:, -2] if len(labels) > 1 else np.full(len(table), -1)
    margins = table[rows, best] - (table[rows, second] if len(labels) > 1 else 0.0)
    positions = [t for length in lengths for t in range(length)]
    found = pd.DataFrame({"sequence": np.repeat(np.arange(len(lengths)), lengths), "position": positions})
    found = found.assign(label=names[best], runner_up=names[second], margin=margins)
    return found.sort_values("margin", kind="stable").head(n).reset_index(drop=True)


def alignment_error_rate(sure: Sequence, possible: Sequence, predicted: Sequence) -> float:
    """Return the alignment error rate ``1 - (|A & S| + |A & P|) / (|A| + |S|)`` of predicted links A (Och and Ney 2000).

    S are the sure links and P the possible ones, of all sentence pairs together; sure links are possible, whether or not
    they are listed as such. `alignment_scores` has more measures.

    Parameters
    ----------
    sure, possible, predicted : sequences of int arrays (m, 2)
        The links (i, j) of every sentence pair.

    Examples
    --------
    >>> from fwexp.data.metrics import alignment_error_rate
    >>> sure, possible = [[(0, 0), (1, 1)]], [[(1, 2)]]
    >>> alignment_error_rate(sure, possible, [[(0, 0), (1, 2), (2, 1), (3, 3)]])
    0.5
    """
    return alignment_scores(sure, possible, predicted).aer


def alignment_scores(sure: Sequence, possible: Sequence, predicted: Sequence) -> AlignmentScores:
    """Return the alignment error rate, precision and recall; arguments as for `alignment_error_rate`."""
    for name, links in (("possible", possible), ("predicted", predicted)):
        if len(links) != len(sure):
            raise ParameterError(f"{name} must hold links of {len(sure)} sentence pairs, got {len(links)}")
    a_and_s = a_and_p = of_a = of_s = 0
    for groups in zip(sure, possible, predicted, strict=True):
        s, p, a = ({tuple(map(int, link)) for link in links} for links in groups)
        a_and_s += len(a & s)
        a_and_p += len(a & (s | p))
        of_a += len(a)
        of_s += len(s)
    if not of_s:
        raise ParameterError("sure must hold at least one link, got none")
    return AlignmentScores(
        aer=1 - (a_and_s + a_and_p) / (of_a + of_s),
        precision=a_and_p / of_a if of_a else 0.0,
        recall=a_and_s / of_s,
    )


def segmentation_scores(sizes: Sequence, inside: Sequence, predicted: Sequence) -> SegmentationScores:
    """Return pixel accuracy and intersection over union of predictions on superpixels, given the true masks.

    Parameters
    ----------
    sizes, inside : sequences of int arrays (V,)
        For every image the pixels of its superpixels, and how many of them belong to the figure.
    predicted : sequence of int arrays (V,)
        1 for superpixels that are taken for the figure, else 0.

    Examples
    --------
    >>> from fwexp.data.metrics import segmentation_scores
    >>> segmentation_scores([[10, 10]], [[10, 5]], [[1, 0]])
    SegmentationScores(pixel_accuracy=0.75, iou=0.6666666666666666)
    """
    check_lengths("predicted", [len(labels) for labels in predicted], [len(of_one) for of_one in sizes])
    right, overlaps = 0, []
    for size, figure, labels in zip(sizes, inside, predicted, strict=True):
        size, figure, chosen = np.asarray(size), np.asarray(figure), np.asarray(labels) == 1
        both, either = int(figure[chosen].sum()), int(figure.sum() + (size - figure)[chosen].sum())
        right += int(size.sum()) - either + both
        overlaps.append(both / either if either else 1.0)
    return SegmentationScores(right / int(sum(np.sum(size) for size in sizes)), float(np.mean(overlaps)))


def _ratios(correct: int, predicted: int, true: int) -> tuple[float, float, float, int]:
    """Return precision, recall, F1 and support."""
    precision, recall = correct / max(predicted, 1), correct / max(true, 1)
    return precision, recall, 2 * precision * recall / (precision + recall) if correct else 0.0, true


def pose_scores(joints, predictions: Sequence) -> PoseScores:
    """Return how many limbs and joints are found.

    Parameters
    ----------
    joints : float array (n, 14, 2)
        True rows and columns in cells, as in ``fwexp.data.lsp``; NaN where unknown, which is not compared.
    predictions : sequence of int arrays (14, 2)
        Cells, as ``fwexp.predict`` returns them; their middles are compared.
    """
    from fwexp.data.lsp_joints import LIMBS, torso_length

    if len(predictions) != len(joints):
        raise ParameterError(f"predictions must hold {len(joints)} poses, got {len(predictions)}")
    found_limbs, found_joints = [], []
    for truth, predicted in zip(joints, predictions, strict=True):
        distance = np.linalg.norm(np.asarray(predicted) + 0.5 - truth, axis=1)
        torso = torso_length(truth)
        found_joints += [d <= 0.2 * torso for d in distance if not np.isnan(d + torso)]
        for ends in LIMBS.values():
            length = np.linalg.norm(truth[ends[0]] - truth[ends[1]])
            if not np.isnan(length):
                found_limbs.append((distance[list(ends)] <= 0.5 * length).all())
    return PoseScores(*(float(np.mean(found)) if found else np.nan for found in (found_limbs, found_joints)))

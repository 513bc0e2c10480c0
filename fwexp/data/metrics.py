"""Metrics that each field reports of predictions, in addition to the training loss."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from fwexp.errors import ParameterError


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
    _check_lengths("predictions", lengths, np.diff(problem.label_ptr).tolist())
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
    lengths = [len(tags) for tags in true]
    _check_lengths("predicted", [len(tags) for tags in predicted], lengths)
    if not sum(lengths):
        raise ParameterError("true must hold at least one tag, got none")
    first = np.zeros(sum(lengths), dtype=bool)
    first[np.cumsum([0, *lengths])[:-1][np.array(lengths) > 0]] = True
    tags = {"true": list(chain.from_iterable(true)), "predicted": list(chain.from_iterable(predicted))}
    known = {tag: number for number, tag in enumerate(dict.fromkeys(chain.from_iterable(tags.values())))}
    numbers, chunks = [], []
    for name, flat in tags.items():
        numbers.append(np.array([known[tag] for tag in flat]))
        chunks.append(_chunks(numbers[-1], first, *_kinds_and_types(name, flat, known)))
    right = int(np.count_nonzero(numbers[0] == numbers[1]))
    correct, of_true, of_predicted = len(np.intersect1d(*chunks)), *map(len, chunks)
    return ChunkScores(
        accuracy=right / sum(lengths),
        precision=correct / of_predicted if of_predicted else 0.0,
        recall=correct / of_true if of_true else 0.0,
        f1=2 * correct / (of_true + of_predicted) if of_true + of_predicted else 0.0,
        correct=correct,
        predicted=of_predicted,
        true=of_true,
    )


def alignment_error_rate(sure: Sequence, possible: Sequence, predicted: Sequence) -> float:
    """Return the alignment error rate 1 - (|A & S| + |A & P|) / (|A| + |S|) of predicted links A (Och and Ney 2000).

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
    _check_lengths("predicted", [len(labels) for labels in predicted], [len(of_one) for of_one in sizes])
    right, overlaps = 0, []
    for size, figure, labels in zip(sizes, inside, predicted, strict=True):
        size, figure, chosen = np.asarray(size), np.asarray(figure), np.asarray(labels) == 1
        both, either = int(figure[chosen].sum()), int(figure.sum() + (size - figure)[chosen].sum())
        right += int(size.sum()) - either + both
        overlaps.append(both / either if either else 1.0)
    return SegmentationScores(right / int(sum(np.sum(size) for size in sizes)), float(np.mean(overlaps)))


def _kinds_and_types(name: str, tags: Iterable[str], known: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return by number of the tag whether it continues and whether it ends a chunk, and the number of its type, -1 for ``O``."""
    inside, last = np.zeros((2, len(known)), dtype=bool)
    types = np.full(len(known), -1)
    numbers: dict[str, int] = {}
    for tag, number in known.items():
        kind, _, of_type = str(tag).partition("-")
        if kind in ("B", "I", "E", "S") and of_type:
            inside[number], last[number] = kind in "IE", kind in "ES"
            types[number] = numbers.setdefault(of_type, len(numbers))
        elif tag != "O" and tag in tags:
            raise ParameterError(f"{name} tags must be O, B-TYPE, I-TYPE, E-TYPE or S-TYPE, got {tag!r}")
    return inside, last, types


def _chunks(numbers: np.ndarray, first: np.ndarray, inside: np.ndarray, last: np.ndarray, types: np.ndarray) -> np.ndarray:
    """Return one integer per chunk, for its start, end and type; ``first`` marks starts of sentences."""
    of_type = types[numbers]
    goes_on = inside[numbers] & ~first & ~np.roll(last[numbers], 1) & (of_type == np.roll(of_type, 1)) & (of_type >= 0)
    start = np.flatnonzero((of_type >= 0) & ~goes_on)
    end = np.flatnonzero((of_type >= 0) & ~np.roll(goes_on, -1))
    return (start * len(numbers) + end) * len(types) + of_type[start]


def _check_lengths(name: str, lengths: list[int], expected: list[int]) -> None:
    if len(lengths) != len(expected):
        raise ParameterError(f"{name} must hold {len(expected)} sequences, got {len(lengths)}")
    for i, (length, right) in enumerate(zip(lengths, expected, strict=True)):
        if length != right:
            raise ParameterError(f"{name}[{i}] must have length {right}, got {length}")


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

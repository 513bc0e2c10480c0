import json
import random
from pathlib import Path

import numpy as np
import pytest

import fwexp
from fwexp.data.metrics import (
    alignment_error_rate,
    chunk_f1,
    chunk_scores,
    class_iou,
    entity_report,
    label_confusion,
    least_sure,
    pose_scores,
    segmentation_scores,
    token_accuracy,
)
from fwexp.errors import ParameterError


@pytest.mark.parametrize(
    ("true", "predicted", "counts"),
    [
        ("B-NP B-NP", "I-NP B-NP", (2, 2, 2)),
        ("S-NP S-NP", "S-NP S-NP", (2, 2, 2)),  # of one token each
        ("B-NP I-NP E-NP", "B-NP I-NP I-NP", (1, 1, 1)),
        ("S-NP B-NP E-NP", "B-NP I-NP E-NP", (0, 1, 2)),
        ("B-NP E-NP S-NP", "B-NP E-NP I-NP", (2, 2, 2)),  # I- after the end of a chunk begins another one
        ("B-NP-X I-NP-X", "B-NP I-NP-X", (0, 2, 1)),  # a type is all that follows the first hyphen
    ],
)
def test_counts(true, predicted, counts):
    scores = chunk_scores([true.split()], [predicted.split()])
    assert (scores.correct, scores.predicted, scores.true) == counts


@pytest.mark.parametrize("tag", ["NP", "B", "I-", "o", "", "E-", "L-NP", "O-NP"])
def test_other_tags_are_refused(tag):
    with pytest.raises(ParameterError, match=f"^true tags must be O, B-TYPE, I-TYPE, E-TYPE or S-TYPE, got '{tag}'$"):
        chunk_f1([["O", tag]], [["O", "O"]])
    with pytest.raises(ParameterError, match=f"^predicted tags must be O, B-TYPE, I-TYPE, E-TYPE or S-TYPE, got '{tag}'$"):
        chunk_f1([["O", "O"]], [["O", tag]])


LETTERS = {None: "BIES", "IOB1": "BI", "BIO": "BI", "BIOES": "BIES", "BILOU": "BILU"}


def drawn_tags(seed):
    """Return a scheme, and tags of some sentences that need not keep to it: true ones, and others that are mostly equal."""
    rng = random.Random(seed)
    scheme = [*LETTERS][seed % 5]
    tags = ["O"] + [f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in ("PER", "LOC", "X-Y")[: rng.randint(1, 3)]]
    true = [[rng.choice(tags) for _ in range(rng.randint(1, 12))] for _ in range(rng.randint(1, 8))]
    return scheme, true, [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in sentence] for sentence in true]


def test_reports_of_entities_equal_those_of_seqeval():
    """The numbers are those of ``classification_report`` of seqeval 1.2.2, in the strict mode if there is a scheme.

    Its averages over no kinds are 0 here, not NaN.
    """
    expected = json.loads((Path(__file__).parent / "seqeval.json").read_text())
    assert len(expected) == 200
    for seed, rows in enumerate(expected):
        scheme, true, predicted = drawn_tags(seed)
        found = entity_report(true, predicted, scheme)
        if scheme is None:  # as conlleval
            scores = chunk_scores(true, predicted)
            assert found.loc["micro avg"].tolist() == pytest.approx([scores.precision, scores.recall, scores.f1, scores.true])
            equal = [a == b for both in zip(true, predicted) for a, b in zip(*both)]
            assert scores.accuracy == pytest.approx(np.mean(equal))
        assert found.index.tolist() == [*rows]
        np.testing.assert_allclose(found.to_numpy(), [*rows.values()], atol=6e-5)


def test_reports_know_names_of_schemes_and_words():
    true, found = [["B", "M", "E", "S", "B", "E"]], [["B", "M", "E", "B", "E", "S"]]
    report = entity_report(true, found, "BMES")
    assert report.loc["_"].tolist() == report.loc["micro avg"].tolist() == [1 / 3, 1 / 3, 1 / 3, 3]
    tags = [["B-X", "E-X", "I-X"]]
    assert entity_report(tags, tags, "IOBES").loc["X", "support"] == 1
    assert entity_report([["I-X", "B-X"]], [["I-X", "B-X"]], "IOB2").loc["X", "support"] == 1


def test_confusion_counts_labels():
    counts = label_confusion([["a", "b"], np.array(["b"])], [["a", "c"], ["b"]])
    assert counts.loc["b"].tolist() == [0, 1, 1]
    assert counts.to_numpy().sum() == 3
    assert label_confusion([[0, None]], [[None, None]]).loc[0].tolist() == [0, 1]


def test_iou_of_classes_is_over_all_images():
    true, found = [np.array([[0, 1], [2, 9]]), np.array([[1]])], [np.array([[0, 2], [2, 2]]), np.array([[1]])]
    report = class_iou(true, found, ignore_label=9)
    assert report["iou"].tolist() == pytest.approx([1.0, 0.5, 0.5, 2 / 3])
    assert report["support"].tolist() == [1, 2, 1, 4]
    assert class_iou(true, found).loc[9, "iou"] == 0.0
    assert class_iou([[0, 0]], [[0, 5]]).loc[5].tolist() == [0.0, 0]


def test_least_sure_positions_have_the_smallest_margins():
    found = least_sure([[[0.5, 0.2, 0.3]], np.zeros((0, 3)), [[0.4, 0.45, 0.15], [0.0, 0.0, 1.0]]], ["a", "b", "c"], n=2)
    assert found.iloc[0].tolist()[:4] == [2, 0, "b", "a"]
    assert found.iloc[1].tolist()[:4] == [0, 0, "a", "c"]
    assert found["margin"].tolist() == pytest.approx([0.05, 0.2])
    assert len(least_sure([], ["a"])) == 0


def test_token_accuracy():
    problem = fwexp.chain_problem([np.eye(3), np.eye(3)[:1]], [[0, -1, 1], [1]], num_states=2)
    assert token_accuracy(problem, [[0, 0, 1], [1]]) == 3 / 4  # the mean of 2/3 and 1 is another thing
    assert token_accuracy(problem, [np.array([1, 1, 0]), np.array([0])]) == 0
    assert token_accuracy(problem, fwexp.predict(problem, np.zeros(problem.d))) in (1 / 4, 2 / 4)


SEQUENCES = fwexp.chain_problem([np.eye(3), np.eye(3)[:1]], [[0, 1, 1], [1]])
LINKS = [[(0, 0)]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: entity_report([["O"]], [["O"]], "IOE2"),
            "scheme must be None, BIO, IOB2, IOB1, BIOES, IOBES, BILOU, BMES, got 'IOE2'",
        ),
        (lambda: entity_report([["O"]], [["E-X"]], "BIO"), "y_pred tags must be O, B-TYPE or I-TYPE with scheme='BIO', got 'E-X'"),
        (lambda: label_confusion([["a"]], [["a", "b"]]), "y_pred[0] must have length 1, got 2"),
        (lambda: chunk_f1([["O"]], []), "predicted must hold 1 sequences, got 0"),
        (lambda: chunk_f1([["O"], ["O"]], [["O"], ["O", "O"]]), "predicted[1] must have length 1, got 2"),
        (lambda: chunk_f1([[]], [[]]), "true must hold at least one tag, got none"),
        (lambda: token_accuracy(SEQUENCES, [[0, 1]]), "predictions must hold 2 sequences, got 1"),
        (lambda: token_accuracy(SEQUENCES, [[0, 1], [1]]), "predictions[0] must have length 3, got 2"),
        (
            lambda: token_accuracy(fwexp.multiclass_problem(np.eye(2), [0, 1]), [0, 1]),
            "problem must be made of sequences, got",
        ),
        (lambda: alignment_error_rate(LINKS, [], [[]]), "possible must hold links of 1 sentence pairs, got 0"),
        (lambda: alignment_error_rate(LINKS, [[]], [[], []]), "predicted must hold links of 1 sentence pairs, got 2"),
        (lambda: alignment_error_rate([[]], [[]], [[]]), "sure must hold at least one link, got none"),
        (lambda: segmentation_scores([[3]], [[0]], []), "predicted must hold 1 sequences, got 0"),
        (lambda: pose_scores(np.zeros((1, 14, 2)), []), "predictions must hold 1 poses, got 0"),
    ],
)
def test_what_is_no_prediction_is_named(call, message):
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value).startswith(message)

"""What taggers are used for: schemes of tags, positions without labels, and weights of positions."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV
from fwexp.estimators.certified_fit import positions_per_example
from fwexp.estimators.json_values import as_array_of
from fwexp.estimators.tag_schemes import converted, forbidden_pairs

# Pairs (from>to) of tags; nothing is the start or the end.
LEGAL = {
    "BIO": "B-X>I-X I-X>I-X O>B-X I-X>B-Y B-X>O >B-X >O B-X>",
    "BIOES": "B-X>I-X B-X>E-X I-X>E-X E-X>O S-X>B-Y >S-X E-X> O>O",
    "BILOU": "B-X>I-X B-X>L-X I-X>L-X L-X>O U-X>B-Y >U-X L-X> O>O",
    "BMES": "B>M B>E M>E E>B E>S S>B >S E> S> >B",
}
ILLEGAL = {
    "BIO": "O>I-X B-Y>I-X I-Y>I-X >I-X",
    "BIOES": "O>I-X B-X>O B-X>B-X B-Y>E-X E-X>I-X >E-X I-X> B-X>",
    "BILOU": "O>I-X B-X>O B-X>B-X B-Y>L-X L-X>I-X >L-X I-X> B-X>",
    "BMES": "B>S B>B M>B M>S E>M E>E S>E S>M >M >E B> M>",
}


@pytest.mark.parametrize("scheme", LEGAL)
def test_schemes_forbid_what_breaks_a_chunk(scheme):
    places = scheme.replace("O", "")
    classes = np.array([*places] if scheme == "BMES" else ["O", *(f"{place}-{kind}" for kind in "XY" for place in places)])
    numbers = {"": None} | {label: k for k, label in enumerate(classes.tolist())}
    legal, illegal = ({tuple(numbers[tag] for tag in pair.split(">")) for pair in of[scheme].split()} for of in (LEGAL, ILLEGAL))
    forbidden = {*forbidden_pairs(scheme, classes)}
    assert not forbidden & legal
    assert forbidden >= illegal
    assert {*forbidden_pairs({"BIO": "IOB2", "BIOES": "IOBES"}.get(scheme, scheme), classes)} == forbidden


def test_layers_have_schemes_of_their_own():
    classes = [(a, b) for a in ("O", "B-X", "I-X") for b in ("S", "B", "E")] + [("O", "O")]
    forbidden = {*forbidden_pairs(("BIO", "BMES"), as_array_of(classes))}
    of_layers = [{*forbidden_pairs(scheme, np.array(tags))} for scheme, tags in zip(("BIO", "BMES"), map(list, zip(*classes)))]
    assert forbidden == of_layers[0] | of_layers[1]
    assert {*forbidden_pairs((None, [("B", "B")]), as_array_of(classes))} == {(j, k) for j in (1, 4, 7) for k in (1, 4, 7)}


def test_pairs_of_labels_are_transitions_of_second_order():
    classes = [(None, "B"), (None, "I"), ("B", "I"), ("I", "B"), ("I", "I")]
    legal = {(j, k) for j in [None, *range(5)] for k in [None, *range(5)] if (j, k) != (None, None)}
    legal -= {*forbidden_pairs(("previous", "BIO"), as_array_of(classes))}
    ends = {(None, 0), *((k, None) for k in range(5))}
    assert legal == ends | {(0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 2), (4, 3), (4, 4)}


def test_tags_of_iob1_are_learned_as_bio():
    X = [["the", "a", "b", "b", "c", "a"], ["a", "the"]]
    iob1 = [["O", "I-X", "I-X", "B-X", "I-Y", "I-X"], ["I-X", "O"]]
    bio = [["O", "B-X", "I-X", "B-X", "B-Y", "B-X"], ["B-X", "O"]]
    assert converted("IOB1", iob1) == converted("IOB1", bio) == bio
    tagger, other = (ChainSVM(lam=0.01, constraints=scheme).fit(X, y) for scheme, y in (("IOB1", iob1), ("BIO", bio)))
    np.testing.assert_array_equal(tagger.result_.w, other.result_.w)
    assert tagger.predict(X) == bio
    assert tagger.score(X, iob1) == tagger.score(X, bio) == 1.0
    np.testing.assert_array_equal(tagger.to_problem(X, iob1).labels, other.to_problem(X, bio).labels)
    assert converted("IOB1", [["I-X", None, "I-X", {"O", "B-X"}, "I-X"]]) == [["B-X", None, "I-X", {"O", "B-X"}, "I-X"]]
    assert converted(("IOB1", None), [[("I-X", "I-X"), None, ("O", "I-X")]]) == [[("B-X", "I-X"), None, ("O", "I-X")]]


def illegal(y):
    return sum(b.startswith("I-") and (a is None or a[2:] != b[2:]) for a, b in pairwise([None, *y]))


@pytest.fixture(scope="module")
def chunks():
    """Sentences whose features say little about the places of tags."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(20):
        tags = []
        while len(tags) < 6:
            kind, length = rng.choice(["X", "Y", ""]), rng.integers(1, 4)
            tags += [f"{'I' if j else 'B'}-{kind}" for j in range(length)] if kind else ["O"]
        y.append(tags[:6])
        X.append([[f"w{tag[-1] if rng.random() < 0.7 else rng.choice([*'XYO'])}"] for tag in y[-1]])
    return X, y


def test_forbidden_tags_are_never_predicted(chunks):
    X, y = chunks
    rng = np.random.default_rng(1)
    free, tied = ChainSVM(lam=0.01).fit(X[:10], y[:10]), ChainSVM(lam=0.01, constraints="BIO").fit(X[:10], y[:10])
    for tagger in (free, tied):  # drawn weights: what is learned here might be legal anyway
        tagger.result_ = replace(tagger.result_, w=rng.normal(size=tagger.result_.w.shape))
    assert sum(map(illegal, free.predict(X))) > 0
    assert sum(map(illegal, tied.predict(X))) == 0
    assert all(illegal(labels) == 0 for several in tied.predict(X, n_best=5) for labels, _ in several)
    margins = tied.decision_function(X[:1])[0]
    assert [tied.classes_[k] for k in margins.argmax(axis=1)] == tied.predict(X[:1])[0]
    assert np.isneginf(margins[0, [k for k, label in enumerate(tied.classes_) if label[0] == "I"]]).all()


def test_training_excludes_forbidden_labels(chunks):
    X, y = chunks
    tagger = ChainSVM(lam=0.01, constraints="BIO", iterate="best").fit(X[:6], y[:6])
    problem, labels = tagger.to_problem(X[:6], y[:6]), tagger.classes_.tolist()
    for i in range(6):
        found, value = fwexp.max_oracle(problem, i, tagger.result_.w)
        assert illegal([labels[k] for k in found]) == 0
        truth = fwexp.joint_feature(problem, i, [labels.index(tag) for tag in y[i]]) @ tagger.result_.w
        every = [z for z in product(range(len(labels)), repeat=3) if illegal([labels[k] for k in z]) == 0]
        assert len(every) < len(labels) ** 3
        own = fwexp.joint_feature(problem, i, found) @ tagger.result_.w
        assert value == pytest.approx((fwexp.loss(problem, i, found) + own - truth)[0], abs=1e-9)


def test_pairs_of_labels_are_forbidden_with_start_and_end(chunks):
    X, _ = chunks
    y = [["a", "b"] * 3 for _ in X]
    tagger = ChainSVM(lam=0.1, constraints=[("b", "b"), (None, "b"), ("a", None)]).fit(X, y)
    tagger.result_ = replace(tagger.result_, w=np.random.default_rng(0).normal(size=tagger.result_.w.shape))
    for labels in tagger.predict(X):
        assert (labels[0], labels[-1]) == ("a", "b")
        assert ("b", "b") not in pairwise(labels)
    with pytest.raises(ParameterError, match=r"X\[1\] must have labels that constraints and partial allow, got a sequence of 1"):
        tagger.predict([X[0], X[0][:1]])
    with pytest.raises(ParameterError, match=r"X\[0\] must have labels that constraints and partial allow"):
        tagger.predict(X[:1], partial=[["b", *[None] * 5]], n_best=2)


def test_forbidden_labels_are_named_as_in_y():
    X, y = [["u", "v", "w", "v"]] * 12, [["B-X", "I-X", "O", "O"]] * 11 + [["B-X", "O", None, "I-X"]]
    ChainSVM(constraints="BIO", ignore_label="O", max_passes=1, tol=1.0).fit(X, y)
    y[-1] = [None, "B-X", "O", "I-X"]
    with pytest.raises(ParameterError, match=r"^y\[11\]\[3\] must be allowed .*, got 'I-X' in O I-X; constraints="):
        ChainSVM(constraints="BIO", ignore_label=-1, early_stopping=True, random_state=1).fit(X, y)


def test_positions_without_labels_have_no_loss_and_no_influence(chunks):
    X, y = chunks
    rng = np.random.default_rng(2)
    masked = [[-100 if rng.random() < 0.3 else label for label in labels] for labels in y]
    masked[3] = [-100] * 6
    tagger = ChainSVM(lam=0.05, ignore_label=-100).fit(X, masked)
    assert set(tagger.classes_) == {label for labels in masked for label in labels} - {-100}
    noise = [[f if label != -100 else ["noise"] for f, label in zip(x, labels)] for x, labels in zip(X, masked)]
    other = ChainSVM(lam=0.05, ignore_label=-100).fit(noise, masked)
    assert other.result_.primal == pytest.approx(tagger.result_.primal, abs=2e-2)
    problem = tagger.to_problem(X, masked)
    assert len(problem.labels) == sum(label != -100 for labels in masked for label in labels)
    found = tagger.predict(X)
    pairs = [(a, b) for labels, of in zip(masked, found) for a, b in zip(labels, of) if a != -100]
    assert tagger.score(X, masked) == pytest.approx(np.mean([a == b for a, b in pairs]))
    assert ChainSVM(lam=0.05, ignore_label=-100).fit(X, y).result_.primal == ChainSVM(lam=0.05).fit(X, y).result_.primal
    weighted = ChainSVM(lam=0.05, ignore_label=-100).fit(X, masked, sample_weight=np.arange(20.0))
    assert weighted.dual_gap_ <= 0.01
    chosen = ChainSVMCV(lams=[0.1, 1.0], cv=2, ignore_label=-100, constraints=None).fit(X[4:], masked[4:])
    assert 0.0 < chosen.best_score_ <= 1.0


def test_errors_cost_more_at_positions_that_weigh_more(chunks):
    X, y = chunks
    rng = np.random.default_rng(3)
    weights = [rng.random(6) * 2 for _ in X]
    tagger = ChainSVM(lam=0.05, iterate="best").fit(X, y, sample_weight=weights)
    assert tagger.dual_gap_ <= 0.01
    N, w = sum(map(len, y)), tagger.result_.w
    problem, total = tagger.to_problem(X, y), 0.0
    for i, (labels, of_one) in enumerate(zip(y, weights)):
        K = len(tagger.classes_)
        chain = fwexp.chain_problem(
            [tagger.vectorizer_.transform([X[i]])[0]],
            [[tagger.classes_.tolist().index(label) for label in labels]],
            K,
            loss="errors",
            position_weight=[of_one],
        )
        total += fwexp.max_oracle(chain, 0, w)[1]
    assert problem.n == 20
    assert tagger.result_.primal == pytest.approx(0.025 * w @ w + total / N, abs=1e-9)
    np.testing.assert_array_equal(
        ChainSVM(lam=0.05).fit(X, y, sample_weight=[np.ones(6) for _ in X]).result_.w, ChainSVM(lam=0.05).fit(X, y).result_.w
    )
    assert ChainSVMCV(lams=[0.1, 1.0], cv=2).fit(X, y, sample_weight=weights).lam_ in (0.1, 1.0)


@pytest.mark.parametrize("of_positions", [False, True])
def test_weights_count_in_problems_and_scores_as_in_training(chunks, of_positions):
    X, y = chunks
    rng = np.random.default_rng(4)
    masked = [[-100 if rng.random() < 0.3 else label for label in labels] for labels in y]
    weights = [rng.random(6) for _ in X] if of_positions else rng.random(20)
    tagger = ChainSVM(lam=0.1, ignore_label=-100, tol=0.05, max_passes=500).fit(X, masked, sample_weight=weights)
    problem, result = tagger.to_problem(X, masked, weights), tagger.result_
    value = fwexp.evaluate(problem, result.w)
    assert result.primal == pytest.approx(0.05 * value.norm_sq + value.hinge / positions_per_example(problem))
    right = [a == b for pair in zip(masked, tagger.predict(X)) for a, b in zip(*pair)]
    counted = np.array([label != -100 for labels in masked for label in labels])
    counted = counted * (np.concatenate(weights) if of_positions else np.repeat(weights, 6))
    assert tagger.score(X, masked, sample_weight=weights) == pytest.approx(np.average(right, weights=counted))

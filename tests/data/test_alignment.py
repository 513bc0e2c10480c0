"""Counting, aligning and describing words: by hand, and against all alignments written out."""

import itertools
import os
import stat

import numpy as np
import pytest

from fwexp.data.alignment import bitext, edge_features, eflomal, hmm
from fwexp.errors import DataError
from tests.data.synthetic_pairs import synthetic_pairs

# --- counting and aligning ---------------------------------------------------------------------------------------------

TEXT = [(("a", "b"), ("x", "y")), (("a", "a"), ("x",)), (("b",), ("y", "x", "y"))]


def test_dice_by_hand():
    lexicon, text = bitext.number(TEXT)
    coefficients = bitext.dice(lexicon, text)
    found = {
        (e, f): coefficients[np.searchsorted(lexicon.codes, i * len(lexicon.f_words) + j)]
        for e, i in lexicon.e_words.items()
        for f, j in lexicon.f_words.items()
    }
    # a is in two pairs, b in two, x in three, y in two
    assert found == {("a", "x"): 4 / 5, ("a", "y"): 2 / 4, ("b", "x"): 4 / 5, ("b", "y"): 4 / 4}


def test_unknown_words_and_pairs():
    lexicon, text = bitext.number([(("a",), ("x",)), (("b",), ("y",))])
    assert text.cells.tolist() == [0, 1]
    assert bitext.look_up(lexicon, [(("a", "new"), ("y", "x", "neuf"))]).cells.tolist() == [-1, 0, -1, -1, -1, -1]
    np.testing.assert_array_equal(bitext.look_up(lexicon, [(("a",), ("x",)), (("b",), ("y",))]).cells, text.cells)


def random_model(rng, lexicon, reverse):
    return hmm.Model(
        lexical=rng.random(len(lexicon.codes)),
        null=rng.random(len(lexicon.e_words if reverse else lexicon.f_words)),
        jumps=rng.random(2 * hmm.WIDEST + 3),
    )


def all_alignments(model, lexicon, text, s, reverse):
    """Yield (probability, source position or -1 of every target word, jumps) of all alignments, from the definition."""
    e = text.e[text.e_ptr[s] : text.e_ptr[s + 1]]
    f = text.f[text.f_ptr[s] : text.f_ptr[s + 1]]
    cells = text.cells[text.cell_ptr[s] : text.cell_ptr[s + 1]].reshape(len(e), len(f))
    table = model.lexical[cells if reverse else cells.T]  # [target, source]
    null = model.null[e if reverse else f]
    size = table.shape[1]
    wide = hmm.WIDEST + 1

    def weight(before, i):
        return model.jumps[np.clip(i - before, -wide, wide) + wide] + 1e-9

    for alignment in itertools.product(range(-1, size), repeat=len(null)):
        probability, before, jumps = 1.0, -1, []
        for t, i in enumerate(alignment):
            if i < 0:
                probability *= hmm.P_NULL * null[t]
            else:
                move = weight(before, i) / sum(weight(before, other) for other in range(size))
                probability *= (1 - hmm.P_NULL) * move * table[t, i]
                jumps.append(int(np.clip(i - before, -wide, wide)) + wide)
                before = i
        yield probability, alignment, jumps


@pytest.mark.parametrize("reverse", [False, True])
def test_hmm_against_all_alignments(reverse):
    rng = np.random.default_rng(4)
    lexicon, text = bitext.number(TEXT)
    model = random_model(rng, lexicon, reverse)
    counts = hmm.Model(*map(np.zeros_like, model))
    hmm._count_hmm(bitext.swapped(text) if reverse else text, model, counts, 3, hmm.P_NULL, hmm.WIDEST, hmm.FLOOR)
    wanted = hmm.Model(*map(np.zeros_like, model))
    best = []
    for s in range(len(TEXT)):
        every = list(all_alignments(model, lexicon, text, s, reverse))
        total = sum(probability for probability, _, _ in every)
        num_f = len(TEXT[s][1])
        for probability, alignment, jumps in every:
            for t, i in enumerate(alignment):
                if i < 0:
                    wanted.null[(text.e[text.e_ptr[s] :] if reverse else text.f[text.f_ptr[s] :])[t]] += probability / total
                else:
                    cell = text.cells[text.cell_ptr[s] + (t * num_f + i if reverse else i * num_f + t)]
                    wanted.lexical[cell] += probability / total
            for jump in jumps:
                wanted.jumps[jump] += probability / total
        _, alignment, _ = max(every)
        best.append([(t, i) if reverse else (i, t) for t, i in enumerate(alignment) if i >= 0])
    for found, expected in zip(counts, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert [[tuple(link) for link in links.tolist()] for links in hmm.best_links(model, text, reverse)] == best


def test_model_1_by_hand():
    # one iteration from equal probabilities: every source word, and nothing, gets an equal share of each target word
    lexicon, text = bitext.number([(("a", "b"), ("x",)), (("a",), ("x", "y"))])
    start = hmm.Model(np.full(3, 0.5), np.full(2, 0.5), np.ones(2 * hmm.WIDEST + 3))
    counts = hmm.Model(*map(np.zeros_like, start))
    hmm._count_model_1(text, start, counts)
    pairs = dict(zip(zip(lexicon.e_of.tolist(), lexicon.f_of.tolist(), strict=True), counts.lexical, strict=True))
    a, b, x, y = lexicon.e_words["a"], lexicon.e_words["b"], lexicon.f_words["x"], lexicon.f_words["y"]
    assert pairs == pytest.approx({(a, x): 1 / 3 + 1 / 2, (b, x): 1 / 3, (a, y): 1 / 2})
    assert counts.null == pytest.approx([1 / 3 + 1 / 2, 1 / 2])


def test_aligner_learns_translations_and_unknown_words_do_no_harm():
    pairs = [tuple(map(tuple, pair)) for pair in synthetic_pairs(60, 2)]
    lexicon, text = bitext.number(pairs)
    news = [(("the", "new", "dog", "."), ("le", "neuf", "chien", "."))]
    news = bitext.look_up(lexicon, news)
    first, second = (hmm.best_links(hmm.fit(lexicon, text, reverse), news, reverse) for reverse in (False, True))
    links = hmm.intersect(first[0], second[0]).tolist()
    assert [0, 0] in links
    assert [2, 2] in links
    assert [3, 3] in links
    for reverse in (False, True):
        model = hmm.fit(lexicon, text, reverse)
        np.testing.assert_allclose(np.bincount(lexicon.f_of if reverse else lexicon.e_of, model.lexical), 1.0, rtol=1e-12)
        assert model.null.sum() == pytest.approx(1.0)


def test_an_intersection_is_a_matching():
    f_once, e_once = np.array([(0, 0), (0, 1), (1, 2)]), np.array([(0, 1), (1, 2), (2, 2)])
    assert hmm.intersect(f_once, e_once).tolist() == [[0, 1], [1, 2]]
    assert hmm.intersect(f_once, np.zeros((0, 2), dtype=int)).shape == (0, 2)


# --- features ----------------------------------------------------------------------------------------------------------


def attributes_of(pair, train=TEXT):
    """{attribute: grid of values} of one sentence pair."""
    lexicon, text = bitext.number(train)
    table = edge_features.attributes(edge_features.count(lexicon, text), [pair], bitext.look_up(lexicon, [pair]))
    return {name: table[:, k].reshape(len(pair[0]), len(pair[1])) for k, name in enumerate(edge_features.SIZES)}


def test_values_are_within_their_sizes():
    rng = np.random.default_rng(0)
    words = ["a", "b", "x", "y", ".", ",", "12", "1", "minister", "ministre", "économie", "economy", "the", "é"]
    pairs = [tuple(tuple(rng.choice(words, size=rng.integers(1, 20)).tolist()) for _ in range(2)) for _ in range(40)]
    lexicon, text = bitext.number(pairs[:30])
    table = edge_features.attributes(edge_features.count(lexicon, text), pairs, bitext.look_up(lexicon, pairs))
    assert (table <= list(edge_features.SIZES.values())).all()
    assert (table[:, 0] == 1).all()
    assert 60 <= sum(edge_features.SIZES.values()) <= 100


def test_strings():
    grid = attributes_of((("minister", "economy", "the", "12"), ("ministre", "économie", "the", "12")))
    assert grid["prefix"].diagonal().tolist() == [3, 3, 0, 0]  # minist-, econom-
    assert grid["equal"].diagonal().tolist() == [0, 0, 1, 1]
    assert grid["subsequence"].diagonal().tolist() == [4, 3, 0, 0]  # 7 of 8 letters, 6 of 8
    assert grid["suffix"].tolist() == np.zeros((4, 4)).tolist()
    assert attributes_of((("nation",), ("action",)))["suffix"].tolist() == [[2]]


def test_kinds():
    grid = attributes_of(((".", ",", "12", "a"), (".", "12", "1999", "x")))["kind"]
    assert grid.tolist() == [[1, 6, 6, 3], [2, 6, 6, 3], [6, 4, 5, 6], [3, 6, 6, 0]]


def test_positions_and_neighbours():
    grid = attributes_of((("a", "b", "new"), ("x", "y", "neuf")))
    assert grid["distance"].tolist() == [[1, 2, 3], [2, 1, 2], [3, 2, 1]]
    assert grid["before"][0].tolist() == [5, 1, 1]
    assert grid["before"][1, 1] == 4  # Dice of a and x is 0.8
    assert grid["after"][2].tolist() == [1, 1, 5]
    assert grid["crossed"][1, 1] == 1
    # b goes best with y, and y with b; a and b go equally well with x, which is a's best
    assert grid["best"].tolist() == [[1, 4, 4], [3, 1, 4], [4, 4, 4]]


# --- eflomal -----------------------------------------------------------------------------------------------------------
LENGTHS = [(2, 2), (1, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n1-0\n", "links, line 2: link '1-0' is out of range, the sentences have 1 x 1 words"),
        ("0-0 0:1\n\n", "links, line 1: link is '0:1', expected two positions"),
        ("0-0\n", "links: 1 lines, expected 2, one per sentence pair"),
        ("\n\n\n", "links, line 3: expected 2 lines, one per sentence pair"),
    ],
)
def test_bad_links(tmp_path, text, message):
    path = tmp_path / "links"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        eflomal.read_links(path, LENGTHS)
    assert message in str(caught.value)


def program(folder, script):
    """Put a program called eflomal-align into ``folder``."""
    path = folder / eflomal.PROGRAM
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_eflomal_is_called(tmp_path, monkeypatch):
    # a stand-in that links the first words; its options are --source, --target, --forward-links, --reverse-links
    program(tmp_path, 'sed "s/.*/0-0/" "$2" > "$6"; sed "s/.*//" "$4" > "$8"\n')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    first, second = eflomal.align([(("a", "b"), ("x",)), (("é",), ("y",))])
    assert [links.tolist() for links in first] == [[[0, 0]], [[0, 0]]]
    assert [links.tolist() for links in second] == [[], []]


def test_eflomal_fails(tmp_path, monkeypatch):
    program(tmp_path, "echo no memory >&2; exit 3\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(DataError, match="eflomal-align failed with exit code 3: no memory"):
        eflomal.align([(("a",), ("x",))])

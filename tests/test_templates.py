"""Templates of CRF++, against its documented examples and a literal reading of its rules."""

import copy
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

from fwexp.data import Template
from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV
from fwexp.templates import default_template

# The example in the documentation of CRF++; the current token is "the".
TOKENS = [("He", "PRP"), ("reckons", "VBZ"), ("the", "DT"), ("current", "JJ"), ("account", "NN")]
DOCUMENTED = {
    "%x[0,0]": "the",
    "%x[0,1]": "DT",
    "%x[-1,0]": "reckons",
    "%x[-2,1]": "PRP",
    "%x[0,0]/%x[0,1]": "the/DT",
    "ABC%x[0,1]123": "ABCDT123",
}


@pytest.mark.parametrize("macro", DOCUMENTED)
def test_documented_examples(macro):
    assert Template(f"U01:{macro}")(TOKENS)[2] == (f"U01:{DOCUMENTED[macro]}",)


def literal(text, tokens, t):
    """Return the features of a token, character by character as CRF++ substitutes macros."""
    found = []
    for line in text.splitlines():
        if not line.startswith("U"):
            continue
        feature, k = "", 0
        while k < len(line):
            if line.startswith("%x[", k):
                end = line.index("]", k)
                row, column = map(int, line[k + 3 : end].split(","))
                place = t + row
                if place < 0:
                    feature += f"_B{place}"
                elif place >= len(tokens):
                    feature += f"_B+{place - len(tokens) + 1}"
                else:
                    feature += tokens[place][column]
                k = end + 1
            else:
                feature += line[k]
                k += 1
        found.append(feature)
    return tuple(found)


def test_rules_of_transitions_are_expanded_alike():
    template = Template("U00:%x[0,0]\nB\nB01:%x[-1,1]/%x[0,0]\n")
    assert list(template(TOKENS))[:2] == [("U00:He",), ("U00:reckons",)]
    assert list(template.transitions(TOKENS))[:2] == [("B01:_B-1/He",), ("B01:PRP/reckons",)]
    assert (template.width, Template("U00:%x[0,0]\nB\n").transitions) == (2, None)
    assert list(pickle.loads(pickle.dumps(template)).transitions(TOKENS)) == list(template.transitions(TOKENS))


def test_expansion_is_the_literal_one():
    rng = np.random.default_rng(0)
    words = ["a", "the", "%x[0,0]", "%", "%s", "/", "", "ü", "a=b", "_B-1"]
    for _ in range(200):
        size, width = rng.integers(1, 8), rng.integers(1, 4)
        tokens = [tuple(rng.choice(words, width).tolist()) for _ in range(size)]
        lines = ["# a comment %x[9,9]", "", "B", "U", "Uconstant"]
        for number in range(rng.integers(1, 6)):
            macros = [f"%x[{rng.integers(-9, 10)},{rng.integers(width)}]" for _ in range(rng.integers(1, 4))]
            lines.append(f"U{number:02}:" + rng.choice(["/", "", "|x "]).join(macros))
        rng.shuffle(lines)
        text = "\n".join(lines)
        features = Template(text)(tokens)
        expected = [literal(text, tokens, t) for t in range(size)]
        assert list(features) == expected
        assert (len(features), features[-1], repr(features)) == (size, expected[-1], repr(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "template must have a line such as U00:%x[0,0], got none"),
        ("# U\n\nB\n", "template must have a line such as"),
        ("U00:%x[0,0]\nX01:%x[0,0]", "template line 2 must be U or B and macros such as %x[-1,0], got 'X01:%x[0,0]'"),
        (" U00:%x[0,0]", "template line 1 must be U or B"),
        ("U00:%x[0]", "template line 1 must be U or B and macros"),
        ("U00:%x[0,-1]", "template line 1 must be U or B and macros"),
        ("U00:%x[+1,0]", "template line 1 must be U or B and macros"),
        ("U00:%y[0,0]", "template line 1 must be U or B and macros"),
        ("U00:100%", "template line 1 must be U or B and macros"),
        (None, "template must be a text, got None"),
    ],
)
def test_templates_that_are_wrong(text, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Template(text)


def test_tokens_have_the_columns_of_the_template():
    template = Template("U:%x[1,2]")
    assert template.width == 3
    with pytest.raises(ParameterError, match="tokens must have at least 3 columns, as the template uses them, got 1"):
        list(template([("a", "b", "c"), "abc"]))
    assert list(template([])) == []


def test_the_default_is_the_chunking_example_of_crfpp():
    macros = [line.partition(":")[2] for line in default_template(2).text.splitlines()]
    assert macros[:7] == ["%x[-2,0]", "%x[-1,0]", "%x[0,0]", "%x[1,0]", "%x[2,0]", "%x[-1,0]/%x[0,0]", "%x[0,0]/%x[1,0]"]
    assert macros[7:12] == [f"%x[{offset},1]" for offset in (-2, -1, 0, 1, 2)]
    assert macros[12:16] == [f"%x[{offset},1]/%x[{offset + 1},1]" for offset in (-2, -1, 0, 1)]
    assert macros[16:19] == [f"%x[{offset},1]/%x[{offset + 1},1]/%x[{offset + 2},1]" for offset in (-2, -1, 0)]
    assert default_template(2).text.endswith("\nB\n")
    assert len({*default_template(12)([("a",) * 12])[0]}) == 7 + 11 * 12  # no two rules make the same feature


@pytest.mark.parametrize(("kind", "more"), [(ChainSVM, {"lam": 0.1}), (ChainSVMCV, {"lams": [0.1, 0.2], "cv": 2})])
def test_estimators_store_templates(kind, more, tmp_path):
    template = Template("U00:%x[0,0]\nU01:%x[-1,0]\nU01:%x[-1,0]\n")
    X, y = [["a", "b"], ["b", "a", "b"]] * 3, [["x", "y"], ["y", "x", "y"]] * 3
    tagger = kind(features=template, **more).fit(X, y)
    assert set(tagger.feature_names_in_) == {"U00:a", "U00:b", "U01:_B-1", "U01:a", "U01:b"}
    again = kind.load(tagger.save(tmp_path / "tagger.npz"))
    assert again.features == template
    assert again.predict(X) == tagger.predict(X) == y
    assert clone(tagger).features == copy.deepcopy(template) == pickle.loads(pickle.dumps(template)) == template
    assert template != "U"
    assert hash(template) == hash(again.features)
    listed = kind(features=lambda tokens: list(template(tokens)), **more).fit(X, y)
    np.testing.assert_array_equal(listed.result_.w, tagger.result_.w)

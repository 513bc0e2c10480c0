"""Templates of CRF++: features of tokens in columns, from macros such as ``%x[-1,0]``."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from fwexp.errors import ParameterError, shown

MACRO = re.compile(r"%x\[(-?\d+),(\d+)\]")
TEXTBOOK = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
"""Offsets of the features of the first column in the default template, as in the examples of CRF++."""
OTHERS = ((-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
"""Offsets of the features of every other column, whose values are few, such as part-of-speech tags."""


class Template:
    r"""Features of the tokens of a sentence, described in the language of CRF++.

    A template is a function: called with a sentence, it returns the features of every token. Pass it as ``features=`` to an
    estimator of sequences, which then stores it in its file.

    Parameters
    ----------
    text : str
        One rule per line. ``U00:%x[-1,0]`` is the feature "U00:" followed by the first column of the token before;
        ``%x[r,c]`` is column c of the token r positions further on, and a rule may have several of them. A line ``B`` stands
        for the transitions between labels, which the estimators always have. ``B01:%x[0,0]`` is a feature of transitions: it has a
        weight for every pair of the labels before and at a token. Empty lines and lines that begin with ``#`` are comments. Before
        the first token stand ``_B-1``, ``_B-2``, ..., and after the last one ``_B+1``, ``_B+2``, ...

    Attributes
    ----------
    text : str
        The text.
    width : int
        Number of columns that tokens must at least have.
    transitions : callable or None
        Returns the features of transitions, those of rules ``B`` with macros, of all tokens of a sentence; None without such rules.

    Raises
    ------
    ValueError
        If a line is not a rule of CRF++.

    See Also
    --------
    fwexp.data.read_template : Read a template from a file.

    Examples
    --------
    >>> from fwexp.data import Template
    >>> template = Template("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB\n")
    >>> list(template([("the", "DT"), ("dog", "NN")]))
    [('U00:the', 'U01:_B-1/DT'), ('U00:dog', 'U01:the/NN')]
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ParameterError(f"template must be a text, got {shown(text)}")
        self.text = text
        found = [_Rule(line) for _, line in rules(text)]
        self._rules = [rule for rule in found if not rule.is_of_transitions]
        self._rules_of_transitions = [rule for rule in found if rule.is_of_transitions]
        if not self._rules:
            raise ParameterError("template must have a line such as U00:%x[0,0], got none")
        macros = [macro for rule in found for macro in rule.macros]
        self.width = 1 + max((column for _, column in macros), default=0)
        self._reach = max((abs(offset) for offset, _ in macros), default=0)

    def __call__(self, tokens: Sequence) -> "Features":
        """Return the features of the tokens of a sentence.

        Parameters
        ----------
        tokens : sequence of tuples of str
            The columns of every token; a str is a token of one column.

        Returns
        -------
        sequence of tuples of str
            One tuple per token, in the order of the rules. It is computed when it is read, because features take far more
            memory than tokens.
        """
        return Features(self, tokens, self._rules)

    @property
    def transitions(self) -> "Callable[[Sequence], Features] | None":
        """The function that returns the features of transitions, those of rules ``B`` with macros, or None without such rules."""
        return partial(Features, self, rules=self._rules_of_transitions) if self._rules_of_transitions else None

    def expand(self, tokens: Sequence, rules: "Sequence[_Rule] | None" = None) -> list[tuple[str, ...]]:
        """Return the features of the tokens of a sentence as a list, by default those of the rules ``U``."""
        tokens = [(token,) if isinstance(token, str) else token for token in tokens]
        if tokens and min(map(len, tokens)) < self.width:
            got = min(map(len, tokens))
            raise ParameterError(f"tokens must have at least {self.width} columns, as the template uses them, got {got}")
        before = [f"_B-{k}" for k in range(self._reach, 0, -1)]
        after = [f"_B+{k}" for k in range(1, self._reach + 1)]
        columns = [[*before, *(token[column] for token in tokens), *after] for column in range(self.width)]
        return [*zip(*(rule.expand(columns, self._reach, len(tokens)) for rule in (self._rules if rules is None else rules)))]

    def __eq__(self, other: object) -> bool:
        """Compare the texts."""
        return isinstance(other, Template) and other.text == self.text

    def __hash__(self) -> int:
        """Hash the text."""
        return hash(self.text)

    def __repr__(self) -> str:
        """Show the text, shortened."""
        return f"Template({shown(self.text)})"


class Features(Sequence):
    """The features of a sentence, computed anew whenever they are read."""

    def __init__(self, template: Template, tokens: Sequence, rules: "Sequence[_Rule]") -> None:
        self._template, self._tokens, self._rules = template, tokens, rules

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self._tokens)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield the features of every token."""
        return iter(self._template.expand(self._tokens, self._rules))

    def __getitem__(self, index):
        """Return the features of a token, or of several."""
        return self._template.expand(self._tokens, self._rules)[index]

    def __repr__(self) -> str:
        """Show all features."""
        return repr(self._template.expand(self._tokens, self._rules))


class _Rule:
    """One rule."""

    def __init__(self, text: str) -> None:
        self.is_of_transitions = text.startswith("B")
        self.macros = [(int(offset), int(column)) for offset, column in MACRO.findall(text)]
        self._format = MACRO.sub("%s", text)

    def expand(self, columns: list[list[str]], reach: int, size: int) -> list[str]:
        """Return the feature at every position, of columns that go on for ``reach`` positions on both sides."""
        if not self.macros:
            return [self._format] * size
        parts = [columns[column][reach + offset : reach + offset + size] for offset, column in self.macros]
        return [*map(self._format.__mod__, zip(*parts))]


def rules(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line of a template that is a rule ``U...``, or a rule ``B...`` with a macro."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] not in "UB" or "%" in MACRO.sub("", line):
            raise ParameterError(f"template line {number} must be U or B and macros such as %x[-1,0], got {shown(line)}")
        if line[0] == "U" or MACRO.search(line):
            yield number, line


def default_template(width: int) -> Template:
    """Return the template for tokens of ``width`` columns that is used if none is given: that of CRF++'s chunking example.

    The first column has its values at the token and up to two tokens on either side, and the pairs with the direct
    neighbours. Every other column has in addition all pairs and triples of neighbouring tokens in this window.
    """
    lines = []
    for column in range(width):
        for number, offsets in enumerate(TEXTBOOK if column == 0 else OTHERS):
            macros = "/".join(f"%x[{offset},{column}]" for offset in offsets)
            lines.append(f"U{column}{number:02}:{macros}")
    return Template("\n".join([*lines, "B", ""]))

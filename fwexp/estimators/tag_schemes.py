"""Which tags may follow each other: schemes by name, layers of labels, or pairs of labels that are forbidden."""

import re
from typing import Any, NamedTuple

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.estimators.json_values import as_array_of, names_of
from fwexp.options import is_integer
from fwexp.tag_letters import SCHEMES

Pair = tuple[int | None, int | None]  # numbers of labels (from, to); None is the start or the end

TAG = re.compile(r"(?P<place>[A-Z])(-(?P<kind>.*))?", re.DOTALL)
PREVIOUS = "previous"  # a layer that holds what the next layer has at the position before
ACCEPTED = f"None, {', '.join(SCHEMES)}, a list of pairs of labels or a tuple of these, one per layer"


class Tag(NamedTuple):
    """A tag of a scheme."""

    place: str  # in a chunk: B, I, E or S, or O outside
    kind: str  # of the chunk

    @property
    def is_inside(self) -> bool:
        """True if the tag continues a chunk."""
        return self.place in "IE"

    @property
    def is_open(self) -> bool:
        """True if the chunk may continue after the tag."""
        return self.place in "BI"


def forbidden_pairs(constraints: Any, classes: np.ndarray) -> list[Pair]:
    """Return the pairs (from, to) of numbers of labels that are forbidden; None is the start or the end."""
    labels = names_of(classes)
    if constraints is None:
        return []
    if isinstance(constraints, str):
        tags = tags_of(constraints, labels)
        return _where(tags, lambda one, other: not _may_follow(one, other, "E" in SCHEMES[constraints].values()))
    if is_layered(constraints):
        return _forbidden_in_layers(constraints, labels)
    numbers = {None: None} | {label: k for k, label in enumerate(labels)}
    pairs = []
    for pair in constraints if isinstance(constraints, list | tuple | set | frozenset) else [constraints]:
        known = isinstance(pair, tuple) and len(pair) == 2 and pair != (None, None)
        try:
            pairs.append((numbers[pair[0]], numbers[pair[1]]) if known else ())
        except (KeyError, TypeError):
            known = False
        if not known:
            accepted = "(from, to) of labels in y, None for the start or the end"
            raise ParameterError(f"constraints must be {', '.join(SCHEMES)} or pairs {accepted}, got {shown(pair)}")
    return pairs


def is_layered(constraints: Any) -> bool:
    """Return whether constraints are a tuple of constraints, one per layer of the labels."""
    return isinstance(constraints, tuple) and all(one is None or isinstance(one, str | list) for one in constraints)


def _forbidden_in_layers(layers: tuple, labels: list) -> list[Pair]:
    for label in labels:
        if not (isinstance(label, tuple) and len(label) == len(layers)):
            raise ParameterError(f"labels in y must be tuples of {len(layers)} with constraints={layers!r}, got {shown(label)}")
    pairs: list[Pair] = []
    for k, (constraints, column) in enumerate(zip(layers, zip(*labels))):
        if constraints == PREVIOUS:
            if k + 1 == len(layers):
                raise ParameterError(f'constraints must have a layer after "{PREVIOUS}", got {layers!r}')
            pairs += _where(labels, lambda one, other, k=k: other is not None and other[k] != (one and one[k + 1]))
            continue
        parts = list(dict.fromkeys(column))
        places: dict = {None: [None]}
        for number, part in enumerate(column):
            places.setdefault(parts.index(part), []).append(number)
        found = forbidden_pairs(constraints, as_array_of(parts))
        pairs += [(one, other) for pair in found for one in places[pair[0]] for other in places[pair[1]]]
    return pairs


def _where(items: list, is_forbidden) -> list[Pair]:
    """Return the pairs of numbers of items that are forbidden, given a function of two items; None is the start or the end."""
    numbered = [(None, None), *enumerate(items)]
    return [(j, k) for j, one in numbered for k, other in numbered if (j, k) != (None, None) and is_forbidden(one, other)]


def tags_of(scheme: str, labels: list) -> list[Tag]:
    """Return labels as tags of a scheme."""
    if scheme not in SCHEMES:
        raise ParameterError(f"constraints must be {ACCEPTED}, got {shown(scheme)}")
    letters, tags = SCHEMES[scheme], []
    for label in labels:
        found = TAG.fullmatch(label) if isinstance(label, str) else None
        if label == "O":
            tags.append(Tag("O", ""))
        elif found is not None and found["place"] in letters:
            tags.append(Tag(letters[found["place"]], found["kind"] or ""))
        else:
            forms = ", ".join(f"{place}-X" for place in letters)
            raise ParameterError(f"labels in y must be O or {forms} with constraints={scheme!r}, got {shown(label)}")
    return tags


def tags_in(constraints: Any, labels: list) -> list[Tag]:
    """Return labels as tags of the scheme that constraints name, or of the first one that has them all."""
    for scheme in [constraints] if isinstance(constraints, str) else SCHEMES:
        try:
            return tags_of(scheme, labels)
        except ParameterError:
            continue
    raise ParameterError(f"labels in y must be tags of {', '.join(SCHEMES)}, got {shown(labels)}")


def span_tags(tags: list[Tag], length: int, span: Any) -> np.ndarray:
    """Return which tags positions of a sequence have, bool (length, K), if a span (start, end, kind) is a chunk."""
    known, kinds = isinstance(span, tuple | list) and len(span) == 3, {tag.kind for tag in tags if tag.place != "O"}
    if not (known and all(map(is_integer, span[:2])) and 0 <= span[0] < span[1] <= length and span[2] in kinds):
        accepted = f"(start, end, kind) with 0 <= start < end <= {length} and a kind of {shown(sorted(kinds))}"
        raise ParameterError(f"spans must hold triples {accepted}, got {shown(span)}")
    start, end, kind = span
    has_ends, single = any(tag.place in "ES" for tag in tags), end - start == 1
    allowed = np.ones((length, len(tags)), dtype=np.bool_)
    places = ["S" if has_ends and single else "B", *["I"] * (end - start - 2), *["E" if has_ends else "I"] * (not single)]
    allowed[start:end] = [[tag == (place, kind) for tag in tags] for place in places]
    if not has_ends and end < length:
        allowed[end] = [tag != ("I", kind) for tag in tags]
    return allowed


def _may_follow(one: Tag | None, other: Tag | None, has_ends: bool) -> bool:
    """Return whether a tag may come after another one; None is the start or the end."""
    is_open = one is not None and one.is_open
    if other is not None and other.is_inside:
        return is_open and one.kind == other.kind
    return not (has_ends and is_open)


def converted(constraints: Any, y: list[list]) -> list[list]:
    """Return labels of sequences in BIO where constraints are IOB1, which begins chunks with I unless they follow their like."""
    # Labels in BIO stay as they are. A label after a position without one, or with a set, is taken to continue a chunk.
    if constraints == "IOB1":
        return [_as_bio(labels) for labels in y]
    if is_layered(constraints) and "IOB1" in constraints:
        return [_layers_as_bio(constraints, labels) for labels in y]
    return y


def _as_bio(labels: list) -> list:
    found, before = [], "O"
    for label in labels:
        is_inside = isinstance(label, str) and (label == "I" or label.startswith("I-"))
        starts = is_inside and isinstance(before, str) and before not in (label, f"B{label[1:]}")
        before = f"B{label[1:]}" if starts else label
        found.append(before)
    return found


def _layers_as_bio(layers: tuple, labels: list) -> list:
    found = [[label[k] if isinstance(label, tuple) else label for label in labels] for k in range(len(layers))]
    found = [_as_bio(of_one) if scheme == "IOB1" else of_one for scheme, of_one in zip(layers, found)]
    return [tuple(parts) if isinstance(label, tuple) else label for label, parts in zip(labels, zip(*found))]

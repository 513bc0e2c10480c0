"""Which tags may follow each other: the schemes BIO and BIOES, or pairs of labels that are forbidden."""

import re
from typing import Any

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.estimators.json_values import names_of

Pair = tuple[int | None, int | None]  # numbers of labels (from, to); None is the start or the end

TAG = re.compile(r"(?P<place>[BIES])-(?P<kind>.*)|O", re.DOTALL)
INSIDE = "IE"  # places of tags that continue a chunk
OPEN = "BI"  # places after which something is still open; in BIO it may end there
SCHEMES = {"BIO": "BI", "BIOES": "BIES"}  # the places of tags


def forbidden_pairs(constraints: Any, classes: np.ndarray) -> list[Pair]:
    """Return the pairs (from, to) of numbers of labels that are forbidden; None is the start or the end."""
    labels = names_of(classes)
    if constraints is None:
        return []
    if isinstance(constraints, str):
        if constraints not in SCHEMES:
            raise ParameterError(f"constraints must be None, BIO, BIOES or a list of pairs of labels, got {shown(constraints)}")
        tags = [_parsed(label, constraints) for label in labels]
        ends = [(None, k) for k, tag in enumerate(tags) if not _may_follow(None, tag, constraints)]
        ends += [(k, None) for k, tag in enumerate(tags) if not _may_follow(tag, None, constraints)]
        both = [(j, k) for j, one in enumerate(tags) for k, tag in enumerate(tags) if not _may_follow(one, tag, constraints)]
        return ends + both
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
            raise ParameterError(f"constraints must be BIO, BIOES or pairs {accepted}, got {shown(pair)}")
    return pairs


def _parsed(label, scheme: str) -> tuple[str, str]:
    """Return the place and the kind of a tag, ("O", "") outside."""
    found = TAG.fullmatch(label) if isinstance(label, str) else None
    if found is None or (found["place"] is not None and found["place"] not in SCHEMES[scheme]):
        forms = ", ".join(f"{place}-X" for place in SCHEMES[scheme])
        raise ParameterError(f"labels in y must be O or {forms} with constraints={scheme!r}, got {shown(label)}")
    return found["place"] or "O", found["kind"] or ""


def _may_follow(one: tuple[str, str] | None, other: tuple[str, str] | None, scheme: str) -> bool:
    """Return whether a tag may come after another one; None is the start or the end."""
    is_open = one is not None and one[0] in OPEN
    if other is not None and other[0] in INSIDE:
        return is_open and one[1] == other[1]
    return scheme == "BIO" or not is_open

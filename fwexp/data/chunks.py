"""Chunks of tags: where they start and end, and their kinds."""

from itertools import chain

import numpy as np

from fwexp.errors import ParameterError
from fwexp.tag_letters import BIOES, SCHEMES


def chunks_of(name: str, true, other: str, predicted, scheme: str | None) -> tuple[list, list, list[str]]:
    """Return the tags of both as numbers; their chunks, integers whose remainder is the number of the kind; and the kinds."""
    lengths = [len(tags) for tags in true]
    check_lengths(other, [len(tags) for tags in predicted], lengths)
    if not sum(lengths):
        raise ParameterError(f"{name} must hold at least one tag, got none")
    first = np.zeros(sum(lengths) + 1, dtype=bool)
    first[np.cumsum([0, *lengths])] = True
    flat = [list(chain.from_iterable(tags)) for tags in (true, predicted)]
    known = {tag: number for number, tag in enumerate(dict.fromkeys(chain(*flat)))}
    places, kinds = np.full(len(known), "O"), np.full(len(known), -1)
    numbers: dict[str, int] = {}
    letters = BIOES if scheme is None else SCHEMES[scheme]  # conlleval knows these
    for tag, number in known.items():
        letter, hyphen, kind = str(tag).partition("-")
        if letter in letters and (kind or (scheme and not hyphen)):
            places[number], kinds[number] = letters[letter], numbers.setdefault(kind or "_", len(numbers))
        elif tag != "O":
            forms = ", ".join(f"{letter}-TYPE" for letter in [*letters][:-1])
            which = name if tag in flat[0] else other
            advice = f" with scheme={scheme!r}" if scheme else ""
            raise ParameterError(f"{which} tags must be O, {forms} or {[*letters][-1]}-TYPE{advice}, got {tag!r}")
    tags = [np.array([known[tag] for tag in of_one]) for of_one in flat]
    return tags, [_chunks(places[of_one], kinds[of_one], first, scheme, len(numbers)) for of_one in tags], [*numbers]


def _chunks(places: np.ndarray, kinds: np.ndarray, first: np.ndarray, scheme: str | None, num_kinds: int) -> np.ndarray:
    """Return one integer per chunk, for its start, end and kind; ``first`` marks starts of sentences."""
    same = np.append(False, (kinds[1:] == kinds[:-1]) & (kinds[1:] >= 0)) & ~first[:-1]  # as the tag before
    before = np.append("O", places[:-1])
    goes_on = same & np.isin(places, ["I", "E"]) & np.isin(before, ["B", "I"])
    start, end = np.flatnonzero((kinds >= 0) & ~goes_on), np.flatnonzero((kinds >= 0) & ~np.append(goes_on[1:], False))
    kept = np.ones(len(start), dtype=bool)
    if scheme == "IOB1":  # as seqeval has it: B begins a chunk after one of its kind only, and must not precede B of another kind
        begins = (places[start] == "I") | same[start]
        follows = np.append((places[1:] == "B") & ~same[1:] & ~first[1:-1], False)
        kept = ~(begins & (places[start] == "B") & (start == end) & follows[end])
        start = start + ~begins
        kept &= start <= end
    elif scheme in ("BIO", "IOB2"):
        kept = places[start] == "B"
    elif scheme is not None:
        kept = np.isin(places[start], ["B", "S"]) & np.isin(places[end], ["E", "S"])
    start, end = start[kept], end[kept]
    return (start * len(places) + end) * num_kinds + kinds[start]


def check_lengths(name: str, lengths: list[int], expected: list[int]) -> None:
    """Raise a `ParameterError` if sequences are more, fewer, longer or shorter than expected."""
    if len(lengths) != len(expected):
        raise ParameterError(f"{name} must hold {len(expected)} sequences, got {len(lengths)}")
    for i, (length, right) in enumerate(zip(lengths, expected, strict=True)):
        if length != right:
            raise ParameterError(f"{name}[{i}] must have length {right}, got {length}")

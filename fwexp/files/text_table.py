"""Many different texts in two arrays, which take a fifth of the memory of a list of them, and look-ups among them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

MOST_BITS = 24  # of checksums, which divide texts into groups
AT_ONCE = 1 << 14  # texts


class TextTable(Sequence):
    """Texts in UTF-8 one after the other, and their ``lengths`` in bytes."""

    def __init__(self, content: bytes, lengths: np.ndarray) -> None:
        self.content, self.lengths = content, lengths
        ends = np.zeros(len(lengths) + 1, dtype=np.int64)
        self._ends = memoryview(np.cumsum(lengths, out=ends[1:]).base)  # whose elements are read faster than an array's

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TextTable":
        """Return a table of texts."""
        if isinstance(texts, cls):
            return texts
        lengths, content = [], bytearray()
        for text in texts:
            added = _encoded(text)
            content += added
            lengths.append(len(added))
        return cls(bytes(content), np.array(lengths, dtype=np.int32))

    @classmethod
    def checked(cls, content: np.ndarray, lengths: np.ndarray) -> "TextTable":
        """Return the table of the arrays of a file, which may be damaged."""
        if content.dtype != np.uint8 or content.ndim != 1 or lengths.dtype != np.int32 or lengths.ndim != 1:
            raise ValueError(f"its texts are arrays of {content.dtype} and {lengths.dtype}")
        if lengths.min(initial=0) < 0 or lengths.sum(dtype=np.int64) != len(content):
            raise ValueError(f"the lengths of its texts are not those of {len(content)} bytes")
        found = cls(content.tobytes(), lengths)
        found.content.decode(errors="surrogatepass")
        if (content[np.asarray(found._ends)[:-1][lengths > 0]] & 0xC0 == 0x80).any():
            raise ValueError("its texts begin within characters")
        return found

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the arrays of which `checked` makes the table again."""
        return np.frombuffer(self.content, dtype=np.uint8), self.lengths

    def __reduce__(self):
        return type(self), (self.content, self.lengths)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextTable) and self.content == other.content and np.array_equal(self.lengths, other.lengths)

    __hash__ = None

    def __repr__(self) -> str:
        return f"TextTable.of({[*self]!r})"

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: Any) -> Any:
        place = range(len(self))[place]  # which rejects places that do not exist
        return self.content[self._ends[place] : self._ends[place + 1]].decode(errors="surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (text.decode(errors="surrogatepass") for text in self._encoded())

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) >= 0

    def find(self, text: str) -> int:
        """Return the place of a text, -1 if there is none."""
        begins, order, shift = self._groups
        wanted = _encoded(text)
        group = crc32(wanted) >> shift
        for k in range(begins[group], begins[group + 1]):
            place = order[k]
            if self.content[self._ends[place] : self._ends[place + 1]] == wanted:
                return place
        return -1

    def end_with(self, character: str) -> np.ndarray:
        """Return whether texts that are not empty end with an ASCII character, bool (n,)."""
        last = np.asarray(self._ends)[1:] - 1
        return self.arrays()[0][last] == ord(character) if self.content else np.zeros(len(last), dtype=bool)

    def are_different(self) -> bool:
        """Return whether no text is there twice."""
        checksums, order = self._sorted
        again = np.flatnonzero(checksums[1:] == checksums[:-1])
        texts = [self[place] for place in np.unique(order[np.concatenate((again, again + 1))]).tolist()]
        return len(texts) == len(set(texts))

    def _encoded(self) -> Iterator[bytes]:
        return (self.content[start:end] for start, end in pairwise(self._ends))

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The checksums of texts, sorted, and the places of these texts."""
        checksums = np.fromiter(map(crc32, self._encoded()), np.uint32, len(self))
        order = np.argsort(checksums).astype(np.int32)
        return checksums[order], order

    @cached_property
    def _groups(self) -> tuple[memoryview, memoryview, int]:
        """Groups of texts whose checksums have the same first bits: begins, places of texts in order, number of other bits."""
        checksums, order = self._sorted
        bits = min(len(self).bit_length(), MOST_BITS)
        begins = np.zeros(2**bits + 1, dtype=np.int32)
        np.cumsum(np.bincount(checksums >> (32 - bits), minlength=2**bits), out=begins[1:])
        return memoryview(begins), memoryview(order), 32 - bits


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")

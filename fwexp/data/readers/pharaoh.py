"""Word alignments in the format of Pharaoh: ``0-0 1-1``, a line per pair of sentences."""

from collections.abc import Iterable

from fwexp.conversion import links_in
from fwexp.data.readers.lines import naming, text_lines
from fwexp.files.user_paths import check_path
from fwexp.types import AnyPath, IntArray


def read_pharaoh(path: AnyPath) -> list[IntArray]:
    r"""Return word alignments in the format of Pharaoh, which Moses, fast_align and awesome-align write.

    Parameters
    ----------
    path : path
        A text with a line per pair of sentences: links ``ROW-COLUMN`` between spaces, from 0. A line may be empty. ``.gz`` is
        unpacked.

    Returns
    -------
    list of int arrays (m, 2)
        Links (row, column) of every pair of sentences, as `MatchingSVM` takes them.

    Raises
    ------
    ValueError
        If the file cannot be read, or a line has another form; the message names the line.

    See Also
    --------
    as_pharaoh : Return the text of a line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_pharaoh
    >>> path = Path(mkdtemp()) / "links.txt"
    >>> _ = path.write_text("0-0 1-2\n\n")
    >>> [links.tolist() for links in read_pharaoh(path)]
    [[[0, 0], [1, 2]], []]
    """
    path, found = check_path("path", path), []
    for number, line in text_lines(path):
        with naming(f"{path}, line {number}"):
            found.append(links_in("links", line))
    return found


def as_pharaoh(links: Iterable) -> str:
    """Return the links of a pair of sentences as a line of Pharaoh's format.

    Parameters
    ----------
    links : int array (m, 2)
        Links (row, column), from 0, such as `MatchingSVM` predicts.

    Returns
    -------
    str
        The links, without the end of the line.

    Examples
    --------
    >>> from fwexp.data import as_pharaoh
    >>> as_pharaoh([(0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{int(row)}-{int(column)}" for row, column in links)

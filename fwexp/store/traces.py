"""The trace of a stored run as a table of Arrow."""

import functools
import re
from collections.abc import Sequence

from fwexp.errors import needing
from fwexp.store.records import Damaged
from fwexp.store.stored_run import RUN_COLUMNS, TRACE

# Settings of written traces: statistics that readers of thousands of small files do not use are left out.
WRITTEN = {"index": False, "use_dictionary": ["iterate"], "write_statistics": False, "store_schema": False}

ITERATE, NUMBERS = "iterate", {"step", "oracle_calls", "passes", "time", "primal", "dual", "gap"}  # columns of every trace
OTHERS = re.compile(rf"(solver|dataset|task)\..*|task|temperature|{'|'.join(RUN_COLUMNS)}")  # columns of `load_results`
TEXT, NUMBER = re.compile("null|(large_)?string"), re.compile(r"null|u?int\d+|float|double")  # kinds of columns


def table(content: bytes, columns: Sequence[str] | None = None):
    """Return the table of a file, or its ``columns``; raise `Damaged` if it is no trace."""
    with needing("stored runs need"):
        import pyarrow
        from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
        _check(tuple(file.schema_arrow.names), tuple(map(str, file.schema_arrow.types)))
        return file.read(columns, use_threads=False).replace_schema_metadata()
    except Damaged:
        raise
    except Exception as error:  # other files fail anywhere
        raise Damaged(f"{TRACE} cannot be read ({type(error).__name__})") from error


@functools.lru_cache
def _check(names: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raise `Damaged` unless columns are those of a trace, which a solver may have added to, and go together in one table."""
    if len({*names}) < len(names) or not {ITERATE, *NUMBERS} <= {*names} or any(map(OTHERS.fullmatch, names)):
        raise Damaged(f"{TRACE} has other columns than a trace")
    for name, kind in zip(names, kinds, strict=True):
        if not (TEXT if name == ITERATE else NUMBER).fullmatch(kind):
            raise Damaged(f"{TRACE} has a column {name!r} of another kind, {kind}")

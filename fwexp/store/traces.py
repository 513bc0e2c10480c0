"""The trace of a stored run as a table of Arrow, after a look at what the file claims: its size, shape, names and types.

Some 100 kB of parquet may stand for any number of rows, or of copies of one long text.
"""

import functools
from collections.abc import Sequence

from fwexp.errors import needing
from fwexp.store.records import Damaged
from fwexp.store.stored_run import RUN_COLUMNS, TRACE

# Settings of written traces: statistics that readers of thousands of small files do not use are left out.
WRITTEN = {"index": False, "use_dictionary": ["iterate"], "write_statistics": False, "store_schema": False}

ITERATE, NUMBERS = "iterate", ("step", "oracle_calls", "passes", "time", "primal", "dual", "gap")  # columns of every trace
OTHERS, PREFIXES = (
    {*RUN_COLUMNS, "task", "temperature"},
    ("solver.", "dataset.", "task."),
)  # of columns of `load_results`
TEXT, KINDS = {"string", "large_string", "null"}, {"int64", "double", "null"}  # of columns, which go together in one table
CAST = dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16", "uint32"), "int64") | dict.fromkeys(("float", "bool"), "double")

ROOM = 2**26  # bytes that any trace may take
DENSITY = 32  # how often the size of its file another one may take: numbers that differ can be packed a little only
NAMES = 2**9  # bytes of the names of all iterates of a trace that has many rows


def table(content: bytes, columns: Sequence[str] | None = None):
    """Return the table of a file, or its ``columns``; raise `Damaged` if it is no trace."""
    with needing("stored runs need"):
        import pyarrow
        from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
        schema, metadata = file.schema_arrow, file.metadata
        names = tuple(schema.names)
        casts = _casts(names, tuple(map(str, schema.types)))
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        packed = sum(group.total_byte_size for group in groups)
        if max(8 * metadata.num_rows * len(names), packed) > max(ROOM, DENSITY * len(content)):
            raise Damaged(f"{TRACE} claims {metadata.num_rows} rows of {len(names)} columns in {len(content)} bytes")
        of_names = sum(group.column(names.index(ITERATE)).total_uncompressed_size for group in groups)
        if metadata.num_rows * of_names > ROOM:  # as if every row had all of that
            file, casts = ParquetFile(pyarrow.BufferReader(content), read_dictionary=[ITERATE]), {ITERATE: "large_string", **casts}
        rows = file.read(columns, use_threads=False).replace_schema_metadata()
        for name in casts.keys() & set(rows.column_names):
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, _cast(rows.column(place), casts[name]))
        return rows
    except Damaged:
        raise
    except Exception as error:  # other files fail anywhere
        raise Damaged(f"{TRACE} cannot be read ({type(error).__name__})") from error


@functools.lru_cache
def _casts(names: tuple[str, ...], kinds: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds of numbers to which columns have to be cast, by their names."""
    others = [name for name in names if name in OTHERS or name.startswith(PREFIXES)]
    if others or len(set(names)) < len(names) or not {ITERATE, *NUMBERS} <= set(names):
        raise Damaged(f"{TRACE} has other columns than a trace")
    for name, kind in zip(names, kinds, strict=True):
        if kind not in (TEXT if name == ITERATE else {*KINDS, *CAST}):
            raise Damaged(f"{TRACE} has a column {name[:50]!r} of another kind, {kind[:50]}")
    return {name: CAST[kind] for name, kind in zip(names, kinds, strict=True) if kind in CAST}


def _cast(column, kind: str):
    import pyarrow

    if pyarrow.types.is_dictionary(column.type) and sum(chunk.dictionary.nbytes for chunk in column.chunks) > NAMES:
        raise Damaged(f"{TRACE} has iterates of long names")
    return column.cast(kind)

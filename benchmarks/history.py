"""What was measured before: a table in the repository, and what has got slower since.

A row is a quantity with its unit (``benchmarks.yardstick``), median and quartiles, the commit (with a + where files were changed),
the processor, and the versions of Python and numba.
"""

import platform
from collections.abc import Mapping
from pathlib import Path

import numba
import pandas as pd
from llvmlite import binding

from benchmarks.yardstick import Measured
from fwexp.errors import ParameterError
from fwexp.files import owned
from fwexp.store.provenance import git_state, processor

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "bench" / "history.csv"
KIND = "benchmarks"
COLUMNS = ["commit", "cpu", "python", "numba", *Measured._fields]


def cpu() -> str:
    """Return the model of the processor, with the instructions that matter: cloud machines do not tell models apart."""
    features = binding.get_host_cpu_features()
    if "avx2" not in features:  # no x86
        return processor()
    return f"{processor()}, {next((name for name in ('avx512f', 'avx2') if features[name]), 'no AVX2')}"


def read() -> pd.DataFrame:
    """Return all that was recorded, in the order of time."""
    return pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=COLUMNS)


def compare(measured: list[Measured]) -> list[str]:
    """Return a line for each quantity whose quartiles are above those of the last record on such a processor."""
    then = read()
    then = then[then["cpu"] == cpu()].groupby(["quantity", "unit"]).last()
    slower = []
    for row in measured:
        if (row.quantity, row.unit) in then.index:
            last = then.loc[row.quantity, row.unit]
            if row.low > last["high"]:
                change = f"{last['median']:.3f} -> {row.median:.3f} {row.unit}"
                slower.append(f"{row.quantity}: {change}, {row.median / last['median']:.2f} times that of {last['commit']}")
    return slower


def check() -> None:
    """Check that rows can be appended: the file is missing, or such a table."""
    if FILE.is_symlink() or (FILE.exists() and list(pd.read_csv(FILE, nrows=0)) != COLUMNS):
        raise ParameterError(f"{FILE} must be a table with the columns {', '.join(COLUMNS)}, got another file; move it away")


def write(tables: Mapping[Path, pd.DataFrame | bytes]) -> None:
    """Write tables, and other files as they are, into the folder of benchmarks; they replace those that fwexp wrote before."""
    csv = {path: table for path, table in tables.items() if isinstance(table, pd.DataFrame)}
    owned.write({**tables, **{path: t.to_csv(index=False, float_format="%.4g").encode() for path, t in csv.items()}}, KIND)


def replaced(table: pd.DataFrame, rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return a table with these rows instead of those that have the same values in a column; the table may be empty."""
    return pd.concat([table[~table[by].isin(rows[by])], rows], ignore_index=True) if len(table) else rows


def record(measured: list[Measured]) -> None:
    """Append what was measured."""
    check()
    git = git_state(ROOT) or {"commit": "", "dirty": False}
    commit = git["commit"][:10] + "+" * git["dirty"]
    now = [commit, cpu(), platform.python_version(), numba.__version__]
    rows = pd.DataFrame([[*now, *row] for row in measured], columns=COLUMNS)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(FILE, mode="a", header=not FILE.exists(), index=False, float_format="%.4g")

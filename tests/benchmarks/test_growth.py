"""``make bench-growth``: what is fitted, and that the table is there."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import growth
from benchmarks.families import FAMILIES


def table():
    values = 20 * np.array([1, 3, 10, 30, 100])
    rows = {"family": "matching", "size": "T", "value": values, "seconds": 1e-3 + 1e-9 * values**3.0, "bytes": 8.0 * values**2}
    return pd.DataFrame(rows)


def test_exponents_are_those_of_what_grows():
    (row,) = growth.exponents(table()).itertuples(index=False)
    assert row.range == "20 .. 2000"
    assert row.time == pytest.approx(3.0, abs=0.1)
    assert row.memory == pytest.approx(2.0)
    assert (row[4], row[6]) == growth.EXPECTED["matching", "T"]


def test_sizes_are_those_of_families():
    assert all(size in FAMILIES[family].sizes for family, size in growth.EXPECTED)
    assert all(name in growth.SMALL for family in FAMILIES.values() for name in family.sizes)


def test_families_that_are_not_measured_again_stay_in_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "TABLE", tmp_path / "growth.csv")
    for families, factor in ((["matching", "chain"], 1.0), (["chain"], 3.0)):
        rows = table().assign(seconds=factor * table()["seconds"])
        monkeypatch.setattr(growth, "grown", lambda family, rows=rows: rows.assign(family=family).to_dict("records"))
        monkeypatch.setattr("sys.argv", ["growth", *families])
        assert growth.main() == 0
    kept = pd.read_csv(tmp_path / "growth.csv").groupby("family")["seconds"].apply(list).to_dict()
    assert kept["matching"] == pytest.approx(table()["seconds"].tolist(), rel=1e-3)
    assert kept["chain"] == pytest.approx((3.0 * table()["seconds"]).tolist(), rel=1e-3)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_size_grows_until_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(growth, "LONGEST", 0.0)
    rows = growth.grown("callback")
    assert [row["value"] for row in rows] == [growth.SMALL[size] for size in FAMILIES["callback"].sizes]
    assert all(row["seconds"] > 0.0 and row["bytes"] > 0 for row in rows)

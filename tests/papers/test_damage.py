"""Files of figures, claims and published results that were damaged: a line each, and nothing false is shown or published."""

import json
import shutil

import numpy as np
import pytest

from fwexp.cli import main
from fwexp.errors import ParameterError
from fwexp.papers.claims.verdict_records import save
from fwexp.papers.report import build as building
from tests.papers.drawn_store import CLAIMS
from tools import publish
from tools.published_faults import faults

STORED = [
    *(f"figures/quickstart{suffix}" for suffix in (".png", ".svg", ".csv", ".json")),
    *(f"figures/icml2013/table1{suffix}" for suffix in (".md", ".csv", ".json")),
    *(f"peers/dlib{suffix}" for suffix in (".md", ".csv", ".json")),
]
UNSEALED = ["claims/lecture.json", "provenance.json"]
PUBLISHED = [name for name in STORED if not name.endswith(".svg")] + UNSEALED
DAMAGE = {
    "cut": lambda content, rng: content[: len(content) // 2],
    "empty": lambda content, rng: b"",
    "random": lambda content, rng: rng.bytes(len(content)),
    "changed": lambda content, rng: content[:-2] + bytes([content[-2] ^ 1]) + content[-1:],
    "object": lambda content, rng: b"{}",
    "null": lambda content, rng: b"null",
    "list": lambda content, rng: b'[{"runs": null}]',
    "deep": lambda content, rng: b"[" * 100_000,
    "other types": lambda content, rng: other_types(content),
}


def other_types(content):
    """Return the same table with other columns, or object with other values."""
    try:
        return json.dumps(dict.fromkeys(json.loads(content), 3)).encode()
    except ValueError:
        return b"a,b\n" + content.partition(b"\n")[2]


def damaged(path, kind, seed):
    """Damage a file, or have a folder in its place."""
    content = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(DAMAGE[kind](content, np.random.default_rng(seed)))


@pytest.fixture
def copies(drawn, published, tmp_path, monkeypatch):
    """Return copies of a store with the files of a figure, a table and a comparison, and of its published files."""
    for module in (publish, building):
        monkeypatch.setattr(module, "all_claims", dict)
    monkeypatch.setattr("plotly.offline.get_plotlyjs", str)
    return shutil.copytree(drawn, tmp_path / "store"), shutil.copytree(published, tmp_path / "published")


KINDS = [*DAMAGE, "folder", "missing"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_of_a_store_is_a_line_and_its_figure_is_left_out(kind, copies, tmp_path, capsys):
    store, _ = copies
    for seed, name in list(enumerate(STORED))[KINDS.index(kind) % 5 :: 5]:  # each kind and each file, not all pairs
        again, stem = shutil.copytree(store, tmp_path / str(seed)), name.partition(".")[0]
        damaged(again / name, kind, seed)
        publish.publish(again, tmp_path / "there")
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{stem.partition('/')[2]} is damaged: " in line
        assert "draw it again with fwexp figure " in line or "measure it again with " in line
        assert faults(tmp_path / "there") == []
        shown = {path.relative_to(tmp_path / "there").with_suffix("").as_posix() for path in (tmp_path / "there").rglob("*.json")}
        assert shown == {"figures/quickstart", "figures/icml2013/table1", "peers/dlib", "provenance"} - {stem}
        if not stem.startswith("peers"):
            building.build(again)
            assert capsys.readouterr().err.splitlines() == [line]
            assert not list((again / "report/figures").glob(f"{stem.partition('/')[2].replace('/', '-')}.*"))


@pytest.mark.parametrize("kind", [*DAMAGE, "missing"])
def test_a_damaged_file_that_is_published_is_a_line_and_its_part_is_left_out(kind, copies, tmp_path, capsys):
    store, published = copies
    for seed, name in list(enumerate(PUBLISHED))[KINDS.index(kind) % 3 :: 3]:
        if name in UNSEALED and kind in ("missing", "changed"):
            continue  # no verdicts, no folder of published results; other words, for git to tell
        folder = shutil.copytree(published, tmp_path / str(seed))
        damaged(folder / name, kind, seed)
        found = [fault for fault in faults(folder) if not fault.startswith("README.md: ")]
        assert len(found) == 1 or name in UNSEALED
        assert found[0].startswith(name.partition(".")[0])
        part = "icml2013" if "quickstart" in name else "quickstart"
        publish.publish(store, folder, [part])
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{folder / name.partition('.')[0]}")
        assert line.endswith("; left out")
        assert faults(folder) == []


@pytest.mark.parametrize("kind", ["cut", "empty", "random", "null", "list", "deep", "other types"])
def test_damaged_verdicts_are_a_line(kind, published, tmp_path, capsys):
    path = tmp_path / "claims/lecture.json"
    shutil.copytree(published / "claims", path.parent)
    records = json.loads(path.read_text())
    damaged(path, kind, 0)
    said = f"{path} is damaged: it holds no verdicts; fwexp claims lecture writes them again"
    assert main(["claims", "L-3", "--strict", f"results_dir={tmp_path}/store", f"published={tmp_path}"]) == 2
    assert capsys.readouterr().err.splitlines() == [said, f"fwexp: --strict needs published verdicts, found none in {path}"]
    with pytest.raises(ParameterError, match=r"lecture\.json must be a file that fwexp wrote, got another one"):
        save(records, tmp_path)
    path.unlink()
    save(records, tmp_path)
    assert json.loads(path.read_text()) == records
    assert set(records) == set(CLAIMS)

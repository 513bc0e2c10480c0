"""The archive of published runs: verdicts follow from it alone, and changes of it are found."""

import shutil
import zipfile

import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.errors import ParameterError
from fwexp.papers.claims import check_all, of_paper
from fwexp.papers.claims.verdict_records import read, run_missing
from fwexp.papers.figure_pipeline import make_figure
from fwexp.store import archive

CLAIMS = {id: claim for id, claim in of_paper("R").items() if id in ("R-3", "R-4")}


@pytest.fixture(scope="module")
def results_dir(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    run_missing(CLAIMS.values(), results)
    return results


@pytest.fixture(scope="module")
def archived(results_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "runs.zip"
    archive.write(store.find_runs(results_dir), path)
    return path


def test_verdicts_follow_from_the_archive_alone(results_dir, archived, tmp_path):
    there = check_all(CLAIMS, results_dir)
    assert check_all(CLAIMS, tmp_path / "nothing", archive=archived) == there
    assert {record["verdict"] for record in there.values()} == {"holds"}
    undecided = check_all(CLAIMS, tmp_path / "nothing")
    assert {record["verdict"] for record in undecided.values()} == {"undecided"}


def test_results_are_those_of_the_store(results_dir, archived):
    ours, theirs = (
        frame.sort_values(["key", "step"], kind="stable", ignore_index=True)
        for frame in (archive.read(archived), store.load_results(results_dir))
    )
    assert ours.equals(theirs[ours.columns])


def test_equal_runs_give_equal_archives_with_checksums(results_dir, archived, tmp_path):
    archive.write(store.find_runs(results_dir)[::-1], tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archived.read_bytes()
    with zipfile.ZipFile(archived) as packed:
        sums, names = packed.read("SHA256SUMS").decode(), packed.namelist()
    keys = {run.key for run in store.find_runs(results_dir)}
    assert {name.split("/")[1] for name in names[1:]} == keys
    assert [line.split("  ")[1] for line in sums.splitlines()] == names[1:]


@pytest.mark.parametrize("name", ["run.json", "trace.parquet", "SHA256SUMS"])
def test_a_changed_archive_is_refused(archived, tmp_path, name):
    path = tmp_path / "changed.zip"
    with zipfile.ZipFile(archived) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            new.writestr(entry, content[::-1] if entry.endswith(name) else content)
    with pytest.raises(ParameterError, match="archive must be a file that fwexp publish --archive wrote, got "):
        archive.read(path)


@pytest.mark.slow
def test_publish_writes_the_archive_of_the_published_figures(results_dir, tmp_path, capsys):
    results = tmp_path / "results"
    shutil.copytree(results_dir, results)
    make_figure("review/fig3", results)
    target = tmp_path / "runs.zip"
    assert main(["publish", "review", "--archive", str(target), f"results_dir={results}", f"published={tmp_path / 'there'}"]) == 0
    assert f"{target}: 2 runs" in capsys.readouterr().out
    found = check_all(CLAIMS, tmp_path / "nothing", archive=target)
    published = read(tmp_path / "there" / "claims" / "review.json")
    assert {id: record["verdict"] for id, record in found.items()} == {id: published[id]["verdict"] for id in found}

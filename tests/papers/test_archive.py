"""The archive of published runs: verdicts follow from it alone, and changes of it are found."""

import io
import shutil
import tarfile
from pathlib import Path

import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.errors import DataError, OptionError, ParameterError
from fwexp.papers.claims import check_all, of_paper
from fwexp.papers.claims.verdict_records import needed, read, run_missing
from fwexp.papers.figure_pipeline import make_figure, runs_of
from fwexp.run import from_arguments, runner
from fwexp.store import archive, records
from fwexp.store.commit import RECORD
from tools import publish, redraw
from tools.archive_runs import archive_runs, check_target, write

CLAIMS = {id: claim for id, claim in of_paper("R").items() if id in ("R-3", "R-4")}


@pytest.fixture(scope="module")
def results_dir(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    run_missing(CLAIMS.values(), results)
    return results


@pytest.fixture(scope="module")
def archived(results_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "runs.tar.xz"
    write(store.find_runs(results_dir), path)
    return path


def test_verdicts_follow_from_the_archive_alone(results_dir, archived, tmp_path):
    there = check_all(CLAIMS, results_dir)
    assert check_all(CLAIMS, tmp_path / "nothing", archive=archived) == there
    assert {record["verdict"] for record in there.values()} == {"holds"}
    undecided = check_all(CLAIMS, tmp_path / "nothing")
    assert {record["verdict"] for record in undecided.values()} == {"undecided"}


@pytest.mark.slow
def test_runs_that_confirm_claims_are_added(archived, tmp_path):
    """Runs that nothing asks for are not, and what the archive had stays as it was."""
    path, added = Path(shutil.copy(archived, tmp_path)), tmp_path / "store"
    confirmed = of_paper("R")["R-2"]
    again = needed(confirmed, confirming=True)
    one = next(key for key, config in again.items() if config["solver"]["name"] == "random_away")
    (other,) = from_arguments.expand(["dataset=norm", "solver=away", "max_passes=1"])
    from_arguments.execute([again[one], other], results_dir=added)
    before = {run.key: run.record for run in archive.runs(path)}
    assert set(archive_runs(added, path, add=True)) == before.keys() | {one}
    after = {run.key: run.record for run in archive.runs(path)}
    assert {key: after[key] for key in before} == before
    found = check_all({"R-2": confirmed}, archive=path)["R-2"]["confirmation"]
    assert found["why"].startswith(f"{len(again) - 1} of {len(again)} runs are not stored")


def test_runs_are_added_from_a_store_that_is_named(tmp_path):
    with pytest.raises(OptionError, match="--add needs results_dir=DIR, the store that has the runs to add"):
        redraw.main(["claims", "--add", f"published={tmp_path}"])


def test_runs_of_other_code_decide_only_if_asked_for_or_in_an_archive(results_dir, tmp_path, capsys):
    """And ``--run`` repeats them."""
    older = tmp_path / "older"
    shutil.copytree(results_dir, older)
    run = store.find_runs(older)[0]
    records.write(run.path / RECORD, run.record | {"sources": run.record["sources"] | {"sha256": "0" * 64}})
    by_id = {record["id"]: record for record in check_all(CLAIMS, older).values()}
    touched = {id for id, record in by_id.items() if run.key in record["runs"]}
    assert {id for id, record in by_id.items() if record["verdict"] == "undecided"} == touched
    assert touched
    for id in touched:
        assert "1 of" in by_id[id]["why"]
        assert by_id[id]["why"].endswith("made by another version of the code; --run repeats them, --stale takes them")
    taken = check_all(CLAIMS, older, stale=True)
    assert {record["verdict"] for record in taken.values()} == {"holds"}
    assert {id for id, r in taken.items() if "solvers whose runs another version of the code made" in r["numbers"]} == touched
    write(store.find_runs(older), tmp_path / "runs.tar.xz")
    assert {r["verdict"] for r in check_all(CLAIMS, older, archive=tmp_path / "runs.tar.xz").values()} == {"holds"}
    capsys.readouterr()
    assert main(["claims", sorted(touched)[0], "--run", f"results_dir={older}"]) == 0
    assert "1 to run (1 of them again, which another version of the code made)" in capsys.readouterr().err
    assert not store.find_runs(older, key=run.key)[0].stale


@pytest.mark.slow
@pytest.mark.usefixtures("computed_as_published")
def test_published_verdicts_follow_from_the_archive_beside_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published = Path(__file__).parents[2] / "results"
    assert main(["claims", "--strict", "--archive", f"{published}/runs.tar.xz", f"published={published}/published"]) == 0


def test_equal_runs_give_equal_archives_with_checksums(results_dir, archived, tmp_path):
    write(store.find_runs(results_dir)[::-1], tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == archived.read_bytes()
    with tarfile.open(archived) as packed:
        sums, names = packed.extractfile("SHA256SUMS").read().decode(), packed.getnames()
    keys = {run.key for run in store.find_runs(results_dir)}
    assert {name.split("/")[1] for name in names[1:]} == keys
    assert [line.split("  ")[1] for line in sums.splitlines()] == names[1:]


def pack(path, contents):
    with tarfile.open(path, "w:xz") as packed:
        for name, content in contents:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize("change", ["run.json", "trace.parquet", "SHA256SUMS", "one more", "one less", "no sums", -100, 100, 0])
def test_a_changed_or_cut_archive_is_refused(archived, tmp_path, change):
    path = tmp_path / "changed.tar.xz"
    if isinstance(change, int):
        path.write_bytes(archived.read_bytes()[:change])
    else:
        with tarfile.open(archived) as old:
            contents = [(entry.name, old.extractfile(entry).read()) for entry in old]
        others = {"one more": [*contents, (f"{contents[1][0]}.more", b"")], "one less": contents[:-1], "no sums": contents[1:]}
        reversed_ = [(name, content[::-1] if name.endswith(change) else content) for name, content in contents]
        pack(path, others.get(change, reversed_))
    for take in (archive.read, lambda path: archive.restore(path, tmp_path / "results")):
        with pytest.raises(ParameterError, match="archive must hold runs with their checksums, got "):
            take(path)
    assert not (tmp_path / "results").exists()


def test_restored_runs_count_as_stored_and_keep_their_numbers(results_dir, archived, tmp_path):
    keys = {run.key for run in store.find_runs(results_dir)}
    assert set(archive.restore(archived, tmp_path)) == keys
    there, here = ({run.key: run for run in store.find_runs(folder)} for folder in (results_dir, tmp_path))
    assert {key: run.config for key, run in here.items()} == {key: run.config for key, run in there.items()}
    assert {run.record["created"] for run in here.values()} == {run.record["created"] for run in there.values()}
    ours, theirs = (store.load_results(folder).sort_values(["key", "step"]) for folder in (tmp_path, results_dir))
    assert ours.reset_index(drop=True).equals(theirs.reset_index(drop=True))
    of_archive = archive.read(archived).sort_values(["key", "step"], kind="stable", ignore_index=True)
    assert of_archive.equals(theirs.reset_index(drop=True)[of_archive.columns])
    assert archive.restore(archived, tmp_path) == []
    gone, *others = here.values()
    shutil.rmtree(gone.path)
    before = {path: path.stat().st_mtime_ns for run in others for path in run.path.iterdir()}
    assert archive.restore(archived, tmp_path) == [gone.key]  # what is stored is not replaced
    assert {path: path.stat().st_mtime_ns for run in others for path in run.path.iterdir()} == before
    write(here.values(), tmp_path / "again.tar.xz")
    assert set(archive.read(tmp_path / "again.tar.xz")["key"]) == keys


def test_only_runs_that_figures_open_are_restored_with_weights(results_dir, tmp_path):
    runs = store.find_runs(results_dir)
    write(runs, tmp_path / "runs.tar.xz", [runs[0].key])
    archive.restore(tmp_path / "runs.tar.xz", tmp_path / "results")
    with_weights, *others = sorted(store.find_runs(tmp_path / "results"), key=lambda run: run.key != runs[0].key)
    assert with_weights.weights().tolist() == runs[0].weights().tolist()
    for run in others:
        with pytest.raises(DataError, match="has no weights: it comes from an archive without them; force=true makes"):
            run.weights()
    write(runs, tmp_path / "all.tar.xz", [run.key for run in runs])
    assert set(archive.restore(tmp_path / "all.tar.xz", tmp_path / "results")) == {run.key for run in others}
    assert [run.weights().tolist() for run in store.find_runs(tmp_path / "results")] == [run.weights().tolist() for run in runs]


def test_a_figure_takes_its_runs_from_an_archive(archived, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "solve", lambda *_, **__: pytest.fail("an archived run was made again"))
    line = ["figure", "review/fig3", "--archive", str(archived), f"results_dir={tmp_path}"]
    assert main([*line, "--dry-run"]) == 0
    assert capsys.readouterr().out == "review/fig3: 2 runs, 0 missing\n"
    assert list(tmp_path.iterdir()) == []
    assert main(line) == 0
    assert (tmp_path / "figures/review/fig3.png").is_file()
    keys = set(runs_of("review/fig3"))
    assert f"{archived}: {len(keys)} runs were not in {tmp_path}\n" in capsys.readouterr().err
    assert {run.key for run in store.find_runs(tmp_path)} == keys
    assert main(["figure", "--from", "dataset=digits,norm,triangle", *line[2:-1], f"results_dir={tmp_path}/all"]) in (0, 2)
    assert {run.key for run in store.find_runs(tmp_path / "all")} == {run.key for run in archive.runs(archived)}


@pytest.mark.slow
def test_publish_writes_the_archive_of_the_published_figures(results_dir, tmp_path, capsys):
    results = tmp_path / "results"
    shutil.copytree(results_dir, results)
    make_figure("review/fig3", results)
    target = tmp_path / "runs.tar.xz"
    assert publish.main(["review", "--archive", str(target), f"results_dir={results}", f"published={tmp_path / 'there'}"]) == 0
    assert f"{target}: 2 runs" in capsys.readouterr().out
    found = check_all(CLAIMS, tmp_path / "nothing", archive=target)
    published = read(tmp_path / "there" / "claims" / "review.json")
    assert {id: record["verdict"] for id, record in found.items()} == {id: published[id]["verdict"] for id in found}
    gone = store.find_runs(results)[0]
    (gone.path / "trace.parquet").unlink()
    with pytest.raises(
        ParameterError, match=f"results_dir must hold all runs of its figures, got none or a damaged one of {gone.key[:12]}"
    ):
        archive_runs(results, target, ["review"])


@pytest.mark.parametrize("place", ["there", "there/runs.tar.xz", "there/deeper/runs.tar.xz", "nowhere/runs.tar.xz", "."])
def test_an_archive_is_a_file_outside_of_what_is_published(tmp_path, place):
    (tmp_path / "there" / "deeper").mkdir(parents=True)
    check_target(tmp_path / "runs.tar.xz", tmp_path / "there")
    with pytest.raises(ParameterError, match=r"archive must be a file in a folder that exists, outside .*there, got "):
        check_target(tmp_path / place, tmp_path / "there")

"""Write an archive of stored runs, which `fwexp.store.archive` reads."""

import io
import tarfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from fwexp import store
from fwexp.errors import ParameterError
from fwexp.files import atomic, folders
from fwexp.files.checksums import sha256
from fwexp.papers.claims import all_claims
from fwexp.papers.claims.verdict_records import needed
from fwexp.papers.declarations import FIGURES, papers_by_id
from fwexp.papers.figure_pipeline import configs_of
from fwexp.papers.report.figures import drawn
from fwexp.store import archive, records
from fwexp.store.commit import MODEL, RECORD, TRACE
from fwexp.store.records import Damaged
from fwexp.store.stored_run import StoredRun, of_latest, verified, verified_trace
from tools.published_faults import DIGITS, part_of, parts


def archive_runs(results_dir: Path, target: Path, chosen: Sequence[str] = (), *, add: bool = False) -> list[str]:
    """Write the stored runs of figures and claims of the `parts` to an archive, or add them to it; return the keys of all its runs.

    Runs that confirm claims are among them. Weights are those of the runs that figures take as they are, for predictions or
    timings; see `Figure.shows`. What an archive has stays as it is.
    """
    wanted = set(chosen or parts())
    FIGURES.load_all()
    there = {run.key: {RECORD: records.content_of(run.record), **files} for run, files in archive.with_files(target)} if add else {}
    figures = {one.figure.name: set(one.record["runs"]) for one in drawn(results_dir) if one.preset == "full"}
    drawings = set().union(*(keys for name, keys in figures.items() if part_of(name) in wanted)) - there.keys()
    claims = [claim for claim in all_claims().values() if papers_by_id()[claim.paper].name in wanted]
    keys = drawings.union(*(needed(claim, confirming=again) for claim in claims for again in (False, True))) - there.keys()
    runs = [run for run in store.find_runs(results_dir) if run.key in keys]
    if lacking := sorted(drawings - {run.key for run in runs}):
        shown = ", ".join(key[:DIGITS] for key in lacking[:3])
        raise ParameterError(f"results_dir must hold all runs of its figures, got none or a damaged one of {shown}")
    opened = [figure for figure in FIGURES.values() if figure.shows and figure.has_runs]
    with_weights = {store.key_of(config) for figure in opened for config in configs_of(figure, "full")}
    return _pack(there | _files_of(runs, with_weights), target)


def check_target(target: Path, folder: Path) -> None:
    """Refuse an archive that cannot be written, or that would lie among the copies."""
    place = target.resolve()
    if folders.is_folder(target) or not folders.is_folder(place.parent) or folder.resolve() in place.parents:
        raise ParameterError(f"archive must be a file in a folder that exists, outside {folder}, got {str(target)!r}")


def write(runs: Iterable[StoredRun], path: Path, with_weights: Collection[str] = ()) -> list[str]:
    """Write an archive of runs, with the weights of some keys, and replace a file of that name; return the keys of the runs."""
    return _pack(_files_of(runs, with_weights), path)


def _pack(files: Mapping[str, Mapping[str, bytes]], path: Path) -> list[str]:
    contents = {f"runs/{key}/{name}": content for key in sorted(files) for name, content in files[key].items()}
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in contents.items())
    packed, entries = io.BytesIO(), {archive.SUMS: sums.encode(), **contents}
    with tarfile.open(fileobj=packed, mode="w:xz") as file:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)  # of no date and no user
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    atomic.write({path.resolve(): packed.getvalue()})
    return sorted(files)


def _files_of(runs: Iterable[StoredRun], with_weights: Collection[str]) -> dict[str, dict[str, bytes]]:
    """Return the contents of the files of runs by key; `ParameterError` if one is damaged."""
    found = {}
    try:
        for run in runs:
            run, files = of_latest(run, lambda run: _files(run, run.key in with_weights))
            found[run.key] = {RECORD: records.content_of(run.record), **files}
    except Damaged as error:
        raise ParameterError(
            f"runs must be as they were stored to be archived, got {error}; fwexp ls names damaged ones"
        ) from error
    return found


def _files(run: StoredRun, with_weights: bool) -> dict[str, bytes]:
    files = {TRACE: verified_trace(run)}
    return files | {MODEL: verified(run, MODEL)} if with_weights and MODEL in run.files else files

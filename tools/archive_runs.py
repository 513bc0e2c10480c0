"""Write an archive of stored runs, which `fwexp.store.archive` reads."""

import io
import tarfile
from collections.abc import Collection, Iterable, Sequence
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


def archive_runs(results_dir: Path, target: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Write the stored runs of figures and claims of the `parts` to an archive; return their keys.

    Weights are those of the runs that figures take as they are, for predictions or timings; see `Figure.shows`.
    """
    wanted = set(chosen or parts())
    FIGURES.load_all()
    figures = {one.figure.name: set(one.record["runs"]) for one in drawn(results_dir) if one.preset == "full"}
    drawings = set().union(*(keys for name, keys in figures.items() if part_of(name) in wanted))
    claims = [claim for claim in all_claims().values() if papers_by_id()[claim.paper].name in wanted]
    keys = drawings.union(*map(needed, claims))
    runs = [run for run in store.find_runs(results_dir) if run.key in keys]
    if lacking := sorted(drawings - {run.key for run in runs}):
        shown = ", ".join(key[:DIGITS] for key in lacking[:3])
        raise ParameterError(f"results_dir must hold all runs of its figures, got none or a damaged one of {shown}")
    opened = [figure for figure in FIGURES.values() if figure.shows and figure.has_runs]
    with_weights = {store.key_of(config) for figure in opened for config in configs_of(figure, "full")}
    try:
        return write(runs, target, with_weights)
    except Damaged as error:
        raise ParameterError(
            f"runs must be as they were stored to be archived, got {error}; fwexp ls names damaged ones"
        ) from error


def check_target(target: Path, folder: Path) -> None:
    """Refuse an archive that cannot be written, or that would lie among the copies."""
    place = target.resolve()
    if folders.is_folder(target) or not folders.is_folder(place.parent) or folder.resolve() in place.parents:
        raise ParameterError(f"archive must be a file in a folder that exists, outside {folder}, got {str(target)!r}")


def write(runs: Iterable[StoredRun], path: Path, with_weights: Collection[str] = ()) -> list[str]:
    """Write an archive of runs, with the weights of some keys, and replace a file of that name; return the keys of the runs."""
    contents = {}
    for run in sorted(runs, key=lambda run: run.key):
        run, files = of_latest(run, lambda run: _files(run, run.key in with_weights))
        files = {RECORD: records.content_of(run.record), **files}
        contents |= {f"runs/{run.key}/{name}": content for name, content in files.items()}
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in contents.items())
    packed, entries = io.BytesIO(), {archive.SUMS: sums.encode(), **contents}
    with tarfile.open(fileobj=packed, mode="w:xz") as file:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)  # of no date and no user
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    atomic.write({path.resolve(): packed.getvalue()})
    return [name.split("/")[1] for name in contents if name.endswith(TRACE)]


def _files(run: StoredRun, with_weights: bool) -> dict[str, bytes]:
    files = {TRACE: verified_trace(run)}
    return files | {MODEL: verified(run, MODEL)} if with_weights and MODEL in run.files else files

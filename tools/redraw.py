"""Draw the published figures again, from the archive of their runs, after the code that draws them changed: ``make redraw``.

Runs and their numbers stay as they are, and so do verdicts unless ``claims`` is named: what would change the published numbers of
a figure is told, and that figure is kept. A figure without runs is computed anew. Tables are kept as well, because one of them has
measured times.
"""

import datetime
import io
import json
import math
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, exit_code
from fwexp.files import folders, owned
from fwexp.papers.claims import all_claims, check_all
from fwexp.papers.declarations import FIGURES, Figure
from fwexp.papers.figure_files import paths, read_record, save_figure
from fwexp.papers.figure_pipeline import configs_of, read_runs
from fwexp.papers.origin import Origin, commit_of, facts
from fwexp.papers.report.figures import Drawn
from fwexp.store import archive
from fwexp.store.provenance import provenance
from tools import departures
from tools.archive_runs import archive_runs
from tools.publish import KIND, gallery, small_figure, small_verdicts
from tools.published_faults import DIFFERENCES, VERDICTS_AGAIN, read_json

USAGE = """\
usage: python -m tools.redraw [NAME ...] [--archive FILE] [--add] [results_dir=DIR] [data_dir=DIR] [published=DIR]

Draw published figures (default: all) again from archived runs, and write their small copies to the published folder (default:
results/published). Runs nothing.

  NAME             a figure, or claims: decide all claims again
  --archive FILE   the archive (default: results/runs.tar.xz)
  --add            add the runs of results_dir that figures or claims need, or that confirm claims, to the archive first
  results_dir=DIR  a store to unpack the archive into and to keep (default: a temporary one)
"""

CLAIMS = "claims"


def redraw(figure: Figure, published: Path, results_dir: Path, data_dir) -> str:
    """Draw a figure over its published files; return why it is kept instead, or nothing."""
    configs = configs_of(figure, "full")
    results, stored = read_runs(configs, results_dir)
    if len(stored) < len(configs):
        return f"{len(configs) - len(stored)} of {len(configs)} runs are not in the archive"
    shown = () if figure.shows is None else (figure.shows(stored, data_dir),)
    frame = figure.data(results, *shown)
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / figure.name
        origin = Origin(figure.name, figure.title, "full", {run.key: facts(run) for run in stored})
        save_figure(figure.draw(frame, *shown), frame, stem, origin, note=figure.note)
        drawing = Drawn(figure, stem, "full", read_record(stem, figure.suffixes, figure.name))
        files = small_figure(drawing, published / "figures" / figure.name)
    (numbers,) = paths(published / "figures" / figure.name, [".csv"])
    if figure.has_runs and (changed := differences(pd.read_csv(numbers), pd.read_csv(io.BytesIO(files[numbers])))):
        return f"its numbers would change: {changed}"
    for path, content in files.items():
        path.write_bytes(content)
    return ""


def differences(before: pd.DataFrame, after: pd.DataFrame) -> str:
    """Return how numbers differ in the columns that both tables have, in any order of their rows."""
    if len(before) != len(after):
        return f"{len(after)} rows instead of {len(before)}"
    both = [name for name in before if name in after]
    one, other = (table[both].sort_values(both, ignore_index=True) for table in (before, after))
    return ", ".join(name for name in both if not one[name].equals(other[name]))


@command(
    "make redraw",
    USAGE,
    words=math.inf,
    offers=lambda: list(FIGURES),
    switches=("--add",),
    flags={"--archive": ()},
    keys=("published", "data_dir"),
)
def main(given: Arguments) -> int:
    """Draw the figures again, and return the exit code."""
    published = folders.check_folder("published", given.keys.get("published", "results/published"))
    drawn = (name for name, figure in FIGURES.items() if not figure.is_table)
    names = given.words or [name for name in drawn if folders.is_file(published / "figures" / f"{name}.csv")]
    for name in names:
        if name != CLAIMS and (name not in FIGURES or FIGURES.find(name).is_table):
            raise OptionError(f"NAME must be a published figure or {CLAIMS}, got {name!r}")
    if "--add" in given.flags and "results_dir" not in given.keys:
        raise OptionError("--add needs results_dir=DIR, the store that has the runs to add")
    kept = {}
    with tempfile.TemporaryDirectory() as temporary, owned.replacing_folder(published, KIND) as folder:
        shutil.copytree(published, folder, ignore=shutil.ignore_patterns(owned.MARK), dirs_exist_ok=True)
        store = folders.check_folder("results_dir", given.keys.get("results_dir", temporary))
        runs = Path(given.flags.get("--archive", "results/runs.tar.xz"))
        if "--add" in given.flags:
            print_line(f"{runs}: {len(archive_runs(store, runs, add=True))} runs")
        if CLAIMS in names:
            for path, content in small_verdicts(check_all(all_claims(), archive=runs, verbose=True), folder).items():
                path.write_bytes(content)
            about, made = read_json(folder / "provenance.json"), [run.record["provenance"] for run in archive.runs(runs)]
            about[VERDICTS_AGAIN] = {
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "commit": commit_of(provenance()),
                "runs": dict(Counter(map(commit_of, made))),
            }
            (folder / "provenance.json").write_text(f"{json.dumps(about, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
            (folder / DIFFERENCES).write_text(departures.page(folder), encoding="utf-8")
        if names := [name for name in names if name != CLAIMS]:
            archive.restore(runs, store)
        for name in names:
            if reason := redraw(FIGURES.find(name), folder, store, given.keys.get("data_dir")):
                kept[name] = reason
            print_line(f"{name}: {f'kept, {reason}' if reason else 'drawn'}")
        (folder / "README.md").write_text(gallery(folder), encoding="utf-8")
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))

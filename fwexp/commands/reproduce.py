"""``fwexp reproduce`` and ``fwexp publish``."""

# ruff: noqa: T201

import functools
import math
from collections.abc import Sequence
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.commands.figure import LAUNCHED, attempt, launched, print_files, restore
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, not_installed
from fwexp.files import folders
from fwexp.run.config import PRESETS

USAGE = """\
usage: fwexp reproduce [--dry-run] [--preset full|smoke] [--archive FILE] [results_dir=DIR] [data_dir=DIR]
                       [hydra/launcher=basic|joblib|dask] [hydra.launcher.KEY=VALUE ...]

Run everything that the figures and claims of all papers need and the store lacks, draw the figures, check the claims and write the
report. You can interrupt and repeat it: finished runs are never repeated.

  --dry-run         list missing runs only, with an estimate of their time
  --preset smoke    run few seeds and passes, as a quick check
  --archive FILE    take runs from a file of `fwexp publish --archive` first, and make only what it lacks
  hydra/launcher    basic runs one run at a time; joblib runs several at once, and is the default where it is installed for runs
                    whose seconds are not shown; dask runs on a cluster (docs/tutorials/cluster.md)

Figures and claims that fail, or lack their data, are named at the end.
"""
PUBLISH_USAGE = """\
usage: fwexp publish [PART ...] [--archive FILE] [results_dir=DIR] [published=DIR]

Copy results into a folder to commit (default: results/published), with their provenance: small copies of the figures of full runs,
the verdicts on the claims, and the comparison with other tools. Runs nothing; replaces the contents of the folder. Prints which
results it leaves out because they are damaged, and which were made at another commit.

  --archive FILE   write records and traces of all runs behind the copies to one file, with keys and checksums, for a data
                   archive: `fwexp claims --archive FILE` decides from it alone, and `fwexp reproduce --archive FILE` draws the
                   figures without making these runs; an existing file is replaced
  PART   icml2013, icml2016, lecture, review, horses, pose, quickstart or peers: copy only these figures and the claims of this
         paper, and leave the rest of the folder as it is
"""
ACCEPTED = {"switches": ("--dry-run",), "flags": {"--preset": PRESETS, "--archive": ()}, "keys": LAUNCHED}


@command("fwexp reproduce", USAGE, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp reproduce`` with the arguments after ``reproduce``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        Unknown flags or keys.
    RunsFailed
        Experiments failed; the others are done.
    """
    preset = given.flags.get("--preset", "full")
    results_dir = folders.check_folder("results_dir", given.keys.get("results_dir", "results"))
    from fwexp import store
    from fwexp.papers.claims import all_claims
    from fwexp.papers.claims.verdict_records import check_writable as check_claims
    from fwexp.papers.report.build import check_writable as check_report
    from fwexp.papers.reproduce.plan import plan, published_runs, table

    if "--dry-run" not in given.flags:
        store.check_writable(results_dir)
        check_report(results_dir)
        check_claims(all_claims(), results_dir, preset)
    archived: list = []
    if "--archive" in given.flags:
        from fwexp.store import archive

        path = Path(given.flags["--archive"])
        if "--dry-run" in given.flags:
            archived = archive.runs(path)
        else:
            restore(path, results_dir)
    print_line("reading the experiments")
    steps = plan(results_dir, preset, archived, published_runs())
    print(table(steps))
    if "--dry-run" in given.flags:
        return 0
    where = {"results_dir": results_dir, "data_dir": given.keys.get("data_dir")} | launched(given)
    failed = run(steps, preset, **where)
    conclude(results_dir, preset)
    if failed:
        raise RunsFailed(f"{len(failed)} of {len(steps)} experiments failed: {', '.join(failed)}; repeat the command to try again")
    return 0


def run(steps: Sequence, preset: str, *, results_dir, data_dir=None, launcher=None, settings=()) -> list[str]:
    """Make the missing runs of steps and draw their figures; return the names of steps that failed."""
    from fwexp.papers.declarations import launcher_of
    from fwexp.papers.figure_pipeline import makers
    from fwexp.papers.reproduce.plan import about
    from fwexp.run import sweep

    where = {"results_dir": results_dir, "data_dir": data_dir, "settings": settings}
    made = makers([step.name for step in steps if step.figure is not None], preset=preset, launcher=launcher, **where)
    jobs = []
    for step in steps:
        left = f"{len(step.missing)} runs, {about(step)}" if step.missing else "nothing to run"
        if step.figure is None:
            chosen = launcher or launcher_of(timed=False)
            do = functools.partial(sweep.execute, step.configs, launcher=chosen, **where)
        else:
            chosen = launcher or step.figure.launcher(preset)
            do = functools.partial(print_files, made[step.name])
        # The runs of figures that run side by side are over.
        jobs.append((step.name, step.name if step.figure and chosen != "basic" else f"{step.name}: {left}", do))
    return attempt(jobs)


def conclude(results_dir: Path, preset: str) -> None:
    """Check all claims and write the report, if its packages are installed."""
    from fwexp.papers.claims import all_claims, check_all
    from fwexp.papers.claims.verdict_records import save, summary
    from fwexp.papers.report.build import build, lacking

    records = check_all(all_claims(), results_dir, preset, stale=True, verbose=True)
    for path in save(records, results_dir, preset):
        print(path)
    print(summary(records))
    if name := lacking():
        print_line(f"no report: {not_installed('it needs', name, 'report')}")
    else:
        print(build(results_dir, verbose=True))


def _parts():
    from fwexp.papers.reproduce.publish import parts

    return parts()


@command("fwexp publish", PUBLISH_USAGE, words=math.inf, offers=_parts, flags={"--archive": ()}, keys=("published",))
def publish_main(given: Arguments) -> int:
    """Run ``fwexp publish`` with the arguments after ``publish``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        Unknown parts or keys; no figure is drawn.
    """
    from fwexp.papers.reproduce.publish import archive_runs, check_target, publish
    from fwexp.papers.reproduce.published_faults import faults

    folder = Path(given.keys.get("published", "results/published"))
    results_dir = folders.check_folder("results_dir", given.keys.get("results_dir", "results"))
    target = Path(given.flags["--archive"]) if "--archive" in given.flags else None
    if target:
        check_target(target, folder)
    paths = publish(results_dir, folder, given.words, verbose=True)
    print(f"{folder}: {len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.2f} MB")
    if target:
        keys = archive_runs(results_dir, target, given.words)
        print(f"{target}: {len(keys)} runs, {target.stat().st_size / 1e6:.2f} MB")
    for fault in faults(folder):
        print_line(f"{folder}: {fault}")
    return 0

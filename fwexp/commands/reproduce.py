"""``fwexp reproduce``."""

# ruff: noqa: T201

import functools
from collections.abc import Sequence
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.commands.figure import LAUNCHED, attempt, launched, print_files, restore
from fwexp.driver.progress import print_line
from fwexp.errors import MissingPackage, RunsFailed
from fwexp.files import folders
from fwexp.run.config import PRESETS

USAGE = """\
usage: fwexp reproduce [--dry-run] [--preset full|smoke] [--archive FILE] [results_dir=DIR] [data_dir=DIR]
                       [hydra/launcher=basic|joblib|dask] [hydra.launcher.KEY=VALUE ...]

Run everything that the figures and claims of all papers need and the store lacks, draw the figures, check the claims and write the
report. You can interrupt and repeat it: finished runs are never repeated.

  --dry-run         list missing runs only, with an estimate of their time
  --preset smoke    run few seeds and passes, as a quick check
  --archive FILE    take runs from an archive, such as results/runs.tar.xz, first, and make only what it lacks
  hydra/launcher    basic runs one run at a time; joblib runs several at once, and is the default where it is installed for runs
                    whose seconds are not shown; dask runs on a cluster (docs/tutorials/cluster.md)

Figures and claims that fail, or lack their data, are named at the end.
"""
ACCEPTED = {"switches": ("--dry-run",), "flags": {"--preset": PRESETS, "--archive": ()}, "keys": LAUNCHED}


@command("fwexp reproduce", USAGE, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp reproduce`` with the arguments after ``reproduce``, and return the exit code."""
    preset = given.flags.get("--preset", "full")
    results_dir = folders.check_folder("results_dir", given.keys.get("results_dir", "results"))
    from fwexp import store
    from fwexp.papers.claims import all_claims
    from fwexp.papers.claims.verdict_records import check_writable as check_claims
    from fwexp.papers.plan import plan, published_runs, table
    from fwexp.papers.report.build import check_writable as check_report

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
    from fwexp.papers.plan import about
    from fwexp.run import from_arguments

    where = {"results_dir": results_dir, "data_dir": data_dir, "settings": settings}
    made = makers([step.name for step in steps if step.figure is not None], preset=preset, launcher=launcher, **where)
    jobs = []
    for step in steps:
        left = f"{len(step.missing)} runs, {about(step)}" if step.missing else "nothing to run"
        if step.figure is None:
            chosen = launcher or launcher_of(timed=False)
            do = functools.partial(from_arguments.execute, step.configs, launcher=chosen, **where)
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
    from fwexp.papers.report.build import build

    records = check_all(all_claims(), results_dir, preset, stale=True, verbose=True)
    for path in save(records, results_dir, preset):
        print(path)
    print(summary(records))
    try:
        print(build(results_dir, verbose=True))
    except MissingPackage as error:
        print_line(f"no report: {error}")

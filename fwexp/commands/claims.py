"""``fwexp claims``."""

# ruff: noqa: T201

import textwrap
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError
from fwexp.files import folders
from fwexp.run.config import PRESETS

USAGE = """\
usage: fwexp claims [PAPER] [--run] [--strict] [--preset full|smoke] [results_dir=DIR] [data_dir=DIR] [published=DIR]

What stored runs say of the papers' claims: holds, holds in part, or fails, where they contradict the paper's sentence; not
reached where that is about more than they went to, and undecided where runs are missing. A line each, with where the paper says
it, then why it is not more.

  PAPER             B13, G16, L or R (icml2013, icml2016, lecture, review), or one claim such as B13-1; without it, all
  --run             first run what is missing
  --strict          exit with 1 if a verdict is another than the published one
  --preset smoke    look at the short runs of fwexp figure --preset smoke; most criteria look further than these go

Writes DIR/claims/<paper>.json: statements, the places in the papers, criteria, numbers, the verdicts at other thresholds where
these are ours, and the keys of the runs behind them. published=DIR is the
folder that --strict compares with (default: results/published).
"""
ACCEPTED = {"switches": ("--run", "--strict"), "flags": {"--preset": PRESETS}, "keys": ("published",)}
WIDTH = 110


def _papers() -> list[str]:
    from fwexp.papers.declarations import papers_by_id

    return list(papers_by_id())


@command("fwexp claims", USAGE, words=1, offers=_papers, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp claims`` with the arguments after ``claims``.

    Returns
    -------
    int
        The exit code: 0 for any verdicts, 1 where runs failed or, if strict, a verdict changed.

    Raises
    ------
    UserError
        Unknown paper, flag or key.
    """
    names, flags, keys = given
    preset = flags.get("--preset", "full")
    from fwexp.papers.claims.registry import of_paper
    from fwexp.papers.claims.verdict_records import check_all, check_writable, run_missing, save, summary

    claims = of_paper(*names)
    results_dir = folders.check_folder("results_dir", keys.get("results_dir", "results"))
    published = _published(Path(keys.get("published", "results/published")), claims) if "--strict" in flags else None
    check_writable(claims, results_dir, preset)
    failed = None
    if "--run" in flags:
        from fwexp.errors import RunsFailed

        try:
            run_missing(claims.values(), results_dir, keys.get("data_dir"), preset)
        except RunsFailed as error:  # say what the others decide
            failed = error
    records = check_all(claims, results_dir, preset)
    for record in records.values():
        print(line(record))
    print(summary(records))
    for path in save(records, results_dir, preset):
        print(path)
    if failed:
        raise failed
    changed = changes(records, published) if published is not None else []
    print(*changed, sep="\n", end="\n" if changed else "")
    return 1 if changed else 0


def line(record: dict) -> str:
    """Return the lines that the terminal shows of a claim: verdict, reference, statement and reason."""
    text = f"{record['id']:7} {record['verdict']:14} "
    statement = textwrap.wrap(record["statement"], WIDTH - len(text))
    why = textwrap.wrap(record["why"], WIDTH - len(text), initial_indent="- ", subsequent_indent="  ") if record["why"] else []
    return text + ("\n" + " " * len(text)).join(
        [textwrap.shorten(record["place"], WIDTH - len(text), placeholder=" ..."), *statement, *why]
    )


def changes(records: dict, published: dict) -> list[str]:
    """Return one line for each verdict that differs from the published one."""
    told = {id: record["verdict"] for id, record in published.items()}
    return [
        f"{id}: {told.get(id, 'not published')} is published, now it is {record['verdict']}"
        for id, record in records.items()
        if told.get(id) != record["verdict"]
    ]


def _published(folder: Path, claims) -> dict:
    from fwexp.papers.claims.verdict_records import read
    from fwexp.papers.declarations import papers_by_id

    verdicts = {}
    for paper in dict.fromkeys(claim.paper for claim in claims.values()):
        path = folder / "claims" / f"{papers_by_id()[paper].name}.json"
        records = read(path)
        if not records:
            raise ParameterError(f"--strict needs published verdicts, found none in {path}")
        verdicts |= records
    return verdicts

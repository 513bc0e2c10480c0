"""``fwexp claims``."""

# ruff: noqa: T201

import textwrap
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import OptionError, ParameterError
from fwexp.files import atomic
from fwexp.run.config import PRESETS
from fwexp.store.keys import STALE

USAGE = """\
usage: fwexp claims [PAPER] [--run | --archive FILE] [--confirm] [--stale] [--strict] [--preset full|smoke]
                    [results_dir=DIR] [data_dir=DIR] [published=DIR] [out=DIR]

Check the papers' claims against stored runs. Prints one line per claim: the verdict, its place in the paper, and the reason if it
is not `holds`. The verdicts are

  holds                 all parts of the claim hold
  holds where measured  some parts hold and none is contradicted; for the others, runs are missing, too short or do not tell
  in part               some parts are contradicted; at least half of the decided parts hold
  mostly contradicted   some parts hold; fewer than half of the decided parts do
  fails                 no part holds, and at least one is contradicted
  undecided             no part is decided: runs are missing, too short or do not tell
  lists misprints       what is printed is wrong and the mended statement right; this is no result of the paper

Criteria are frozen before runs are made. Runs with seeds 10 to 19, which no criterion has seen, decide each claim again if they are
stored.

  PAPER             B13, G16, L or R (icml2013, icml2016, lecture, review), or one claim such as B13-1 (default: all)
  --run             run missing runs first, and repeat those that another version of the code made
  --confirm         with --run: run what is missing for seeds 10 to 19 instead
  --stale           take runs that another version of the code made; otherwise a claim that needs one is undecided
  --strict          exit with 1 if a verdict differs from the published one
  --preset smoke    use the short runs of `fwexp figure --preset smoke`, which are too short for most criteria
  --archive FILE    decide from the runs in an archive, such as results/runs.tar.xz, without a store; any version
                    of the code may have made them

Writes DIR/claims/<paper>.json: statements, places, criteria, numbers, verdicts at other thresholds where we chose the threshold,
and the keys of the runs. published=DIR is the folder that --strict compares with (default: results/published). out=DIR is another
folder for the verdicts, if the store may not be written.
"""
SWITCHES = ("--run", "--confirm", "--stale", "--strict")
ACCEPTED = {"switches": SWITCHES, "flags": {"--preset": PRESETS, "--archive": ()}, "keys": ("published", "out")}
WIDTH = 110


def _papers() -> list[str]:
    from fwexp.papers.declarations import papers_by_id

    return list(papers_by_id())


@command("fwexp claims", USAGE, words=1, offers=_papers, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp claims``, and return the exit code: 1 where runs failed or, if strict, a verdict changed."""
    names, flags, keys = given
    preset = flags.get("--preset", "full")
    if "--run" in flags and "--archive" in flags:
        raise OptionError("fwexp claims takes either --run or --archive, because claims are decided from the archive alone")
    if "--stale" in flags and "--archive" in flags:
        raise OptionError("fwexp claims takes --stale only for a store: the runs in an archive are of any version of the code")
    if "--confirm" in flags and "--run" not in flags:
        raise OptionError("fwexp claims takes --confirm only with --run: stored runs confirm claims without it")
    from fwexp import store
    from fwexp.papers.claims.registry import of_paper
    from fwexp.papers.claims.verdict_records import check_all, check_writable, run_missing, save, summary

    claims = of_paper(*names)
    results_dir, out = given.folders
    published = _published(Path(keys.get("published", "results/published")), claims) if "--strict" in flags else None
    store.check_writable(out, "out")
    check_writable(claims, out, preset)
    failed = None
    if "--run" in flags:
        from fwexp.errors import RunsFailed

        try:
            force, confirming = "--stale" not in flags and STALE, "--confirm" in flags
            run_missing(claims.values(), results_dir, keys.get("data_dir"), preset, force=force, confirming=confirming)
        except RunsFailed as error:  # check the claims whose runs succeeded
            failed = error
    archive = Path(flags["--archive"]) if "--archive" in flags else None
    records = check_all(claims, results_dir, preset, archive=archive, stale="--stale" in flags, verbose=True)
    for record in records.values():
        print(line(record))
    print(summary(records))
    for path in save(records, out, preset):
        print(path)
    if failed:
        raise failed
    changed = changes(records, published) if published is not None else []
    print(*changed, sep="\n", end="\n" if changed else "")
    return 1 if changed else 0


def line(record: dict) -> str:
    """Return the lines that the terminal shows of a claim: verdict, reference, statement and reason."""
    from fwexp.papers.claims.verdict import UNDECIDED, told

    text = f"{record['id']:7} {record['verdict']:20} "
    statement = textwrap.wrap(record["statement"], WIDTH - len(text))
    why = textwrap.wrap(record["why"], WIDTH - len(text), initial_indent="- ", subsequent_indent="  ") if record["why"] else []
    if record["stand_ins"]:
        why += textwrap.wrap(f"- on stand-ins, {told(record['stand_ins'])}", WIDTH - len(text), subsequent_indent="  ")
    if record["confirmation"] and record["confirmation"]["verdict"] != UNDECIDED:
        why += [f"- on seeds 10 to 19: {record['confirmation']['verdict']}"]
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

    folder, verdicts = atomic.readable(folder), {}
    for paper in dict.fromkeys(claim.paper for claim in claims.values()):
        path = folder / "claims" / f"{papers_by_id()[paper].name}.json"
        records = read(path)
        if not records:
            raise ParameterError(f"--strict needs published verdicts, found none in {path}")
        verdicts |= records
    return verdicts

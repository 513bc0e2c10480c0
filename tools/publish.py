"""Small copies of the reproduced results, for the repository: ``make publish``.

Smaller than in the store: pictures are half as wide and high, with all colours, and have no SVG; tables of numbers no keys or
commits, four digits, and at most `POINTS` positions per curve, the first and the last among them; records of runs and verdicts
have the first 12 digits of keys, which ``fwexp ls key=...`` takes.
"""

import datetime
import io
import json
import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import psutil

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, exit_code, unknown
from fwexp.files import folders, owned
from fwexp.files.folders import exists, is_file
from fwexp.papers.claims import all_claims, check_all, shown_by
from fwexp.papers.claims.verdict import VERDICTS, told
from fwexp.papers.claims.verdict_records import by_kind, close_thresholds, parts_of, read, tally, verdicts
from fwexp.papers.declarations import FIGURES, PAPERS, papers_by_id
from fwexp.papers.figure_files import TABLE, paths, read_file, read_record, sealed, stem_of
from fwexp.papers.origin import commit_of
from fwexp.papers.report.figures import Drawn, drawn
from fwexp.plots.frames import spread
from fwexp.store.records import Damaged
from tools import departures
from tools.archive_runs import archive_runs, check_target
from tools.published_faults import (
    DIFFERENCES,
    DIGITS,
    DROPPED,
    KEPT,
    PEERS,
    PEERS_PART,
    VERDICTS_AGAIN,
    commits_of_drawings,
    commits_of_runs,
    faults,
    faults_of,
    is_current,
    part_of,
    parts,
    read_json,
)

KIND = "published results"
POINTS = 12
USAGE = """\
usage: python -m tools.publish [PART ...] [--archive FILE] [results_dir=DIR] [published=DIR]

Copy results into a folder to commit (default: results/published), with their provenance: small copies of the figures of full runs,
the verdicts on the claims, and the comparison with other tools. Runs nothing; replaces the contents of the folder. Prints which
results it leaves out because they are damaged, and which were made at another commit.

  --archive FILE   write records and traces of all runs behind the copies to one file, with keys and checksums, for a data
                   archive: `fwexp claims --archive FILE` decides from it alone, and `fwexp reproduce --archive FILE` draws the
                   figures without making these runs; an existing file is replaced
  PART   icml2013, icml2016, lecture, review, horses, pose, quickstart or peers: copy only these figures and the claims of this
         paper, and leave the rest of the folder as it is
"""


def publish(results_dir: Path, folder: Path, chosen: Sequence[str] = (), *, verbose: bool = False) -> list[Path]:
    """Write the published copies of a store, or of its chosen `parts`, and replace earlier ones; return the files."""
    _check_place(folder, results_dir)
    accepted = parts()
    for name in chosen:
        if name not in accepted:
            raise OptionError(unknown("part of what is published", name, accepted))
    wanted = chosen or accepted
    figures = [drawing for drawing in drawn(results_dir) if drawing.preset == "full" and part_of(drawing.figure.name) in wanted]
    compared = _compared(results_dir) if PEERS_PART in wanted else {}
    claims = {id: claim for id, claim in all_claims().items() if papers_by_id()[claim.paper].name in wanted}
    drawn_parts = {part_of(drawing.figure.name) for drawing in figures} | ({PEERS_PART} if compared else set())
    lacking = set(chosen) - drawn_parts - (set(PAPERS) - set(map(part_of, FIGURES)))
    if lacking or not (chosen or figures):
        of = f" of {', '.join(sorted(lacking))}" if lacking else ""
        raise OptionError(f"there is nothing to publish: no figure{of} in {results_dir} is drawn from the full runs")
    records = check_all(claims, results_dir, stale=True, verbose=verbose)
    about = provenance(results_dir, figures, records, chosen)  # before new files make the checkout a changed one
    with owned.replacing_folder(folder, KIND) as temporary:
        before = _keep(folder, temporary, wanted) if chosen else None
        contents = small_verdicts(records, temporary)
        for drawing in figures:
            contents |= small_figure(drawing, temporary / "figures" / drawing.figure.name)
        for name, of_comparison in compared.items():
            contents |= sealed(temporary / PEERS_PART / name, *of_comparison)
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if before:
            about = before | {"since": [*_but_for(chosen, before.get("since", [])), {"parts": sorted(chosen)} | about]}
        else:
            about["since"] = []
        content = json.dumps(about, indent=1, ensure_ascii=False)
        (temporary / "provenance.json").write_text(f"{content}\n", encoding="utf-8")
        (temporary / "README.md").write_text(gallery(temporary), encoding="utf-8")
        (temporary / DIFFERENCES).write_text(departures.page(temporary), encoding="utf-8")
    return sorted(path for path in folder.rglob("*") if is_file(path))


def _compared(results_dir: Path) -> dict[str, tuple[dict[str, bytes], dict]]:
    """Return the contents of the files of the comparisons with other tools, by name."""
    compared = {}
    for name in PEERS:
        stem = results_dir / PEERS_PART / name
        if any(exists(path) for path in paths(stem, TABLE)):
            try:
                record = read_record(stem, TABLE, f"peers/{name}", "")
                contents = {suffix: read_file(stem, suffix, record) for suffix in TABLE[:-1]}
            except Damaged as error:
                again = f"python -m benchmarks.peers.compare --only {name}"
                print_line(f"comparison with {name} is damaged: {error}; measure it again with {again}")
            else:
                compared[name] = contents, {entry: record[entry] for entry in KEPT}
    return compared


def _keep(folder: Path, temporary: Path, wanted: Sequence[str]) -> dict | None:
    """Copy the undamaged published files of other parts; return their origin, if that can be read."""
    left_out = set()
    for path in sorted(path for path in folder.rglob("*") if is_file(path)):
        place = path.relative_to(folder)
        stem = stem_of(place)
        part = next((name for name in stem.parts if name not in ("figures", "claims")), "")
        if part in wanted or stem in left_out or place.name in ("README.md", DIFFERENCES, owned.MARK):
            continue
        if fault := next(faults_of(path, folder), None):
            print_line(f"{path}: {fault}; left out")
            left_out.add(stem)
        else:
            (temporary / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, temporary / place)
    return read_json(temporary / "provenance.json")


def _check_place(folder: Path, results_dir: Path) -> None:
    """Refuse a folder that holds anything but published results: they are replaced."""
    place, store = folder.resolve(), results_dir.resolve()
    if place in (store, *store.parents):
        raise OptionError(f"published={folder} holds the store, which would be replaced; accepted: a folder of its own")
    owned.check_folder(folder, KIND)


def _but_for(parts: Sequence[str], since: Sequence[Mapping]) -> list[dict]:
    """Return the sentence on parts that were published again, without some of them."""
    left = [{**about, "parts": [part for part in about["parts"] if part not in parts]} for about in since]
    return [about for about in left if about["parts"]]


def small_figure(drawing: Drawn, stem: Path) -> dict[Path, bytes]:
    """Return the small files of a figure."""
    contents = {suffix: drawing.read(suffix) for suffix in drawing.suffixes if suffix.endswith((".png", ".md"))}
    contents = {suffix: content if suffix == ".md" else small_picture(content) for suffix, content in contents.items()}
    numbers = thinned(pd.read_csv(io.BytesIO(drawing.read(".csv"))))
    contents[".csv"] = numbers.to_csv(index=False, float_format="%.4g", lineterminator="\n").encode()
    record = {name: drawing.record.get(name, "") for name in KEPT}
    runs = {key[:DIGITS]: {name: run.get(name) for name in ("created", "commit")} for key, run in drawing.record["runs"].items()}
    return sealed(stem, contents, record | {"runs": runs})


def small_verdicts(records: Mapping[str, Mapping], folder: Path) -> dict[Path, bytes]:
    """Return the files of verdicts, with short keys."""
    files = verdicts({id: record | {"runs": [key[:DIGITS] for key in record["runs"]]} for id, record in records.items()}, folder)
    return {path: content() for path, content in files.items()}


def small_picture(content: bytes) -> bytes:
    """Return a PNG half as wide and high: a pixel is the mean of four, so that colours stay where they fill a line."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    picture = Image.open(io.BytesIO(content))
    words = PngInfo()
    for name in ("Title", "Description", "Software"):
        if picture.info.get(name):
            words.add_itxt(name, picture.info[name])
    small = io.BytesIO()
    picture.convert("RGB").reduce(2).save(small, format="PNG", optimize=True, pnginfo=words)
    return small.getvalue()


def thinned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a figure without keys, with at most `POINTS` positions per curve."""
    frame = frame.drop(columns=list(DROPPED), errors="ignore")
    if not {"panel", "variant", "x"} <= set(frame):
        return frame
    kept = []
    for _, curve in frame.groupby(["panel", "variant"], sort=False, dropna=False):
        kept += curve.index[spread(len(curve), POINTS)].tolist()
    return frame.loc[sorted(kept)]


def provenance(results_dir: Path, figures: Sequence[Drawn], records: Mapping[str, Mapping], chosen: Sequence[str] = ()) -> dict:
    """Return the provenance of published results: this command, this checkout, this machine, and the runs behind them."""
    from fwexp import store
    from fwexp.store.provenance import provenance as here

    by_part: dict[str, set[str]] = {}
    for drawing in figures:
        by_part.setdefault(part_of(drawing.figure.name), set()).update(drawing.record["runs"])
    for record in records.values():
        by_part.setdefault(papers_by_id()[record["paper"]].name, set()).update(record["runs"])
    looked_at = set().union(*by_part.values())
    now, runs = here(), [run for run in store.find_runs(results_dir) if run.key in looked_at]
    stale = {run.key for run in runs if run.stale}
    made = [run.record.get("provenance", {}) for run in runs]
    dates = sorted(run.record["created"] for run in runs if run.record.get("created"))
    seconds = {run.key: run.record.get("time") or 0.0 for run in runs}
    by_figure = {drawing.figure.name: [seconds[key] for key in drawing.record["runs"] if key in seconds] for drawing in figures}
    return {
        "command": " ".join(["make publish", *chosen]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit_of(now),
        "versions": {"python": now["python"], **now["versions"]},
        "system": now["system"],
        "cpu": now["cpu"],
        "cpu_kind": now["cpu_kind"],
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "runs": {
            "stored": len(runs),
            "stale": {part: len(keys & stale) for part, keys in sorted(by_part.items())},
            "solver_hours": round(sum(seconds.values()) / 3600, 2),
            "first": dates[0] if dates else None,
            "last": dates[-1] if dates else None,
            "commits": dict(Counter(commit_of(origin) for origin in made)),
            "cpus": dict(Counter(origin.get("cpu", "unknown") for origin in made)),
            "cores": sorted({origin["cpu_count"] for origin in made if origin.get("cpu_count")}),
            "threads": sorted({origin["threads"] for origin in made if origin.get("threads")}),
            "figures": {name: {"runs": len(times), "solver_seconds": round(sum(times), 1)} for name, times in by_figure.items()},
        },
    }


def gallery(folder: Path) -> str:
    """Return the page that shows the published results of a folder."""
    about = read_json(folder / "provenance.json")
    lines = [
        "# Published results",
        "",
        f"These results come from {about['runs']['stored']} stored runs.",
        f"Runs were made at {', '.join(commits_of_runs(folder)) or 'no commit'},",
        f"figures drawn at {', '.join(commits_of_drawings(folder)) or 'no commit'}.",
        f"Written by `{about['command']}` on {about['date']} at commit {about['commit'][:12]}, on {about['cpu']}.",
    ]
    for later in about["since"]:
        lines.append(
            f"Published again: {', '.join(later['parts'])}, by `{later['command']}` on {later['date']}"
            f" at commit {later['commit'][:12]}, on {later['cpu']}, from {later['runs']['stored']} runs."
        )
    if again := about.get(VERDICTS_AGAIN):
        made = ", ".join(f"{count} at {commit[:DIGITS]}" for commit, count in sorted(again["runs"].items()))
        lines.append(f"Verdicts were decided again on {again['date']} at commit {again['commit'][:12]}, from runs made at several")
        lines.append(f"commits ({made}).")
    lines += [
        f"[What is reproduced, and how it differs]({DIFFERENCES}) has data, sizes, seeds and budgets;",
        "[provenance.json](provenance.json) has versions and runs. These are reduced copies: half-size pictures,",
        f"tables with at most {POINTS} positions per curve and four digits, and keys of {DIGITS} digits.",
        "",
        "A claim is a sentence of a paper with a criterion. Stored runs decide it, or a computation on small problems (`runs`",
        "in its record is empty). Parts on data that stand in for the paper's are not counted.",
        "",
    ]
    records: dict[str, dict] = {}
    for name in PAPERS:
        records |= read(folder / "claims" / f"{name}.json")
    lines += claims_by_kind(records.values())
    if compared := [path.stem for name in PEERS if (path := folder / PEERS_PART / f"{name}.md") and is_file(path)]:
        lines += ["", "Compared with other tools: " + ", ".join(f"[{name}](peers/{name}.md)" for name in compared) + "."]
    for name, figure in sorted(FIGURES.items()):
        record = read_json(folder / "figures" / f"{name}.json")
        if not record:
            continue
        lines += ["", f"## {name}", "", f"**{escaped(record['title'])}.**"]
        if record.get("note"):
            lines += ["", f"*{escaped(record['note'])}*"]
        if figure.is_table:
            lines += ["", f"[The table](figures/{name}.md)."]
        else:
            pages = [suffix for suffix in figure.suffixes if suffix.endswith(".png")]
            lines += [line for page in pages for line in ("", f"![{escaped(record['title'])}](figures/{name}{page})")]
        lines += ["", escaped(figure.caption)] if figure.caption else []
        for claim in (records[id] for id in shown_by(name) if id in records):
            earlier = "" if is_current(claim) else " (by an earlier criterion)"
            lines += ["", f"{claim['id']} **{claim['verdict']}**{earlier}: {escaped(claim['statement'])}"]
            lines += [f"In the paper: {escaped(claim['place'])}."] if claim.get("place") else []
            lines += [f"*{escaped(claim['why'])}.*"] if claim["why"] else []
            lines += (
                [f"On data that stands in for the paper's: *{escaped(told(claim['stand_ins']))}.*"] if claim["stand_ins"] else []
            )
    if close := {id: names for id, record in records.items() if (names := close_thresholds(record))}:
        lines += ["", "## Verdicts that are close to a threshold that we chose: the next value that we tried gives another one", ""]
        lines += [f"- {id}: {', '.join(names)}" for id, names in close.items()]
    if hanging := {id: names for id, record in records.items() if (names := _deciding(record))}:
        lines += ["", "## Verdicts that depend on a threshold that we chose", ""]
        lines += [f"- {id}: {', '.join(names)}" for id, names in hanging.items()]
    if changed := {id: record["changed"] for id, record in records.items() if record["changed"]}:
        lines += ["", "## Criteria that were changed after their result was seen", ""]
        lines += [f"- {id}: {escaped(reason)}" for id, reason in changed.items()]
    return "\n".join(lines) + "\n"


def claims_by_kind(records: Collection[Mapping]) -> Iterator[str]:
    """Yield what verdicts mean, how many claims have them, by paper and by kind, and how many other seeds confirm."""
    yield from (
        "| verdict | meaning |",
        "| --- | --- |",
        *(f"| {verdict} | {meaning} |" for verdict, meaning in VERDICTS.items()),
        "",
    )
    yield from ("Parts of lists of misprints are counted in their own row only.", "")
    yield from ("| | claims | verdicts | parts |", "| --- | ---: | --- | --- |")
    by_paper = {paper.title: [record for record in records if record["paper"] == paper.id] for paper in PAPERS.values()}
    for what, found in (*by_paper.items(), *by_kind(records).items(), ("all", records)):
        if found:
            yield f"| {what} | {len(found)} | {tally(found)} | {parts_of(found)} |"
    confirmed = [record["confirmation"] for record in records if record["confirmation"]]
    missing = sum(found["why"].endswith("not stored") for found in confirmed)
    yield ""
    yield f"Of {len(confirmed)} claims that read several seeds, seeds 10 to 19, which no criterion has seen, decide"
    yield f"{len(confirmed) - missing}; for the others, such runs are not stored yet."


def _deciding(record: Mapping) -> list[str]:
    """Return the values of thresholds at which a claim has another verdict, with that verdict."""
    tried = {f"{name} = {value}": found["verdict"] for name, at in record["sensitivity"].items() for value, found in at.items()}
    return [f"{verdict} at {where}" for where, verdict in tried.items() if verdict != record["verdict"]]


def escaped(text: str) -> str:
    """Return Markdown that shows a text, in one line, for any characters in it."""
    return re.sub(r"[\\`*_\[\]<>&|~$]", r"\\\g<0>", " ".join(text.split()))


@command("make publish", USAGE, words=math.inf, offers=parts, flags={"--archive": ()}, keys=("published",))
def main(given: Arguments) -> int:
    """Publish, and return the exit code."""
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


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))

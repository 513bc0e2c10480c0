"""Small copies of what was reproduced, for the repository: pictures, numbers, verdicts, and where they come from.

Smaller than in the store: pictures have fewer colours and no SVG; tables of numbers no keys or commits, four digits, and at
most `POINTS` positions per curve, the first and the last among them; records of runs and verdicts have the first 12 digits of
keys, which ``fwexp ls key=...`` takes.
"""

import datetime
import io
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fwexp._durable import replacing_folder
from fwexp.errors import OptionError, unknown
from fwexp.experiments.catalogue import FIGURES
from fwexp.experiments.claims import PAPERS, all_claims, check_all
from fwexp.experiments.claims.check import read, save, tally
from fwexp.experiments.files import PICTURE, paths
from fwexp.experiments.origin import commit_of
from fwexp.experiments.peers.contests import CONTESTS
from fwexp.experiments.report.figures import Drawn, drawn

WIDTH, COLOURS = 1100, 64
POINTS = 12
DIGITS = 12
DROPPED = ("keys", "commit", "preset")
KEPT = ("figure", "title", "preset", "description", "note", "commit", "versions")
PEERS, PEERS_PART = (".md", ".csv"), "peers"


def parts() -> list[str]:
    """Return the parts that can be published one by one: papers, figures of none, and ``peers``."""
    FIGURES.load_all()
    return [*sorted({part_of(name) for name in FIGURES} | {name for name, _ in PAPERS.values()}), PEERS_PART]


def part_of(name: str) -> str:
    """Return the part that a figure belongs to: its paper, where it has one."""
    return name.partition("/")[0]


def publish(results_dir: Path, folder: Path, chosen: Sequence[str] = ()) -> list[Path]:
    """Write the published copies of a store, in place of those that are there.

    Parameters
    ----------
    results_dir : Path
        The store; nothing is written to it.
    folder : Path
        Where the copies go.
    chosen : sequence of str
        The `parts` to publish, with the verdicts on the claims of these papers; the others stay as they are. All by default.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    OptionError
        An unknown part; a folder of other things; no figure, or comparison, of what was chosen is drawn from the full runs.
    """
    _check_place(folder, results_dir)
    accepted = parts()
    for name in chosen:
        if name not in accepted:
            raise OptionError(unknown("part of what is published", name, accepted))
    wanted = chosen or accepted
    figures = [each for each in drawn(results_dir) if each.preset == "full" and part_of(each.figure.name) in wanted]
    compared = [path for name in CONTESTS for path in paths(results_dir / "peers" / name, PEERS) if path.is_file()]
    compared = compared if PEERS_PART in wanted else []
    claims = {id: claim for id, claim in all_claims().items() if PAPERS[claim.paper][0] in wanted}
    drawn_parts = {part_of(each.figure.name) for each in figures} | ({PEERS_PART} if compared else set())
    lacking = set(chosen) - drawn_parts - {name for name, _ in PAPERS.values() if name not in map(part_of, FIGURES)}
    if lacking or not (chosen or figures):
        of = f" of {', '.join(sorted(lacking))}" if lacking else ""
        raise OptionError(f"there is nothing to publish: no figure{of} in {results_dir} is drawn from the full runs")
    records = {id: short(record) for id, record in check_all(claims, results_dir).items()}
    about = provenance(results_dir, figures, chosen)  # before there are new files, with which the checkout would be a changed one
    with replacing_folder(folder.resolve()) as temporary:
        if chosen and folder.is_dir():
            shutil.copytree(folder, temporary, dirs_exist_ok=True)
        for name in wanted:  # what is no more there must not stay
            (temporary / "claims" / f"{name}.json").unlink(missing_ok=True)
            for path in [temporary / name, *(temporary / "figures").glob(f"{name}.*"), temporary / "figures" / name]:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for each in figures:
            write_figure(each, temporary / "figures" / each.figure.name)
        save(records, temporary)
        for path in compared:
            (temporary / PEERS_PART).mkdir(exist_ok=True)
            shutil.copyfile(path, temporary / PEERS_PART / path.name)
        if chosen and (before := read_json(temporary / "provenance.json")):
            about = before | {"since": [*_but_for(chosen, before.get("since", [])), {"parts": sorted(chosen)} | about]}
        else:
            about["since"] = []
        write_json(temporary / "provenance.json", about)
        (temporary / "README.md").write_text(gallery(temporary), encoding="utf-8")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _check_place(folder: Path, results_dir: Path) -> None:
    """Refuse a folder that holds anything but published results: they are replaced."""
    place, store = folder.resolve(), results_dir.resolve()
    if place in (store, *store.parents):
        raise OptionError(f"published={folder} holds the store, which would be replaced; accepted: a folder of its own")
    if place.exists() and not (place.is_dir() and ((place / "provenance.json").is_file() or not any(place.iterdir()))):
        raise OptionError(f"published={folder} holds something else; accepted: a new folder, or one with published results")


def _but_for(parts: Sequence[str], since: Sequence[Mapping]) -> list[dict]:
    """Return what is said of parts that were published again, without some of them."""
    left = [{**about, "parts": [part for part in about["parts"] if part not in parts]} for about in since]
    return [about for about in left if about["parts"]]


def write_figure(found: Drawn, stem: Path) -> None:
    """Write the small files of a figure."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    if found.figure.suffixes == PICTURE:
        stem.with_suffix(".png").write_bytes(small_picture(found.path(".png").read_bytes()))
    else:
        stem.with_suffix(".md").write_bytes(found.path(".md").read_bytes())
    thinned(pd.read_csv(found.path(".csv"))).to_csv(stem.with_suffix(".csv"), index=False, float_format="%.4g", lineterminator="\n")
    record = {name: found.record.get(name, "") for name in KEPT}
    runs = {key[:DIGITS]: {name: run.get(name) for name in ("created", "commit")} for key, run in found.record["runs"].items()}
    write_json(stem.with_suffix(".json"), record | {"runs": runs})


def small_picture(content: bytes) -> bytes:
    """Return a PNG of few colours and at most `WIDTH` pixels."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    picture = Image.open(io.BytesIO(content))
    words = PngInfo()
    for name in ("Title", "Description", "Software"):
        if picture.info.get(name):
            words.add_itxt(name, picture.info[name])
    shown = picture.convert("RGB")
    if shown.width > WIDTH:
        shown = shown.resize((WIDTH, round(shown.height * WIDTH / shown.width)), Image.Resampling.LANCZOS)
    small = io.BytesIO()
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(small, format="PNG", optimize=True, pnginfo=words)
    return small.getvalue()


def thinned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a figure without keys, with at most `POINTS` positions per curve."""
    frame = frame.drop(columns=list(DROPPED), errors="ignore")
    if not {"panel", "variant", "x"} <= set(frame):
        return frame
    kept = []
    for _, curve in frame.groupby(["panel", "variant"], sort=False, dropna=False):
        chosen = np.unique(np.linspace(0, len(curve) - 1, min(POINTS, len(curve))).round().astype(int))
        kept += curve.index[chosen].tolist()
    return frame.loc[sorted(kept)]


def short(record: Mapping) -> dict:
    """Return the record of a claim with short keys."""
    return {**record, "runs": [key[:DIGITS] for key in record["runs"]]}


def provenance(results_dir: Path, figures: Sequence[Drawn], chosen: Sequence[str] = ()) -> dict:
    """Return where what is published comes from: what wrote it, this checkout, this machine, and the runs."""
    from fwexp.experiments.reproduce.plan import plan
    from fwexp.run import store
    from fwexp.run.provenance import provenance as here

    now, runs, steps = here(), store.find_runs(results_dir), plan(results_dir)
    if chosen:
        shown = {key for each in figures for key in each.record["runs"]}
        runs = [run for run in runs if run.key in shown]
        steps = [step for step in steps if step.name in {each.figure.name for each in figures}]
    made = [run.record.get("provenance", {}) for run in runs]
    dates = sorted(run.record["created"] for run in runs if run.record.get("created"))
    return {
        "command": " ".join(["fwexp publish", *chosen]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit_of(now),
        "versions": {"python": now["python"], **now["versions"]},
        "system": now["system"],
        "cpu": now["cpu"],
        "cpu_kind": now["cpu_kind"],
        "runs": {
            "stored": len(runs),
            "missing": sum(len(step.missing) for step in steps),
            "solver_hours": round(sum(run.record.get("time") or 0.0 for run in runs) / 3600, 2),
            "first": dates[0] if dates else None,
            "last": dates[-1] if dates else None,
            "commits": dict(Counter(commit_of(each) for each in made)),
            "cpus": dict(Counter(each.get("cpu", "unknown") for each in made)),
        },
    }


def gallery(folder: Path) -> str:
    """Return the page that shows what is published in a folder."""
    about = read_json(folder / "provenance.json")
    lines = [
        "# Published results",
        "",
        f"What {about['runs']['stored']} stored runs say; {about['runs']['missing']} that `fwexp reproduce` makes are missing.",
        f"Written by `{about['command']}` on {about['date']} at commit {about['commit'][:12]}, on {about['cpu']}.",
    ]
    for later in about["since"]:
        lines.append(
            f"Of it, {', '.join(later['parts'])}: written again by `{later['command']}` on {later['date']}"
            f" at commit {later['commit'][:12]}, on {later['cpu']}, from {later['runs']['stored']} runs."
        )
    lines += [
        "[provenance.json](provenance.json) has versions and runs. All is smaller than in the store:",
        f"pictures have few colours, tables at most {POINTS} positions per curve and four digits, records {DIGITS} digits of keys.",
        "",
        "| paper | claims | verdicts |",
        "| --- | --- | --- |",
    ]
    records = {}
    for name, title in PAPERS.values():
        if here := read(folder / "claims" / f"{name}.json"):
            lines.append(f"| {title} | {len(here)} | {tally(here)}: [claims/{name}.json](claims/{name}.json) |")
            records |= here
    if compared := [path.stem for name in CONTESTS if (path := folder / PEERS_PART / f"{name}.md").is_file()]:
        lines += ["", "Beside other tools: " + ", ".join(f"[{name}](peers/{name}.md)" for name in compared) + "."]
    for name, figure in sorted(FIGURES.items()):
        record = read_json(folder / "figures" / f"{name}.json")
        if not record:
            continue
        lines += ["", f"## {name}", "", f"{record['title']}."]
        if record.get("note"):
            lines += ["", f"*{record['note']}*"]
        if figure.suffixes == PICTURE:
            lines += ["", f"![{record['title']}](figures/{name}.png)"]
        else:
            lines += ["", f"[The table](figures/{name}.md)."]
        for claim in (records[id] for id in figure.claims if id in records):
            earlier = "" if is_current(claim) else " (by an earlier criterion)"
            lines += ["", f"{claim['id']} **{claim['verdict']}**{earlier}: {claim['statement']}"]
            lines += [f"In the paper: {claim['quote']}."] if claim.get("quote") else []
            lines += [f"*{claim['why']}.*"] if claim["why"] else []
    return "\n".join(lines) + "\n"


def is_current(record: Mapping) -> bool:
    """Whether a verdict was found by the criterion that its claim has now."""
    claim = all_claims().get(record.get("id"))
    return claim is not None and record.get("criterion") == claim.criterion


def read_json(path: Path) -> dict | None:
    """Return the object in a file; None where there is no file or no object in it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: Path, content: Mapping) -> None:
    """Write a file."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

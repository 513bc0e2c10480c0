"""Whether what is published is whole and small, and of figures and claims that exist."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from fwexp.experiments.catalogue import FIGURES
from fwexp.experiments.claims import PAPERS, VERDICTS, all_claims
from fwexp.experiments.peers import table as peers
from fwexp.experiments.peers.contests import CONTESTS
from fwexp.experiments.reproduce.publish import DIGITS, DROPPED, KEPT, PEERS, is_current, read_json
from fwexp.plots.curves import COLUMNS

MEGABYTES = 4
PICTURE_BYTES = 300_000
CLAIM = {
    **dict.fromkeys(("id", "paper", "statement", "quote", "criterion", "figure", "verdict", "why"), str),
    "parts": dict,
    "numbers": dict,
    "sensitivity": dict,
    "runs": list,
    "missing": int,
}
OLDER = {"quote": "", "sensitivity": {}}
"""What verdicts by an earlier criterion may lack."""
PROVENANCE = {
    **dict.fromkeys(("command", "date", "commit", "system", "cpu"), str),
    **dict.fromkeys(("versions", "cpu_kind", "runs"), dict),
}
AGAIN = {"parts": list, **PROVENANCE}
FIGURE = {**dict.fromkeys(KEPT, str), "versions": dict, "runs": dict}
SMALL = (".png", ".md", ".csv", ".json")


def faults(folder: Path) -> list[str]:
    """Return what is wrong with a folder of published results, a line each; nothing where there is no such folder.

    Parameters
    ----------
    folder : Path
        As `publish` writes it.

    Returns
    -------
    list of str
    """
    if not folder.is_dir():
        return []
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [f"{path.relative_to(folder).as_posix()}: {fault}" for path in files for fault in faults_of(path, folder)]
    size = sum(path.stat().st_size for path in files)
    if size > MEGABYTES * 1e6:
        found.append(f"{size / 1e6:.2f} MB in all, at most {MEGABYTES:g} MB")
    for name in ("provenance.json", "README.md"):
        if not (folder / name).is_file():
            found.append(f"{name} is missing")
    return found


def faults_of(path: Path, folder: Path) -> Iterator[str]:
    """Yield what is wrong with one file of a folder of published results."""
    place = path.relative_to(folder)
    match place.parts:
        case ("README.md",):
            yield from _links(path)
        case ("provenance.json",):
            yield from _record(path, {**PROVENANCE, "since": list})
            since = (read_json(path) or {}).get("since")
            for about in since if isinstance(since, list) else ():
                if faulty := _misfits(about, AGAIN):
                    yield f"since: {faulty}"
        case ("claims", name):
            yield from _claims(path, name.removesuffix(".json"))
        case ("peers", name) if path.stem in CONTESTS and path.suffix in PEERS:
            if path.suffix == ".csv" and list(pd.read_csv(path, nrows=1)) != peers.COLUMNS:
                yield "its columns are others than those of the comparison"
        case ("figures", *_):
            yield from _figure(path, place.relative_to("figures").with_suffix("").as_posix())
        case _:
            yield "does not belong here"


def _figure(path: Path, name: str) -> Iterator[str]:
    if name not in FIGURES:
        yield f"there is no figure {name!r}"
        return
    suffixes = [suffix for suffix in FIGURES.find(name).suffixes if suffix in SMALL]
    if path.suffix not in suffixes:
        yield f"{name} has files {', '.join(suffixes)}"
        return
    lacking = [suffix for suffix in suffixes if not path.with_suffix(suffix).is_file()]
    if lacking:
        yield f"{', '.join(lacking)} is missing beside it"
    match path.suffix:
        case ".png":
            if not path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n"):
                yield "is no PNG"
            if path.stat().st_size > PICTURE_BYTES:
                yield f"has {path.stat().st_size} bytes, at most {PICTURE_BYTES}"
        case ".csv":
            yield from _numbers(path, FIGURES.find(name).has_curves)
        case ".json":
            yield from _record(path, FIGURE)
            record = read_json(path) or {}
            if record.get("figure") != name or record.get("preset") != "full":
                yield f"is of {record.get('figure')!r} from the {record.get('preset')} runs, expected {name!r} from the full ones"
            if not record.get("runs") or any(len(key) != DIGITS for key in record["runs"]):
                yield f"runs must be named by {DIGITS} digits of their keys"


def _numbers(path: Path, curves: bool) -> Iterator[str]:
    try:
        frame = pd.read_csv(path)
    except (ValueError, pd.errors.ParserError) as error:
        yield f"cannot be read: {error}"
        return
    if frame.empty:
        yield "has no rows"
        return
    if set(frame) & set(DROPPED):
        yield f"has columns that are left out here: {', '.join(sorted(set(frame) & set(DROPPED)))}"
    if curves:
        lacking = [name for name in COLUMNS if name not in DROPPED and name not in frame]
        if lacking:
            yield f"lacks columns {', '.join(lacking)}"
        elif not np.isfinite(frame["x"]).all():
            yield "has positions that are no numbers"


def _claims(path: Path, name: str) -> Iterator[str]:
    papers = {folder: paper for paper, (folder, _) in PAPERS.items()}
    if path.suffix != ".json" or name not in papers:
        yield "there is no such paper"
        return
    records, claims = read_json(path), all_claims()
    if not records:
        yield "is no JSON object of verdicts"
        return
    for id, record in records.items():
        if id not in claims or claims[id].paper != papers[name]:
            yield f"there is no claim {id!r} of {name}"
        elif faulty := _misfits(OLDER | record if isinstance(record, dict) and not is_current(record) else record, CLAIM):
            yield f"{id}: {faulty}"
        elif record["id"] != id or record["verdict"] not in VERDICTS or record["figure"] != claims[id].figure:
            yield f"{id}: id, verdict or figure are none of a claim"


def _record(path: Path, schema: Mapping[str, type]) -> Iterator[str]:
    record = read_json(path)
    faulty = "is no JSON object" if record is None else _misfits(record, schema)
    if faulty:
        yield faulty


def _misfits(record, schema: Mapping[str, type]) -> str:
    if not isinstance(record, dict) or set(record) != set(schema):
        return f"must have the keys {', '.join(schema)}"
    wrong = [name for name, kind in schema.items() if not isinstance(record[name], kind)]
    return f"{', '.join(wrong)} of another kind than expected" if wrong else ""


def _links(path: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if not (path.parent / target).is_file():
            yield f"points to {target}, which is not there"

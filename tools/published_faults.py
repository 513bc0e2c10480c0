"""Checks of published results: whole, small, made by the code of one commit, and of figures and claims that exist."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fwexp.files import folders, owned
from fwexp.papers.claims import VERDICTS, all_claims
from fwexp.papers.declarations import FIGURES, PAPERS
from fwexp.papers.figure_files import TABLE, paths, read_record, stem_of
from fwexp.papers.origin import OF_CODE
from fwexp.store import records
from fwexp.store.records import Damaged

MEGABYTES = 10
DIGITS = 12
DROPPED = ("keys", "commit", "preset")
KEPT = ("figure", "title", "preset", "description", "note", "commit", "versions")
PEERS_PART = "peers"
PEERS = ("liblinear", "dlib", "crfsuite")  # the tools that `benchmarks.peers` compares with
DIFFERENCES = "reproduced.md"
"""The page that `tools.departures` writes."""
VERDICTS_AGAIN = "verdicts"
"""The entry of the provenance that names the code with which `tools.redraw` decided the claims again."""
SMALL = (".png", ".md", ".csv", ".json")


def parts() -> list[str]:
    """Return the parts that can be published one by one: papers, figures of none, and ``peers``."""
    FIGURES.load_all()
    return [*sorted({part_of(name) for name in FIGURES} | set(PAPERS)), PEERS_PART]


def part_of(name: str) -> str:
    """Return the part that a figure belongs to: its paper, where it has one."""
    return name.partition("/")[0]


def faults(folder: Path) -> list[str]:
    """Return the faults of a folder of published results, a line each; none if there is no such folder."""
    if not folders.is_folder(folder):
        return []
    files = sorted(path for path in folder.rglob("*") if folders.is_file(path))
    lines = [f"{path.relative_to(folder).as_posix()}: {fault}" for path in files for fault in faults_of(path, folder)]
    size = sum(path.stat().st_size for path in files)
    if size > MEGABYTES * 1e6:
        lines.append(f"{size / 1e6:.2f} MB in all, at most {MEGABYTES:g} MB")
    for name in ("provenance.json", "README.md", DIFFERENCES):
        if not folders.is_file(folder / name):
            lines.append(f"{name} is missing")
    return lines + of_other_code(folder)


def of_other_code(folder: Path) -> list[str]:
    """Return why published results are not those of the code of one commit, a line each.

    Runs may be of an earlier commit if the code that made them is the same. The comparison with other tools is left out: it is
    measured by itself, in seconds of one machine.
    """
    reserved = (record for record in _records(folder) if any(map(record["note"].count, OF_CODE)))
    reasons = [f"figures/{record['figure']}: {record['note']}" for record in reserved]
    stale: dict[str, int] = {}
    for runs in _sets_of_runs(folder):
        stale |= runs["stale"]  # of parts that were published again, the last count holds
    reasons += [f"{count} runs of {part} were made by another version of the code" for part, count in stale.items() if count]
    drawings, runs = commits_of_drawings(folder), commits_of_runs(folder)
    if len(drawings) > 1:
        reasons.append(f"drawings are of {', '.join(drawings)}, expected one commit")
    if unclean := sorted({commit for commit in (*drawings, *runs) if not re.fullmatch(r"[0-9a-f]+", commit)}):
        reasons.append(f"runs or drawings are of {', '.join(unclean)}, expected commits of a checkout without changes")
    return reasons


def commits_of_drawings(folder: Path) -> list[str]:
    """Return the commits, in short, that drew the pictures; tables, which may have measured times, are left by `tools.redraw`."""
    return _short(record["commit"] for record in _records(folder) if ".png" in record["files"])


def commits_of_runs(folder: Path) -> list[str]:
    """Return the commits, in short, of all runs behind published figures and claims."""
    made = {run["commit"] for record in _records(folder) for run in record["runs"].values()}
    return _short(made.union(*(runs["commits"] for runs in _sets_of_runs(folder))))


def _sets_of_runs(folder: Path) -> list[dict]:
    """Return what the provenance says of the runs of each publication of parts, unless it is rejected."""
    found = _publications(read_json(folder / "provenance.json"))
    return [part["runs"] for part in found if part.get("parts") != [PEERS_PART]]


def _publications(about: dict | None) -> list[dict]:
    """Return what a provenance says of all parts, and of those that were published again; none if it does not say that."""
    parts = [about, *about["since"]] if about and isinstance(about.get("since"), list) else []
    return parts if all(isinstance(part, dict) and isinstance(part.get("runs"), dict) for part in parts) else []


def _short(commits: Iterable[str]) -> list[str]:
    return sorted({commit[:DIGITS] + "-dirty" * commit.endswith("-dirty") for commit in commits})


def _records(folder: Path) -> Iterator[dict]:
    """Yield the JSON of each figure, unless it is rejected."""
    for path in sorted((folder / "figures").rglob("*.json")):
        with contextlib.suppress(Damaged):
            yield records.read(path, records.Figure)


def faults_of(path: Path, folder: Path) -> Iterator[str]:
    """Yield the faults of one file of a folder of published results."""
    place = path.relative_to(folder)
    match place.parts:
        case (owned.MARK,):
            pass
        case (name,) if name in ("README.md", DIFFERENCES):
            yield from _links(path)
        case ("provenance.json",):
            if not _publications(read_json(path)):
                yield "must have the runs of all publications"
        case ("claims", name):
            yield from _claims(path, name.removesuffix(".json"))
        case ("peers", _) if path.stem in PEERS and path.suffix in TABLE:
            yield from filter(None, [_sealed(path, TABLE, f"peers/{path.stem}", "")[1]])
        case ("figures", *_):
            yield from _figure(path, stem_of(place.relative_to("figures")).as_posix())
        case _:
            yield "does not belong here"


def _sealed(path: Path, suffixes: Sequence[str], *of: str) -> tuple[dict | None, str]:
    """Return the JSON next to a file, or None and the reason for rejecting it; only to the first file that exists."""
    present = sorted(one.name for one in paths(stem_of(path), suffixes) if folders.is_file(one))
    try:
        return read_record(stem_of(path), suffixes, *of), ""
    except Damaged as error:
        return None, f"is damaged: {error}" if path.name == present[0] else ""


def _figure(path: Path, name: str) -> Iterator[str]:
    if name not in FIGURES:
        yield f"there is no figure {name!r}"
        return
    suffixes = [suffix for suffix in FIGURES.find(name).suffixes if suffix.endswith(SMALL)]
    if path.name.removeprefix(stem_of(path).name) not in suffixes:
        yield f"{name} has files {', '.join(suffixes)}"
        return
    record, fault = _sealed(path, suffixes, name)
    if fault:
        yield fault
    elif record and (bool(record["runs"]) != FIGURES.find(name).has_runs or any(len(key) != DIGITS for key in record["runs"])):
        yield f"runs must be named by {DIGITS} digits of their keys"


def _claims(path: Path, name: str) -> Iterator[str]:
    if path.suffix != ".json" or name not in PAPERS:
        yield "there is no such paper"
        return
    verdicts, claims = read_json(path), all_claims()
    if not verdicts:
        yield "is no JSON object of verdicts"
        return
    for id, record in verdicts.items():
        if id not in claims or claims[id].paper != PAPERS[name].id:
            yield f"there is no claim {id!r} of {name}"
        elif not isinstance(record, dict) or record.get("verdict") not in VERDICTS or record.get("figure") != claims[id].figure:
            yield f"{id}: verdict or figure are none of a claim"


def _links(path: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8", errors="replace")):
        if not folders.is_file(path.parent / target):
            yield f"points to {target}, which is not there"


def is_current(record: Mapping) -> bool:
    """Return whether a verdict was found by the criterion that its claim has now."""
    claim = all_claims().get(record.get("id"))
    return claim is not None and record.get("criterion") == claim.criterion


def read_json(path: Path) -> dict | None:
    """Return the object in a file; None where there is no file or no object in it."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None

"""From claims to verdicts: the runs that they need, whether these are stored, and the results of the criteria."""

import functools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fwexp.driver.progress import counted, print_line
from fwexp.errors import shown, unknown
from fwexp.files import owned
from fwexp.files.folders import check_folder
from fwexp.methods import flat, method_of
from fwexp.papers.claims.registry import Claim, Kind, all_claims, frozen
from fwexp.papers.claims.runs import Runs, forget
from fwexp.papers.claims.verdict import HOLDS, MISPRINTS, OPEN, UNDECIDED, VERDICTS, Finding, Undecided, for_json
from fwexp.papers.declarations import Need, papers_by_id

KIND = "verdicts"
NOTHING: dict[str, dict] = {"parts": {}, "stand_ins": {}, "numbers": {}, "sensitivity": {}}
"""Fields of a verdict if nothing is decided."""


CONFIRM_FROM = 10
"""Claims are confirmed by seeds that are larger by this much than those that their presets name: 10 to 19."""


def needed(claim: Claim, preset: str = "full", *, confirming: bool = False) -> dict[str, dict]:
    """Return the configurations of the runs that a claim needs, or of those that confirm it with other seeds, by their keys."""
    # A setting with one seed keeps it, because its run does not depend on the seed.
    from fwexp.store.keys import key_of

    configs = [config for need in claim.needs for config in _configs_of(need, preset)]
    if confirming:
        seeds = defaultdict(set)
        for config in configs:
            seeds[key_of(config | {"seed": 0})].add(config["seed"])
        more = [CONFIRM_FROM * (len(seeds[key_of(config | {"seed": 0})]) > 1) for config in configs]
        configs = [config | {"seed": config["seed"] + shift} for config, shift in zip(configs, more, strict=True)]
    return {key_of(config): config for config in configs}


def check(claim: Claim, results_dir="results", preset: str = "full", stale: bool = False) -> dict:
    """Return what stored runs say of a claim; nothing is run.

    Runs by another version of the code decide nothing, unless ``stale`` asks for them; then ``numbers`` name their solvers.

    Returns
    -------
    dict
        ``id``, ``paper``, ``kind``, ``statement``, ``place``, ``criterion``, ``changed``, ``figure``, ``verdict``, ``why`` (one
        sentence, unless it holds), ``parts``, ``stand_ins``, ``numbers``, ``sensitivity`` (for each threshold that is ours, by its
        value: the ``verdict``, and the outcomes of all ``parts`` and ``stand_ins`` that differ), ``runs`` (the keys of all it
        looked at), ``missing`` (how many are not stored) and ``confirmation`` (verdict, reason and parts on seeds 10 to 19; empty
        if it reads no seeds).
    """
    return check_all({claim.id: claim}, results_dir, preset, stale=stale)[claim.id]


def _record(claim: Claim, runs: tuple[dict, dict], preset: str, results, stored: set[str], stale: bool) -> dict:
    """Return the record of a claim, given its runs and those that confirm it, results that have them, and all stored keys."""
    wanted, confirming = runs
    told = {name: getattr(claim, name) for name in ("id", "paper", "kind", "statement", "place", "criterion", "changed", "figure")}
    if preset == "full" and (unmatched := [text for need in claim.needs for text in _unmatched(need)]):
        found = {"verdict": UNDECIDED, "why": "; ".join(unmatched), **NOTHING}
    else:
        found = _outcome(claim, wanted, results, stored, stale)
    record = {**told, **found, "runs": sorted(wanted), "missing": len(set(wanted) - stored), "confirmation": {}}
    if confirming.keys() != wanted.keys():
        again = _outcome(claim, confirming, results, stored, stale)
        if claim.id in frozen() and not claim.is_frozen:
            again = {"verdict": UNDECIDED, "why": "the criterion was changed after it was frozen", "parts": {}}
        record["confirmation"] = {name: again[name] for name in ("verdict", "why", "parts")}
    return record


def _outcome(claim: Claim, wanted: Mapping[str, dict], results, stored: set[str], stale: bool) -> dict:
    """Return what `decide` does, and the verdict ``undecided`` if runs are not stored, damaged, or of another version."""
    if not wanted:
        return decide(claim, None)
    if missing := set(wanted) - stored:
        return {"verdict": UNDECIDED, "why": f"{len(missing)} of {len(wanted)} runs are not stored", **NOTHING}
    results = results[results["key"].isin(wanted)]
    if (whole := results["key"].nunique()) < len(wanted):
        return {"verdict": UNDECIDED, "why": f"{len(wanted) - whole} of {len(wanted)} runs are damaged", **NOTHING}
    others = results[results["stale"].astype(bool)] if "stale" in results else results[:0]
    if len(others) and not stale:
        some = f"{others['key'].nunique()} of {len(wanted)} runs were made by another version of the code"
        return {"verdict": UNDECIDED, "why": f"{some}; --run repeats them, --stale takes them", **NOTHING}
    decided = decide(claim, results)
    for words, found in (
        ("solvers whose runs another version of the code made", others["solver"]),
        ("data that are not the published ones", results.loc[results["data"] == "other", "dataset"]),
        ("solvers whose runs lost work with workers", results.loc[results["lost"].notna(), "solver"]),
    ):
        decided["numbers"] |= {words: ", ".join(sorted(set(found)))} if len(found) else {}
    return decided


def decide(claim: Claim, results) -> dict:
    """Return verdict, reason, parts, stand-ins, numbers and sensitivity of a claim, given the results of its runs."""
    given = ()
    forget()
    if claim.needs:  # without options of runs that other claims need
        options = [name for name in results if name.startswith(("solver.", "dataset.", "task"))]
        given = (Runs(results.drop(columns=[name for name in options if results[name].isna().all()]), claim.split_by),)
    try:
        finding = claim.decide(*given)
    except Undecided as error:
        return {"verdict": UNDECIDED, "why": str(error), **NOTHING}
    numbers = {name: for_json(value) for name, value in finding.numbers.items()}
    parts = {"parts": dict(finding.parts), "stand_ins": dict(finding.stand_ins)}
    sensitivity = {
        name: {f"{v:g}": _at(finding if v == claim.chosen[name] else None, claim, given, {name: v}, finding) for v in values}
        for name, values in claim.vary.items()
    }
    verdict, why = finding.verdict, finding.why
    if claim.kind is Kind.MISPRINT and verdict == HOLDS:
        verdict = MISPRINTS
    return {"verdict": verdict, "why": why, **parts, "numbers": numbers, "sensitivity": sensitivity}


def _at(found: Finding | None, claim: Claim, given: tuple, thresholds: Mapping[str, float], chosen: Finding) -> dict:
    """Return the verdict at other thresholds, and the outcomes that differ from those at the chosen ones."""
    try:
        found = found or claim.decide(*given, **thresholds)
    except Undecided:
        return {"verdict": UNDECIDED, "parts": {}}
    before, now = ({**finding.parts, **finding.stand_ins} for finding in (chosen, found))
    return {"verdict": found.verdict, "parts": {part: held for part, held in now.items() if held != before.get(part)}}


def check_all(
    claims: Mapping[str, Claim],
    results_dir="results",
    preset: str = "full",
    results=None,
    archive: Path | None = None,
    stale: bool = False,
    *,
    verbose: bool = False,
) -> dict[str, dict]:
    """Return the records of several claims, by id; each run is read once, or is among `results` of the whole store."""
    # With an archive, runs are those in it, and no store is read; the code that made them is not compared with the present code.
    from fwexp import store
    from fwexp.run.composition import composing

    if archive is not None:
        from fwexp.store.archive import read as read_archive

        results = read_archive(archive).drop(columns="stale")
    with composing():  # for all of them, so that each file of values is read once
        runs = {id: (needed(one, preset), needed(one, preset, confirming=True)) for id, one in claims.items()}
    wanted = {key: config for both in runs.values() for some in both for key, config in some.items()}
    if results is None:
        results = store.load_results(results_dir, key=sorted(wanted))
    text = results.select_dtypes(["object", "string"])
    is_stored = (key for key, config in wanted.items() if store.stored(results_dir, config) is not None)
    stored = set(is_stored if archive is None else results["key"])
    results = results.assign(**text.astype(object))  # rows are taken faster than of strings
    order = counted(list(claims), "claims checked") if verbose else claims
    return {id: _record(claims[id], runs[id], preset, results, stored, stale) for id in order}


def run_missing(
    claims: Iterable[Claim], results_dir="results", data_dir=None, preset: str = "full", force: bool | str = False, confirming=False
) -> None:
    """Make the missing runs of claims, or those that confirm them; ``force`` is that of `fwexp.run.from_arguments.execute`."""
    from fwexp.run import from_arguments

    wanted = {key: config for claim in claims for key, config in needed(claim, preset, confirming=confirming).items()}
    from_arguments.execute(list(wanted.values()), results_dir=results_dir, data_dir=data_dir, force=force)


def claims_path(folder, paper: str, preset: str = "full") -> Path:
    """Return the file in a store, or in the published results, that has the verdicts on a paper."""
    name = papers_by_id()[paper].name
    return check_folder("folder", folder) / "claims" / f"{name if preset == 'full' else f'{name}-{preset}'}.json"


def summary(records: Mapping[str, Mapping]) -> str:
    """Return a line with how many claims have which verdict."""
    return f"{len(records)} claim{'s' * (len(records) != 1)}: {tally(records.values())}"


def tally(records: Iterable[Mapping]) -> str:
    """Return how many claims have which verdict; behind a semicolon those that say nothing for or against a result."""
    counts = Counter(record["verdict"] for record in records)
    groups = ([v for v in VERDICTS if (v in OPEN) == is_open and counts[v]] for is_open in (False, True))
    return "; ".join(", ".join(_number(counts[verdict], verdict) for verdict in group) for group in groups if group)


def by_kind(records: Iterable[Mapping]) -> dict[str, list[Mapping]]:
    """Return the records of each kind of claims that there are."""
    records = list(records)
    return {kind: found for kind in Kind if (found := [record for record in records if record["kind"] == kind])}


def parts_of(records: Iterable[Mapping]) -> str:
    """Return how many parts of claims hold, do not, and are open; misprints count only where there are no other claims."""
    records = list(records)
    counted = [record for record in records if record["kind"] != Kind.MISPRINT] or records
    counts = Counter(outcome if isinstance(outcome, bool) else None for record in counted for outcome in record["parts"].values())
    return f"{counts[True]} hold, {counts[False]} do not, {counts[None]} are open"


def close_thresholds(record: Mapping) -> list[str]:
    """Return the thresholds to which a claim is close: it has another verdict at a value next to the chosen one."""
    claim, found = all_claims().get(record["id"]), []
    for name, tried in record["sensitivity"].items():
        chosen = list(tried).index(f"{claim.chosen[name]:g}") if claim and name in claim.chosen else 0
        next_ones = list(tried.items())[max(chosen - 1, 0) : chosen + 2]
        found += [f"{one['verdict']} at {name} = {value}" for value, one in next_ones if one["verdict"] != record["verdict"]]
    return found


def _number(count: int, verdict: str) -> str:
    """Return a verdict behind the number of claims that have it."""
    verb, *rest = verdict.split()
    return " ".join([str(count), verb.removesuffix("s") if count != 1 else verb, *rest])


def verdicts(records: Mapping[str, Mapping], folder, preset: str = "full") -> dict[Path, Callable[[], bytes]]:
    """Return the files of verdicts below a folder by paper, as functions that keep the verdicts there on all other claims."""
    contents = {}
    for paper in papers_by_id():
        here = {id: record for id, record in records.items() if record["paper"] == paper}
        if here:
            path = claims_path(folder, paper, preset)
            contents[path] = functools.partial(_merged, path, here)
    return contents


def _merged(path: Path, records: Mapping[str, Mapping]) -> bytes:
    """Return the content of a file of verdicts with these records in it."""
    kept = {id: record for id, record in read(path).items() if id in all_claims()} | records
    content = {id: kept[id] for id in sorted(kept, key=lambda id: int(id.rpartition("-")[2]))}
    return f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode()


def save(records: Mapping[str, Mapping], results_dir, preset: str = "full") -> list[Path]:
    """Save verdicts in the store, as `verdicts` merges them; processes that save at the same time keep each other's verdicts."""
    if contents := verdicts(records, results_dir, preset):
        owned.write(contents, KIND)
    return list(contents)


def check_writable(claims: Mapping[str, Claim], results_dir, preset: str = "full") -> None:
    """Check that the verdicts on claims can be saved; `ParameterError` if other files are in their place."""
    owned.check({claims_path(results_dir, claim.paper, preset) for claim in claims.values()}, KIND)


def read(path: Path) -> dict[str, dict]:
    """Return the records in a file of verdicts; none if it is missing, or damaged, which a line reports."""
    try:
        verdicts = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        verdicts = None
    if isinstance(verdicts, dict) and all(isinstance(r, dict) and isinstance(r.get("verdict"), str) for r in verdicts.values()):
        return verdicts
    print_line(f"{path} is damaged: it holds no verdicts; fwexp claims {path.stem.partition('-')[0]} writes them again")
    return {}


def _configs_of(need: Need, preset: str) -> list[dict]:
    from fwexp.plots.curves import REFERENCE

    matching = []
    for config in _expanded(need.preset, preset):
        solver = config["solver"]["name"], config["solver"]
        same = all(_equal(config, name, value) for name, value in dict(need.where).items())
        if same and (not need.methods or method_of(*solver, need.split_by) in need.methods or method_of(*solver) == REFERENCE):
            matching.append(config)
    return matching


def _unmatched(need: Need) -> Iterator[str]:
    """Yield a line for each method and value of a need that no run of the preset has: it is misspelt, or of another preset."""
    configs = _expanded(need.preset, "full")
    methods = {method_of(config["solver"]["name"], config["solver"], need.split_by) for config in configs}
    for method in need.methods:
        if method not in methods:
            yield unknown(f"method in runs(...) of {need.preset}", method, methods)
    for name, values in dict(need.where).items():
        for value in values if isinstance(values, tuple) else (values,):
            if not any(_equal(config, name, value) for config in configs):
                yield f"runs({name}=...) of {need.preset} must have a value that its runs have, got {shown(value)}"


@functools.cache
def _expanded(name: str, preset: str) -> list[dict]:
    from fwexp.run import from_arguments

    return from_arguments.expand([f"+experiment={name}"], preset=preset)


def _equal(config: Mapping, name: str, value) -> bool:
    """Return whether a configuration has a value: ``dataset`` and ``task`` by their names, options as ``solver.step``."""
    group, _, option = name.partition(".")
    chosen = config.get(group, "train" if group == "task" else None)
    if isinstance(chosen, Mapping):
        chosen = flat(chosen).get(option or "name")
    return chosen in value if isinstance(value, tuple) else chosen == value

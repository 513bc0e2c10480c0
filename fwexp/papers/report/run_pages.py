"""The stored runs: a table of all, and a page of each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fwexp.driver.trace import ERRORS, Status
from fwexp.methods import variant_of
from fwexp.papers.origin import commit_of
from fwexp.papers.report import charts
from fwexp.papers.report.figures import Drawn
from fwexp.plots import style
from fwexp.plots.frames import FLOOR, spread
from fwexp.problem_names import problem_names
from fwexp.store.keys import task_of

DIGITS = 12  # of a key
POINTS = 40  # of a trace on a page; the store has all
POSITIONS = {"passes": "passes", "time": "seconds", "at_lam": "lam"}
MEASURES = {
    "gap": "duality gap",
    "suboptimality": "primal suboptimality",
    "primal": "primal objective",
    "dual": "dual objective",
    **{name: name.replace("_", " ") for name in reversed(ERRORS)},
    "gap_estimate": "gap, as the method estimates it",
    "cache_hits": "share of steps answered by the cache",
    "atoms": "stored labelings",
}
CERTIFICATE = "Primal {primal} minus dual {dual}: the objective is at most {gap} above its minimum."
NONE = "No certificate: the method has no dual objective, or stopped before it logged one."
UNFINISHED = {"interrupted": 1, "failed": 2, "damaged": 3}  # order in which they stand for a key without a finished run


def of_each_key(runs: Iterable) -> list:
    """Return one run for each key: the finished one, otherwise an interrupted one, a failure or a damaged one."""
    chosen: dict[str, Any] = {}
    for run in sorted(runs, key=lambda run: UNFINISHED.get(run.status, 0)):
        chosen.setdefault(run.key, run)
    return list(chosen.values())


def pages(runs: Sequence, results: pd.DataFrame, claims: Mapping[str, Mapping], figures: Sequence[Drawn]) -> list[dict]:
    """Return the contents of the pages of runs, one of each key (`of_each_key`), in the order of the table."""
    # Results are the traces of the finished ones with a column ``suboptimality``; each claim has the ``page`` that shows it.
    used_by = _used_by(claims, figures)
    places, traces = _places(runs), _traces(results)
    options = _options(runs, places)
    found = []
    for run in runs:
        columns, key = run.columns(), run.key[:DIGITS]
        trace = traces.get(run.key, {})
        sentence = run.record.get("reason") or _SENTENCES.get(run.status, "")
        numbers = {name: number(run.record.get(name), 8) for name in ("primal", "dual", "gap")}
        settings = {
            "task": task_of(run.config) if run.config else "",
            "lam": columns.get("lam_spec", ""),
            "seed": columns.get("seed"),
            "passes": number(run.record.get("passes")),
            "seconds": number(run.record.get("time")),
        }
        found.append(
            {
                "key": key,
                "status": run.status,
                "place": places[run.key],
                "method": style.line(run.method or columns["solver"]).label,
                **settings,
                **numbers,
                "certificate": CERTIFICATE.format(**numbers) if numbers["gap"] is not None else NONE,
                "options": options[run.key],
                "summary": _known(
                    {
                        "status": f"{run.status}: {sentence}" if sentence else run.status,
                        **settings,
                        "options that differ": options[run.key],
                    }
                ),
                "used_by": used_by[run.key],
                "chart": charts.of_run(f"chart-{key}", trace, POSITIONS, MEASURES) if trace else "",
                "facts": _facts(run),
                "config": _yaml(run.config),
            }
        )
    return sorted(found, key=lambda page: [str(page[name]) for name in ("place", "task", "lam", "method", "seed", "key")])


_SENTENCES = {str(status): status.sentence for status in Status}


def _facts(run) -> dict[str, object]:
    """Return what else is known of a run, by name."""
    record = run.record
    return _known(
        {
            "error": record.get("error"),
            "damage": run.damage,
            "lam": number(record.get("lam"), 8),
            "oracle calls": record.get("oracle_calls"),
            "made": record.get("created"),
            "with": environment(record),
            "code": "other than the code that wrote this report" if run.stale else "as it is here",
            "data": run.data,
            "lost with workers": run.lost,
        }
    )


def _known(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts that are known."""
    return {name: value for name, value in facts.items() if value not in (None, "")}


def number(value, digits: int = 4):
    """Return a number for JSON, rounded to some digits; None if it is missing or not finite."""
    return float(f"{value:.{digits}g}") if value is not None and np.isfinite(value) else None


def _used_by(claims: Mapping[str, Mapping], figures: Sequence[Drawn]) -> Mapping[str, list[tuple[str, str, str, str]]]:
    """Return, by key, the claims and figures that read a run: page, place on it, name and what is said there."""
    using = defaultdict(list)
    for id, claim in claims.items():
        for key in claim["runs"]:
            using[key].append((claim["page"], id, id, f"{claim['verdict']}: {claim['statement']}"))
    for drawn in figures:
        for key in drawn.record.get("runs", ()):
            using[key].append((drawn.page, drawn.id, drawn.figure.name, drawn.figure.title))
    return using


def _places(runs: Sequence) -> dict[str, str]:
    """Return, by key, the data set with its options, as far as that is known."""
    heads = pd.DataFrame([run.columns() for run in runs if run.config])
    known = dict(zip(heads["key"], problem_names(heads).str.partition(", lam=")[0], strict=True)) if len(heads) else {}
    return {run.key: known.get(run.key, run.columns()["dataset"]) for run in runs}


def _options(runs: Sequence, places: Mapping[str, str]) -> dict[str, str]:
    """Return, by key, the options that distinguish runs with equal task, data, lam and method."""
    from fwexp.store.run_labels import differing

    alike = defaultdict(list)
    for run in runs:
        alike[task_of(run.config) if run.config else "", places[run.key], str(run.config.get("lam")), run.method].append(run)
    options = {}
    for group in alike.values():
        said = differing([{name: value for name, value in run.config.items() if name != "task"} for run in group if run.config])
        options |= dict(zip([run.key for run in group if run.config], said, strict=True))
    return {run.key: options.get(run.key, "") for run in runs}


def _traces(results: pd.DataFrame) -> dict[str, dict[str, dict]]:
    """Return, by key and variant, some of the logged rows with the known columns."""
    if results.empty:
        return {}
    columns = [name for name in (*POSITIONS, *MEASURES) if name in results]
    numbers, ends = results[columns].to_numpy(float), []
    parts = results.groupby(["key", "iterate"], sort=False).indices
    method = results.drop_duplicates("key").set_index("key")["method"]
    found: dict[str, dict] = defaultdict(dict)
    for (key, iterate), ends in parts.items():
        kept = numbers[ends[spread(len(ends), POINTS)]]
        trace = {name: list(map(number, values)) for name, values in zip(columns, kept.T, strict=True) if np.isfinite(values).any()}
        found[key][variant_of(method[key], iterate)] = trace
    return found


def _yaml(config) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(config, Dumper=dumper, sort_keys=False, allow_unicode=True) if config else ""


def environment(record: Mapping) -> str:
    """Return the commit, the versions and the machine of a run in one line."""
    made = record.get("provenance") or {}
    versions = {"Python": made.get("python"), **(made.get("versions") or {})}
    said = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    own = [f"{name} {of.get('version') or ''} commit {commit_of(of)}" for name, of in (made.get("plugins") or {}).items()]
    return "; ".join(filter(None, [f"commit {commit_of(made)}", *own, said, made.get("cpu"), made.get("system")]))


def with_suboptimality(results: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return results with methods and with the distance of the objective to the highest dual of all comparable runs."""
    distance = (compared["primal"] - compared["highest"]) if len(compared) else pd.Series(dtype=float)
    return results.assign(suboptimality=distance.where(distance > FLOOR).reindex(results.index))

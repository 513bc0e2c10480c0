"""The stored runs as the pages read them: a table of all, and for each data set a file with the details of its runs.

Pages that are opened from disk may not fetch, so all of it is JavaScript that calls ``report.take`` (``charts.js``).
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fwexp.driver.trace import ERRORS, Status
from fwexp.methods import variant_of
from fwexp.papers.origin import commit_of
from fwexp.papers.report.figures import Drawn, looks
from fwexp.plots.frames import FLOOR, spread
from fwexp.problem_names import problem_names
from fwexp.store.keys import task_of

DIGITS = 12  # of a key
POINTS = 40  # of a trace on a page; the store has all
POSITIONS = ("passes", "time", "at_lam")
MEASURES = ("gap", "suboptimality", "primal", "dual", *reversed(ERRORS), "gap_estimate", "cache_hits", "atoms")
CELLS = ("key", "status", "dataset", "place", "task", "method", "lam", "seed", "passes", "time", "gap", "options")
USED = ("claims", "figures")  # behind the cells of a run
UNFINISHED = {"interrupted": 1, "failed": 2, "damaged": 3}  # order in which they stand for a key without a finished run


def script(name: str, content) -> str:
    """Return a file of data for a script tag."""
    return f"report.take({json.dumps(name)}, {json.dumps(content, ensure_ascii=False, separators=(',', ':'), allow_nan=False)});\n"


def of_each_key(runs: Iterable) -> list:
    """Return one run for each key: the finished one, otherwise an interrupted one, a failure or a damaged one."""
    chosen: dict[str, Any] = {}
    for run in sorted(runs, key=lambda run: UNFINISHED.get(run.status, 0)):
        chosen.setdefault(run.key, run)
    return list(chosen.values())


def tables(runs: Sequence, results: pd.DataFrame, claims: Mapping[str, Mapping], figures: Sequence[Drawn]) -> dict[str, dict]:
    """Return the content of the files of data, by name: ``runs``, and one for each data set.

    Parameters
    ----------
    runs : sequence of StoredRun
        All, also failed, partial and damaged ones; one of each key, as `of_each_key` returns them.
    results : DataFrame
        The traces of the finished ones, with a column ``suboptimality``.
    claims : mapping
        The records of claims by id, each with the ``page`` that shows it.
    figures : sequence of Drawn
    """
    using = {
        "claims": _using({id: record["runs"] for id, record in claims.items()}),
        "figures": _using({figure.figure.name: figure.record.get("runs", ()) for figure in figures}),
    }
    places, traces, environments, rows = _places(runs), _traces(results), {}, []
    options = _options(runs, places)
    of_datasets: dict[str, dict] = defaultdict(dict)
    for run in runs:
        columns, key = run.columns(), run.key[:DIGITS]
        numbers = [number(run.record.get(name)) for name in ("passes", "time", "gap")]
        facts = (columns["dataset"], places[run.key], task_of(run.config) if run.config else "", run.method or columns["solver"])
        used = [using[what].get(run.key, []) for what in USED]
        rows.append([key, run.status, *facts, columns.get("lam_spec", ""), columns.get("seed"), *numbers, options[run.key], *used])
        number_of = environments.setdefault(environment(run.record), len(environments))
        of_datasets[columns["dataset"]][key] = _details(run) | {"environment": number_of, "traces": traces.get(run.key, {})}
    variants = {variant for of_run in traces.values() for variant in of_run} | {row[CELLS.index("method")] for row in rows}
    rows.sort(key=lambda row: [str(row[CELLS.index(name)]) for name in ("place", "task", "lam", "method", "seed", "key")])
    index = {
        "cells": [*CELLS, *USED],
        "rows": rows,
        "methods": looks(variants),
        "environments": list(environments),
        "claims": {id: [record["page"], record["verdict"], record["statement"]] for id, record in claims.items()},
        "figures": {one.figure.name: [one.page, one.id, one.figure.title] for one in figures if one.stem},
        "statuses": {str(status): status.sentence for status in Status},
    }
    return {"runs": index} | {f"data-{name}": content for name, content in of_datasets.items()}


def number(value, digits: int = 4):
    """Return a number for JSON, rounded to some digits; None if it is missing or not finite."""
    return float(f"{value:.{digits}g}") if value is not None and np.isfinite(value) else None


def _using(keys: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return, by key, the names of the figures and claims that read a run."""
    using = defaultdict(list)
    for name, of_name in keys.items():
        for key in of_name:
            using[key].append(name)
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


def _details(run) -> dict:
    """Return the content of a run's page in addition to its row and its trace."""
    record, calls, passes = run.record, run.record.get("oracle_calls"), run.record.get("passes")
    numbers = {name: number(record.get(name), 8) for name in ("primal", "dual", "gap", "lam")}
    words = {name: record.get(name) for name in ("reason", "iterate", "created", "error", "step", "oracle_calls")}
    n = number(calls / passes, 15) if calls and passes else None
    return {
        **numbers,
        **words,
        "n": n,
        "data": run.data,
        "stale": run.stale,
        "lost": run.lost,
        "damage": run.damage,
        "config": _yaml(run.config),
    }


def _yaml(config) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(config, Dumper=dumper, sort_keys=False, allow_unicode=True) if config else ""


def environment(record: Mapping) -> str:
    """Return the commit, the versions and the machine of a run in one line."""
    made = record.get("provenance") or {}
    versions = {"Python": made.get("python"), **(made.get("versions") or {})}
    said = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return "; ".join(filter(None, [f"commit {commit_of(made)}", said, made.get("cpu"), made.get("system")]))


def with_suboptimality(results: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return results with methods and with the distance of the objective to the highest dual of all comparable runs."""
    distance = (compared["primal"] - compared["highest"]) if len(compared) else pd.Series(dtype=float)
    return results.assign(suboptimality=distance.where(distance > FLOOR).reindex(results.index))

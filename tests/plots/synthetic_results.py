"""Made-up results with the columns of ``load_results``."""

import zlib

import numpy as np
import pandas as pd

from fwexp.store import StoredRun
from fwexp.store.keys import key_of

OPTIMUM = 0.1  # of every made-up problem
PASSES = np.concatenate([[0.0], 2.0 ** np.arange(-7, 0), np.arange(1.0, 51.0), [60.0, 80.0, 130.0]])


def _trace(solver, seed, iterate, level):
    """Columns of a trace: suboptimality ``level / (1 + passes)``, times a factor by seed."""
    distance = level * (1 + 0.1 * np.sin(seed + np.log1p(PASSES))) / (1 + PASSES)
    calls = (PASSES * 1280).astype(int)
    primal, dual = OPTIMUM + distance, np.full_like(distance, np.nan) if solver == "ssg" else OPTIMUM - distance / 2
    return {
        "iterate": iterate,
        "step": calls,
        "oracle_calls": calls,
        "passes": PASSES,
        "time": PASSES * 0.05,
        "primal": primal,
        "dual": dual,
        "test_error": 0.1 + 0.3 * distance,
        "gap": primal - dual,
    }


def make_run(solver="bcfw", lam=0.01, seed=0, iterate="last", *, dataset="ocr", level=1.0, status="max_passes", **options):
    """Return the rows of one run and iterate."""
    departures = "".join(f",{name}={value}" for name, value in sorted(options.items()))
    facts = {
        "train_error": np.nan,
        "dataset": dataset,
        "split": "ocr2" if dataset == "ocr" else None,
        "solver": solver,
        "lam": 1 / 1280 if lam == "1/n" else float(lam),
        "lam_spec": str("1/n" if lam == "1/n" else float(lam)),
        "seed": seed,
        "key": f"{dataset}/{solver}{departures}/{lam}/{seed}",
        "status": status,
    }
    options = {f"solver.{name}": value for name, value in ({"sampling": "uniform", "line_search": True} | options).items()}
    return pd.DataFrame(_trace(solver, seed, iterate, level) | facts | options)


def concat(*runs):
    return pd.concat(runs, ignore_index=True)


def make_figure(dataset="ocr", lams=(0.01, 0.001, "1/n"), seeds=range(10)):
    """Return the results of a whole figure: what its preset names, the reference run included."""
    runs = []
    for lam in lams:
        for seed in seeds:
            for iterate, gain in (("last", 1.0), ("wavg", 0.3)):
                runs.append(make_run("bcfw", lam, seed, iterate, dataset=dataset, level=gain))
                runs.append(make_run("ssg", lam, seed, iterate, dataset=dataset, level=6 * gain))
        runs.append(make_run("fw", lam, dataset=dataset, level=3.0))
        reference = {"sampling": "perm", "step": "corrective", "accelerate": True}
        runs.append(make_run("bcfw", lam, dataset=dataset, level=0.01, **reference))
    return concat(*runs)


def make_results(configs):
    """Made-up results of canonical configurations, such as those of a preset: every column is there."""
    runs = []
    for config in configs:
        run = StoredRun(None, key_of(config), "max_passes", config, {"lam": 1 / 1280} if config.get("lam") == "1/n" else {})
        solver = config["solver"]
        level = 1 + zlib.crc32(str(sorted(solver.items())).encode()) % 7
        for j, iterate in enumerate(config.get("iterates", ["last"])):
            rows = _trace(solver["name"], config["seed"], iterate, level / (1 + j))
            rows["gap_estimate"] = 0.7 * rows["gap"] if solver.get("sampling") == "gap" else np.nan
            rows["cost"] = PASSES
            rows["cache_hits"] = rows["step"] // 2 if solver.get("cache") else np.nan
            rows["cache_local"], rows["cache_global"] = 1.2 * rows["cache_hits"], 1.5 * rows["cache_hits"]
            if config.get("task", {}).get("name") == "convex":
                rows = {
                    name: value[rows["passes"] >= 1] if isinstance(value, np.ndarray) else value for name, value in rows.items()
                }
                rows["inspected"] = 100 * rows["step"]
            elif "task" in config:
                rows = {name: value[1:] if isinstance(value, np.ndarray) else value for name, value in rows.items()}
                rows |= {"improvement": 1 + 1 / rows["passes"], "at_lam": 100 / rows["passes"]}
            runs.append((rows, run.columns()))
    return frame_of(runs)


def frame_of(runs):
    """Return one frame of pairs of columns and facts; frames of each run, to be joined, would take most of the time of tests."""
    facts = [{name: value for name, value in columns.items() if np.ndim(value) == 0} | given for columns, given in runs]
    columns = [{name: value for name, value in columns.items() if np.ndim(value) and name not in given} for columns, given in runs]
    lengths = [len(found["step"]) for found in columns]
    frame = pd.DataFrame(facts).iloc[np.repeat(np.arange(len(runs)), lengths)].reset_index(drop=True)
    values = {
        name: np.concatenate([found.get(name, np.full(k, np.nan)) for found, k in zip(columns, lengths, strict=True)])
        for name in dict.fromkeys(name for found in columns for name in found)
    }
    mixed = [name for name in values if name in frame]  # an array in some runs, a number in others
    for name in mixed:
        values[name] = np.where(frame[name].isna(), values[name], frame[name])
    return pd.concat([frame.drop(columns=mixed), pd.DataFrame(values)], axis=1)

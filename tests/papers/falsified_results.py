"""Changes of made-up results, and of computations, under which the parts of claims fall."""

import numpy as np

from fwexp.experiments.review import misprints
from fwexp.experiments.theory import chains, drop_steps, quadratics, small_paths
from tests.papers import claimed_results

OCR_SMALL_LAM = {"dataset": "ocr", "lam": "1/n"}


def as_if(where=None, **others):
    """Let variants (with __ for -) run like others, in the runs whose configuration has the given values."""
    names = {ours.replace("__", "-"): theirs for ours, theirs in others.items()}

    def change(variant, config, columns):
        flat = {"dataset": config["dataset"]["name"], "lam": config.get("lam")}
        if variant not in names or any(flat[key] != value for key, value in (where or {}).items()):
            return columns
        theirs = claimed_results.columns(names[variant], columns["iterate"], config)
        return columns | {name: theirs[name] for name in ("primal", "dual", "gap")}

    return change


def altered(column, change, *variants):
    """Change one column, of all variants or of some: ``change(columns, config)`` gives it."""

    def alter(variant, config, columns):
        return columns if variants and variant not in variants else columns | {column: change(columns, config)}

    return alter


def distance(change, *variants):
    """Change the suboptimality: ``change(d, passes)``."""

    def alter(variant, config, columns):
        if (variants and variant not in variants) or "gap" not in columns:
            return columns
        d = change(columns["primal"] - claimed_results.OPTIMUM, columns["passes"])
        return columns | {"primal": claimed_results.OPTIMUM + d, "gap": d * 10 / 9, "dual": claimed_results.OPTIMUM - d / 9}

    return alter


def certified(change, **where):
    """Change the gaps of runs on convex sets, ``change(gap, t)``, where a configuration has the given values."""

    def alter(variant, config, columns):
        flat = {"solver": config["solver"]["name"], **config["solver"], **config["dataset"]}
        if any(flat.get(key) != value for key, value in where.items()):
            return columns
        gap = np.maximum(change(columns["gap"], columns["step"]), 1e-12)
        primal = gap / 2 if config["dataset"]["name"] == "norm" else gap
        return columns | {"gap": gap, "primal": primal, "dual": primal - gap}

    return alter


def plus(amount):
    return lambda columns, _: columns["test_error"] + amount


def task_of(config):
    return config["task"]["name"] if "task" in config else "train"


def kinds(config):
    """Return two values: True for grids with warm starts, and True for paths."""
    return task_of(config) == "grid" and config["task"].get("warm", True), task_of(config) == "path"


def _other_growth(config, columns):
    """Let the calls of BCFW and SSG grow with n, and those of the others like n^3."""
    n = config["dataset"].get("n")
    if not n:
        return columns
    factor = n / 100 if config["solver"]["name"] in ("bcfw", "ssg") else (n / 100) ** 2
    return columns | {name: columns[name] * factor for name in ("oracle_calls", "passes")}


def _parameters(config):
    cache = config["solver"].get("cache")
    return (cache.get("F", 0.25), cache.get("nu", 0.01)) if isinstance(cache, dict) else None


def degraded(config):
    return config["solver"].get("nu", 1) != 1 or config["solver"].get("delta", 0) != 0


def swapped(*pairs):
    return as_if(**{a.replace("-", "__"): b for pair in pairs for a, b in (pair, pair[::-1])})


SLOW = lambda d, passes: np.maximum(d, 0.2 * (passes > 0))  # noqa: E731

# Changes of these results; each decided part of a claim has to fall by one of them at least.
CONTRADICTIONS = {
    "B13-1": [as_if(bcfw="fw", bcfw__wavg="fw", ssg="fw", ssg__wavg="fw", fw="bcfw", one_slack="bcfw")],
    "B13-2": [as_if(ssg="bcfw_gap")],
    "B13-3": [
        distance(SLOW, "bcfw"),
        as_if(bcfw__wavg="online_eg"),
        distance(lambda d, passes: np.where(passes < 8, 5 * d, d), "bcfw-wavg"),
        distance(lambda d, passes: np.where(passes < 1, 20 * d, d), "bcfw-wavg"),
        as_if(OCR_SMALL_LAM, bcfw__wavg="online_eg"),
    ],
    "B13-4": [as_if(bcfw="fw", bcfw__wavg="fw")],
    "B13-5": [
        altered("test_error", plus(0.05), "bcfw-wavg"),
        altered("test_error", plus(0.05), "ssg-wavg"),
        distance(lambda d, _: d / 100, "ssg-wavg"),
    ],
    "B13-6": [as_if(bcfw_predefined="bcfw_gap")],
    "B13-7": [as_if(ssg__avg="bcfw_gap")],
    "B13-8": [as_if(bcfw__tavg="ssg"), swapped(("bcfw-tavg", "bcfw-wavg"))],
    "B13-9": [as_if(online_eg="bcfw_gap")],
    "B13-10": [altered("test_error", lambda columns, _: 0.1 + 1 / (1 + columns["passes"]))],
    "B13-11": [altered("gap", lambda columns, config: columns["gap"] * (1.001 if task_of(config) == "improvement" else 1))],
    "B13-16": [distance(lambda d, _: 1e6 + d, "bcfw-wavg")],
    "B13-17": [altered("gap", lambda columns, config: columns["gap"] * (30 if degraded(config) else 1))],
    "B13-18": [
        altered("atoms", lambda columns, _: 1e9 + columns["step"]),
        altered("atoms", lambda columns, _: columns["gap"] ** -2.0),
    ],
    "B13-20": [distance(lambda d, passes: np.where(passes > 20, 1e6, d))],
    "B13-21": [as_if(bcfw_predefined="fw"), as_if(bcfw_predefined="bcfw"), as_if(bcfw_predefined="bcfw_gap")],
    "B13-22": [altered("test_error", plus(0.5), "ssg-wavg")],
    "B13-30": [lambda variant, config, columns: _other_growth(config, columns)],
    "B13-32": [as_if(bcfw="ssg")],
    "G16-1": [swapped(("bcfw", "bcfw_gap"), ("bcpfw", "bcpfw_gap"))],
    "G16-2": [
        swapped(("bcfw", "bcfw_cache"), ("bcfw_gap", "bcfw_gap_cache"), ("bcpfw", "bcpfw_cache"), ("bcpfw_gap", "bcpfw_gap_cache")),
        altered("time", lambda columns, _: columns["passes"]),
        altered("time", lambda columns, config: columns["passes"] * (10 if config["solver"].get("cache") else 1)),
    ],
    "G16-3": [
        swapped(("bcfw", "bcpfw"), ("bcfw_gap", "bcpfw_gap")),
        distance(lambda d, passes: 0.9 / (1 + passes), "bcpfw", "bcpfw_gap"),
    ],
    "G16-4": [
        altered("gap_estimate", lambda columns, _: columns["gap"] / 1.5),
        swapped(("bcfw_gap_10", "bcfw_gap_never")),
        as_if(bcfw_gap_1="bcfw_gap_10", bcfw_gap_5="online_eg", bcfw_gap_20="online_eg", bcfw_gap_50="online_eg"),
    ],
    "G16-5": [altered("improvement", lambda columns, _: 0.5 * columns["improvement"]), swapped(("bcfw_10", "bcfw_gap_10"))],
    "G16-6": [
        altered("cache_hits", lambda columns, _: 0.5 * columns["step"]),
        as_if(cache_local="cache_rare", cache_rare="cache_local"),
        swapped(("cache_eager", "cache_local")),
    ],
    "G16-7": [
        altered("gap", lambda columns, _: 0.2 + 0 * columns["gap"]),
        altered("at_lam", lambda columns, _: 1 / columns["at_lam"]),
    ],
    "G16-8": [
        altered(cost, lambda columns, config, cost=cost, kind=kind: columns[cost] * (50 if kinds(config)[kind] else 1))
        for cost in ("passes", "time")
        for kind in (0, 1)
    ],
    "G16-10": [as_if(bcfw_gap="fw"), as_if(bcpfw_gap_cache="fw")],
    "G16-11": [altered("atoms", lambda columns, _: 1e6 + columns["step"])],
    "G16-14": [altered("gap", lambda columns, config: columns["gap"] * (1 if _parameters(config) == (0.25, 0.01) else 10))],
    "G16-15": [
        altered(
            "time",
            lambda columns, config: (
                columns["passes"] * (10 if config["solver"].get("cache") and config["solver"].get("step") == "pairwise" else 1)
            ),
        )
    ],
    "G16-16": [altered("test_error", lambda columns, _: -columns["test_error"])],
    "A-2": [swapped(("bcpfw", "bcpfw_chain"), ("bcafw", "bcafw_chain"))],
    "A-3": [altered("cost", lambda columns, config: columns["passes"] * config["solver"].get("skip", 1))],
    "A-4": [distance(lambda d, passes: 0.9 / (1 + 0.2 * passes), *(f"bcfw_joint_{size}" for size in (4, 16, 64)))],
    "A-5": [swapped(("bcpfw", "bcpfw_wss2"))],
    "L-3": [certified(lambda gap, t: np.maximum(gap, 1.0))],
    "L-4": [
        altered("primal", lambda columns, _: columns["primal"] + 0.01),
        altered("dual", lambda columns, _: columns["dual"] - 0.01),
    ],
    "R-1": [
        certified(lambda gap, t: 1 / (t + 1), solver="away"),
        certified(lambda gap, t: np.exp(-t), solver="frank_wolfe"),
        certified(lambda gap, t: 1 / (t + 1), optimum="inside"),
    ],
    "R-2": [
        certified(lambda gap, t: 1 / (t + 1), solver="random_away"),
        certified(lambda gap, t: np.exp(-t / 60), solver="random_away", eta=1.0),
        altered("inspected", lambda columns, _: 400 * columns["step"]),
    ],
    "R-3": [certified(lambda gap, t: gap + 1)],
    "R-4": [certified(lambda gap, t: 1.9 / (t + 1)), certified(lambda gap, t: 2.1 / (t + 1), step="auto")],
    "R-6": [
        certified(lambda gap, t: 1 / (t + 1), solver="sp_fw"),
        certified(lambda gap, t: np.exp(-t / 50), solver="dual_extragradient"),
        certified(lambda gap, t: 1 / np.sqrt(t + 1), solver="dual_extragradient"),
    ],
    "R-7": [
        certified(lambda gap, t: 1 / (t + 1)),
        certified(lambda gap, t: np.where(t % 2 == 1, 2.0, gap)),
        altered("inspected", lambda columns, config: columns["step"] * (400 - 100 * config["solver"].get("eta", 1.0))),
    ],
    "R-8": [certified(lambda gap, t: 1 / (t + 1))],
    "R-17": [certified(lambda gap, t: 1 / np.sqrt(t + 1))],
    "R-10": [certified(lambda gap, t: 10 / (t + 1), solver="sp_fw")],
}


def on_chains(change):
    """Change the runs on chains only."""
    return lambda variant, config, columns: (
        change(variant, config, columns) if config["dataset"]["name"] in ("ocr", "conll2000") else columns
    )


# What results have to be like where the papers' claims do not all hold in one.
BASES = {
    "G16-10": on_chains(
        distance(
            lambda d, passes: np.maximum(d, 0.9 / (1 + 30 * passes)), *(f"bcpfw{x}" for x in ("", "_gap", "_cache", "_gap_cache"))
        )
    ),
}


def _sublinear(walk):
    """Return a walk whose decrease is the square of the error."""
    return walk._replace(decreases=walk.errors**2)


def _stalled(walk):
    """Return a walk that makes next to no progress."""
    return walk._replace(errors=np.append(1.0, np.full(1000, 1e-4)), shares=0.0 * walk.shares)


# Changes of `small`, (name, change of the function), under which what claims compute falls.
COMPUTED = {
    "A-1": [("chains.walk", lambda found: lambda *given: _stalled(found(*given)))],
    "G16-20": [("chains.calls_with_cache", lambda found: lambda *given, **options: 1.0)],
    "B13-11": [("primal", lambda primal: lambda *given: primal(*given) + 0.1), ("gaps", lambda _: lambda *_: (1.0, 1.0))],
    "B13-12": [("Outputs.worst", lambda worst: lambda self, w: worst(self, -w))],
    "B13-13": [
        ("cutting_plane", lambda found: lambda *given: [1.1 * values for values in found(*given)[:2]] + [()]),
        ("augmented", lambda found: lambda *given: 0.5 * found(*given)),
    ],
    "B13-14": [("optimum", lambda optimum: lambda *given: optimum(*given) + 3.0)],
    "B13-15": [
        ("curvature", lambda curvature: lambda *given: 5.0 * curvature(*given)),
        ("block_curvatures", lambda curvatures: lambda *given: 4.0 * curvatures(*given)),
    ],
    "B13-16": [("primal", lambda primal: lambda *given: primal(*given) + 1000.0)],
    "B13-17": [("primal", lambda primal: lambda *given: primal(*given) + 1000.0)],
    "B13-18": [("cutting_plane", lambda found: lambda *given: ([found(*given)[-1][0]] * 10,))],
    "B13-19": [
        ("coordinate_descent", lambda descent: lambda X, *given: descent(1.01 * X, *given)),
        ("prox_sdca", lambda found: lambda *given: 1.01 * found(*given)),
    ],
    "B13-21": [
        ("iterates", lambda found: lambda *given, **options: found(*given, **options | {"line_search": False})),
        ("iterates", lambda found: lambda *given, **options: found(*given, **options | {"line_search": True})),
    ],
    "B13-23": [
        ("block_curvatures", lambda curvatures: lambda *given: 0.01 * curvatures(*given)),
        ("negative_dual", lambda f: lambda *given: -f(*given)),
    ],
    "B13-24": [("dual", lambda dual: lambda *given: dual(*given) - 3.0)],
    "B13-25": [("primal", lambda primal: lambda *given: primal(*given) + 1000.0)],
    "B13-26": [("primal", lambda primal: lambda *given: primal(*given) + 1000.0)],
    "B13-27": [
        ("fenchel", lambda found: lambda *given: (1.0, 2.0)),
        ("fenchel", lambda found: lambda *given: (2.0, 1.0)),
    ],
    "B13-28": [(name, lambda found: lambda *given: found(*given) + 100.0) for name in ("degraded_batch", "degraded_planes")],
    "B13-29": [("digits_radius_sq", lambda _: lambda: 0.1)],
    "B13-31": [("stochastic_subgradients", lambda _: lambda outputs, *_: np.ones((1, outputs.psi.shape[2])))],
    "G16-7": [("worst_on_path", lambda worst: lambda *given: worst(*given) + 0.1)],
    "G16-9": [("iterates", lambda found: lambda *given, **options: found(*given, **options | {"sampling": "uniform"}))],
    "G16-11": [("sizes_of_cached_run", lambda _: lambda *given: (np.ones(3, dtype=bool), np.ones(3)))],
    "G16-12": [("gap_sampling", lambda found: lambda *given: (found(*given)[0] - 100.0, found(*given)[1]))],
    "G16-13": [
        ("optimum", lambda optimum: lambda *given: optimum(*given) + 1000.0),
        ("iterates", lambda found: lambda *given, **o: found(*given, **o | {"cache": {"F": 0.0, "nu": 0.0}})),
    ],
    "G16-17": [
        ("small_paths.bends", lambda _: lambda outputs, lams: len(lams)),
        ("small_paths.bends", lambda _: lambda outputs, lams: 1),
    ],
    "G16-19": [("drop_steps.walk", lambda found: lambda *given: _sublinear(found(*given)))],
    "R-8": [("quadratics.saddle_gaps", lambda _: lambda *given: 1 / np.arange(1.0, 1001.0))],
    "R-18": [("block_minimum", lambda found: lambda outputs, *given: np.full(outputs.losses.shape, 1 / outputs.losses.shape[1]))],
    "G16-18": [("small_paths.calls_at_break_points", lambda _: lambda *given: (np.ones(3), np.ones(3)))],
    "L-5": [("optimum", lambda optimum: lambda *given: optimum(*given) - 100.0)],
    "R-9": [
        ("negative_dual", lambda f: lambda *given: -f(*given)),
        ("game_gap", lambda gap: lambda M, sign, steps: gap(M, -sign, steps)),
        ("extragradient", lambda found: lambda F, b, steps: found(F, b, steps + 1)),
        ("augmented", lambda found: lambda *given: -found(*given)),
    ],
    "R-11": [("quadratics.curvature", lambda found: lambda *given: 100.0 * found(*given))],
    "R-12": [
        ("quadratics.diameter", lambda found: lambda *given: 2.0 * found(*given)),
        ("quadratics.lipschitz", lambda _: lambda *given: 1.0),
        ("quadratics.curvature", lambda found: lambda *given: 100.0 * found(*given)),
    ],
    "R-13": [("quadratics.gaps_with_errors", lambda found: lambda *given: found(*given) + 100.0)],
    "R-14": [("quadratics.extragradient_on_balls", lambda found: lambda *given: 10.0 * found(*given))],
    "R-15": [
        (f"quadratics.{name}", lambda found: lambda *given: found(*given) - 100.0) for name in ("restricted_gap", "gap_of_operator")
    ],
    "R-16": [
        ("quadratics.OnHull.gradient", lambda found: lambda self, x: -found(self, x)),
        ("misprints._linear_example", lambda found: lambda: found(a=1.0)),
        ("quadratics.lipschitz", lambda found: lambda *given: 100.0 * found(*given)),
        ("optimum", lambda found: lambda *given: 1e12),
        ("some_outputs", lambda found: lambda *given: found(*given)._replace(psi=0.0 * found(*given).psi)),
        ("quadratics.gaps_with_errors", lambda found: lambda *given: 0.0 * found(*given)),
        ("quadratics.away_curvature", lambda found: lambda *given, **_: 1.0),
    ],
}
MODULES = {"chains": chains, "quadratics": quadratics, "small_paths": small_paths, "misprints": misprints, "drop_steps": drop_steps}
"""Modules of these functions, if they are not in `small`."""

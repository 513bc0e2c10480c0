"""Our block methods on the examples of the authors' published code (gapBCFW), next to the iterates that it printed.

``published_code.npz`` has what the MATLAB code of commit 7c42be9 printed under GNU Octave 7.3 on OCR-small (n = 626), with the
settings of its experiments: F = 0.25, nu = 0.01, 50 labelings, gaps computed every ten passes. For each run there are

* the example of every step, counted from 0;
* what each step was: its cache hit, its kind and whether it was clipped (`Steps`);
* twelve digits of the objectives after each n steps and where all gaps were computed, or at the break points of a path.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

PRINTED = Path(__file__).with_name("published_code.npz")
CACHE = {"F": 0.25, "nu": 0.01, "size": 50}
AT_END_OF_PASS, AT_ALL_GAPS = 0, 1
"""Why the code printed a row: n more steps were taken, or all gaps were computed."""
PASS_COLUMNS = ("at", "steps", "calls", "hits", "primal", "dual", "gap", "estimate")
POINT_COLUMNS = ("lam", "steps", "calls", "primal", "dual", "gap", "estimate")
NO_STEP, FRANK_WOLFE, AWAY, PAIRWISE = 0, 1, 2, 3
"""Kinds of steps."""
LOCAL, GLOBAL = 1, 2
"""Criteria of the cache that a hit met; both are 3."""


class Replay(NamedTuple):
    """A run of the published code: what it is called in its file and in ``conf/solver``, and its settings."""

    key: str
    variant: str
    lam: float
    options: dict
    gap_tol: float = 1e-9


RUNS = (
    Replay("fw_gap_lam0_001", "bcfw_gap", 0.001, {"step": "fw"}),
    Replay("fw_gap_cache_lam0_001", "bcfw_gap_cache", 0.001, {"step": "fw", "cache": CACHE}),
    Replay("pairwise_gap_lam0_001", "bcpfw_gap", 0.001, {"step": "pairwise"}),
    Replay("pairwise_gap_cache_lam0_001", "bcpfw_gap_cache", 0.001, {"step": "pairwise", "cache": CACHE}),
    Replay("away_gap_lam0_001", "bcafw_gap", 0.001, {"step": "away"}),
    Replay("early_fw_gap_lam0_1", "bcfw_gap", 0.1, {"step": "fw"}, 0.1),
)
SHOWN = RUNS[:5]  # in the figure
PATHS = (
    Replay("path_fw_exact", "bcfw_gap", 0.0, {"step": "fw"}),
    Replay("path_pairwise_cache_exact", "bcpfw_gap_cache", 0.0, {"step": "pairwise", "cache": CACHE}),
)
EPS, KAPPA = 0.1, 0.9
"""Of the paths."""


class Steps(NamedTuple):
    """The steps of a run, an entry each."""

    example: np.ndarray
    hit: np.ndarray
    kind: np.ndarray
    drop: np.ndarray


def printed(key: str) -> tuple[dict[str, np.ndarray], Steps]:
    """Return the rows that a run printed, by column, and its steps."""
    with np.load(PRINTED) as arrays:
        table, order, codes = (arrays[key + part] for part in ("", "_order", "_steps"))
    columns = POINT_COLUMNS if len(POINT_COLUMNS) == table.shape[1] else PASS_COLUMNS
    return dict(zip(columns, table.T, strict=True)), Steps(order.astype(np.int64), codes % 4, codes // 4 % 4, codes // 16)


def replayed(_, data_dir):
    """Return a frame with ``variant``, ``passes``, ``measure``, ``published`` and ``ours``, from the OCR data in a folder."""
    import pandas as pd

    from fwexp.api import solve
    from fwexp.run.runner import load

    train, *_ = load({"name": "ocr", "split": "ocr"}, data_dir)
    frames = []
    for run in SHOWN:
        rows, steps = printed(run.key)
        ends = rows["at"] == AT_END_OF_PASS
        computed = np.sum((rows["at"] == AT_ALL_GAPS) & (rows["steps"] < len(steps.example)))
        # With a cache the last steps may need no call; the order then begins anew.
        most = rows["calls"][-1] / train.n + computed + ("cache" in run.options)
        settings = {"lam": run.lam, "refresh": 10, "gap_tol": run.gap_tol, "max_passes": most, "schedule": "steps"}
        trace = solve(train, "bcfw", order=steps.example, iterates=["last"], **settings, **run.options).trace
        ours = trace.drop_duplicates("step").set_index("step").loc[rows["steps"][ends]]
        for measure in ("primal", "dual", "gap"):
            values = {"published": rows[measure][ends], "ours": ours[measure].to_numpy()}
            facts = {"variant": run.variant, "passes": ours["passes"].to_numpy(), "measure": measure}
            frames.append(pd.DataFrame(facts | values))
    return pd.concat(frames, ignore_index=True)

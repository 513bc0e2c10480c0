"""Our solvers on the index sequence of the authors' published code (BCFWstruct), next to the iterates that it printed.

``published_code.npz`` has what the MATLAB code printed under GNU Octave 7.3 on OCR-small (n = 626), lam = 0.01: primal, dual and
gap after each of 30 passes, with ten digits, and the example of every block step, counted from 0.
"""

from pathlib import Path

import numpy as np

PRINTED = Path(__file__).with_name("published_code.npz")
LAM, PASSES = 0.01, 30
MEASURES = ("primal", "dual", "gap")
VARIANTS = {"bcfw": ("last", "wavg"), "fw": ("last",)}
"""The methods that the code ran, and the iterates that it printed of each."""


def printed() -> dict[str, np.ndarray]:
    """Return the arrays of the file."""
    with np.load(PRINTED) as arrays:
        return dict(arrays)


def replayed(_, data_dir):
    """Return a frame with ``variant``, ``passes``, ``measure``, ``published`` and ``ours``, from the OCR data in a folder."""
    import pandas as pd

    from fwexp.api import solve
    from fwexp.methods import variant_of
    from fwexp.run.runner import load

    known = printed()
    train, *_ = load({"name": "ocr", "split": "ocr"}, data_dir)
    settings = {"lam": LAM, "max_passes": PASSES, "gap_tol": 0, "schedule": 1}
    rows = []
    for solver, iterates in VARIANTS.items():
        order = {"order": known["order"].astype(np.int64)} if solver == "bcfw" else {}
        trace = solve(train, solver, iterates=iterates, **settings, **order).trace
        for iterate in iterates:
            variant = variant_of(solver, iterate)
            ours = trace[(trace["iterate"] == iterate) & (trace["passes"] >= 1)]
            for measure in MEASURES:
                values = {"published": known[f"{variant.replace('-', '_')}_{measure}"], "ours": ours[measure].to_numpy()}
                rows.append(pd.DataFrame({"variant": variant, "passes": ours["passes"].to_numpy(), "measure": measure, **values}))
    return pd.concat(rows, ignore_index=True)

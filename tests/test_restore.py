"""A run that is saved, and restored in another process, goes on bit for bit."""

import json
import subprocess
import sys

import numpy as np

from fwexp import record
from fwexp.solvers import check_options, get_solver
from fwexp.testing import small_chains

BIG = 10**9
SETTINGS = [
    ("bcfw", {}),
    ("bcfw", {"sampling": "perm", "line_search": False}),
    ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True}),
    ("bcfw", {"sampling": "max_gap", "step": "away", "refresh": 2}),
    ("bcfw", {"sampling": "lipschitz", "step": "corrective", "accelerate": {"kap": 2.0, "period": 1.0}}),
    ("fw", {}),
    ("ssg", {"sampling": "perm"}),
    ("one_slack", {}),
    ("n_slack", {}),
    ("fcfw", {}),
    ("online_eg", {}),
    ("kernel_bcfw", {"kernel": "rbf"}),
    ("kernel_fw", {}),
    ("approx_bcfw", {}),
]
GO_ON = """
import json, sys
import numpy as np
from fwexp import record
from fwexp.solvers import check_options, get_solver
from fwexp.testing import small_chains

for name, options, path, calls in json.loads(sys.argv[1]):
    cls = get_solver(name)
    solver = cls(small_chains(), 0.1, check_options(cls, options), seed=5)
    with np.load(path, allow_pickle=False) as arrays:
        solver.restore(record.from_arrays(arrays))
    solver.advance(calls, 10**9)
    point = solver.point("last")
    print(solver.step, solver.oracle_calls, np.float64(point.dual).tobytes().hex(), np.array(point.w).tobytes().hex())
"""


def test_every_solver_goes_on_in_another_process(tmp_path):
    jobs, wanted = [], []
    for k, (name, options) in enumerate(SETTINGS):
        cls, problem = get_solver(name), small_chains()
        solver = cls(problem, 0.1, check_options(cls, options), seed=0)
        solver.advance(3 * problem.n, BIG)
        np.savez(tmp_path / f"{k}.npz", **record.to_arrays(solver.state))
        jobs.append([name, options, str(tmp_path / f"{k}.npz"), 9 * problem.n])
        solver.advance(9 * problem.n, BIG)
        point = solver.point("last")
        bits = np.float64(point.dual).tobytes().hex(), np.array(point.w).tobytes().hex()
        wanted.append(f"{solver.step} {solver.oracle_calls} {bits[0]} {bits[1]}")
    run = subprocess.run([sys.executable, "-c", GO_ON, json.dumps(jobs)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for job, line, want in zip(jobs, run.stdout.splitlines(), wanted, strict=True):
        assert line == want, job[:2]

"""Install each extra alone into an environment of its own, let it do its job, and print its size: ``python -m tools.extras``.

Names choose extras (``core`` is none of them), ``--python`` another Python, ``--file`` a wheel instead of this checkout; all other
options, as one word each, go to ``uv pip install``::

    python -m tools.extras --resolution=lowest-direct  # the lower bounds of pyproject.toml
    python -m tools.extras --prerelease=allow          # release candidates
    python -m tools.extras --compile-bytecode          # sizes as pip leaves them
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKOUT = "checkout: "  # a job that needs more files than are installed

# Sums the files of the environment that runs it, without what uv puts into every one.
SIZE = """
import json, sys
from importlib import metadata
from pathlib import Path
names = {found.name for found in metadata.distributions()} - {"fwexp"}
files = [path for path in Path(sys.prefix, "lib").rglob("*") if path.is_file() and not path.is_symlink()]
print(json.dumps([sum(path.stat().st_size for path in files) / 1e6, len(names)]))
"""
SOLVE = """
import fwexp
train, test = fwexp.load_dataset("digits")
result = fwexp.solve({problem}, "bcfw", lam=0.1, gap_tol=0.01)
assert fwexp.evaluate(test, fwexp.load(result.save("model.npz")).w).error < 0.1
"""
RUN = "fwexp run solver=bcfw dataset=digits max_passes=2"
SWEEP = "fwexp run -m solver=bcfw dataset=digits max_passes=2 lam=0.1,1"
SHARDS = """
import fwexp.distributed
from distributed import Client
client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0")
train, test = fwexp.load_dataset("digits")
result = fwexp.solve(fwexp.distributed.shard(train, client, 2), lam=0.1, gap_tol=0.01)
assert result.status == "converged"
"""
ESTIMATORS = """
import fwexp, numpy as np
from fwexp.estimators import MulticlassSVM
from sklearn.model_selection import cross_val_score
X, y = np.repeat(np.eye(3), 20, axis=0), np.repeat(list("abc"), 20)
assert cross_val_score(MulticlassSVM(), X, y, n_jobs=2, cv=3).mean() == 1.0
functions = {"features": lambda i, y: np.eye(3)[y], "loss": lambda i, y: float(y != i)}
functions |= {"max_oracle": lambda i, w: (i + 1) % 3, "decode": lambda i, w: (i + 1) % 3}
assert fwexp.evaluate(fwexp.CallbackProblem([0, 1, 2], n_jobs=2, **functions), np.zeros(3)).error == 1.0
"""
IMAGES = """
import h5py, numpy as np
from fwexp.data import part_scores, superpixels
image = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
assert superpixels.describe(image, 20).edges.shape[1] == 2
assert part_scores.describe(image).shape == (7, 10, 12)
"""
PEERS = """
import numpy as np
from benchmarks.peers import tools
oracle = tools.PythonOracle(np.eye(3), np.arange(3), 3)
assert np.isfinite(tools.liblinear(oracle.X, oracle.y, 0.1, 0.1).w).all()
assert all(tools.called(name, name) for name in ("dlib", "pycrfsuite") if tools.module(name))
"""
# What docs/install.md promises of each extra: lines of a shell, or programs.
JOBS: dict[tuple[str, ...], list[str]] = {
    (): [SOLVE.format(problem="train"), "fwexp doctor"],
    ("experiments",): [RUN, SWEEP, "fwexp ls", "fwexp figure quickstart --preset smoke"],
    ("estimators",): [ESTIMATORS],
    ("report",): [RUN, "fwexp report"],
    ("images",): [IMAGES],
    ("parallel",): [f"{SWEEP} hydra/launcher=joblib hydra.launcher.n_jobs=2"],
    ("submitit",): [f"{SWEEP} hydra/launcher=submitit_local"],
    ("optuna",): [f"{SWEEP} hydra/sweeper=optuna hydra.sweeper.n_trials=2 objective_value=primal"],
    ("dask",): [SHARDS],
    ("dask", "experiments"): [f"{SWEEP} hydra/launcher=dask hydra.launcher.n_workers=2", f"{RUN} engine=dask engine.workers=2"],
    ("peers",): [CHECKOUT + PEERS],
    ("docs",): [f"{CHECKOUT}python docs/build.py"],
}


def main() -> int:
    """Try the extras, print a row of a table for each, and return 1 if one does not do its job."""
    parser = argparse.ArgumentParser(description="Install each extra alone, and let it do its job.")
    parser.add_argument("extras", nargs="*", help=f"default: all: {', '.join(map(_name, JOBS))}")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--file", default=ROOT)
    given, options = parser.parse_known_args()
    if unknown := set(given.extras) - set(map(_name, JOBS)):
        parser.error(f"extras must be among {', '.join(map(_name, JOBS))}, got {', '.join(sorted(unknown))}")
    failed = []
    for extras, jobs in JOBS.items():
        if not given.extras or _name(extras) in given.extras:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    size, count = _try(Path(folder), extras, jobs, given.python, [*options, _of(given.file, extras)])
                    print(f"| `{_name(extras)}` | {size:.0f} | {count} |", flush=True)
                except subprocess.CalledProcessError as error:
                    print(f"{_name(extras)}: {error.cmd[:3]} ended with exit code {error.returncode}", flush=True)
                    failed.append(extras)
    return int(bool(failed))


def _name(extras: tuple[str, ...]) -> str:
    return "+".join(extras) or "core"


def _of(file: str | Path, extras: tuple[str, ...]) -> str:
    return f"{file}[{','.join(extras)}]" if extras else str(file)


def _try(folder: Path, extras: tuple[str, ...], jobs: list[str], python: str, options: list[str]) -> tuple[float, int]:
    """Return the megabytes and the number of packages of an extra that does its job."""
    venv, work = folder / "venv", folder / "work"
    work.mkdir()
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", python, venv], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", venv / "bin/python", *options], check=True)
    size = json.loads(subprocess.run([venv / "bin/python", "-c", SIZE], check=True, capture_output=True, text=True).stdout)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FWEXP_DATA")}
    environment["PATH"] = f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"
    for job in jobs:
        place, paths = (ROOT, {"PYTHONPATH": str(ROOT)}) if job.startswith(CHECKOUT) else (work, {})
        text = job.removeprefix(CHECKOUT)
        command = ["python", "-c", text] if "\n" in text else text.split()
        done = subprocess.run(command, cwd=place, env=environment | paths, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout + done.stderr, flush=True)
            done.check_returncode()
    return size


if __name__ == "__main__":
    sys.exit(main())

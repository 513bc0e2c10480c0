"""``fwexp doctor``: check this installation, and name the remedies of its faults."""

# ruff: noqa: T201

import importlib
import os
import platform
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import EXTRAS, MissingPackage, UserError, install, needing
from fwexp.files import folders

USAGE = """\
usage: fwexp doctor [results_dir=DIR] [data_dir=DIR]

Check the installation: versions, the processor and the machine code compiled for it, the cache of machine code, data sets and their
checksums, the folder of results, and a training whose optimum is known. The exit code is 1 if something is wrong; each such line
names the remedy.
"""
SHOWN = ("fwexp", "numpy", "scipy", "numba", "llvmlite", "pandas", "hydra-core")

# The optimum for lam 0.1 on the digits, to 1e-7: it lies between the dual and the primal objective of every run, on every CPU.
LAM, OPTIMUM, TOLERANCE, GAP_TOL, MOST_ERRORS = 0.1, 0.0671726, 1e-6, 1e-3, 0.12

Found = Iterator[tuple[bool, str]]  # whether it is right, and a text: the finding, or the fault and its remedy


@command("fwexp doctor", USAGE)
def main(given: Arguments) -> int:
    """Run ``fwexp doctor``, and return the exit code: 1 if something is wrong."""
    folders = {"results_dir": "results", "data_dir": None} | given.keys
    checks: dict[str, Callable[[], Found]] = {
        "packages": _packages,
        "processor": _processor,
        "kernels": _kernels,
        "data": lambda: _data(folders["data_dir"]),
        "results": lambda: _results(folders["results_dir"]),
        "training": _training,
    }
    wrong = 0
    for name, check in checks.items():
        for is_right, text in _caught(check):
            wrong += not is_right
            print(f"{name:10} {'' if is_right else 'WRONG: '}{' '.join(text.split())}", flush=True)
    print("sound" if not wrong else f"{wrong} {'thing is' if wrong == 1 else 'things are'} wrong")
    return int(wrong > 0)


def _caught(check: Callable[[], Found]) -> Found:
    """Yield the findings of a check; an exception is a finding as well, because a check may meet the very fault."""
    try:
        yield from check()
    except UserError as error:
        yield False, str(error)
    except OSError as error:
        yield False, f"{error.filename}: {error.strerror}; it has to be there and yours to read"
    except Exception as error:
        yield False, f"{type(error).__name__}: {error}; install again: {install()}"


def _packages() -> Found:
    versions = [f"{name} {_version(name) or 'missing'}" for name in SHOWN]
    yield True, ", ".join([f"python {platform.python_version()}", *versions])
    needs = [text.partition(";")[0] for text in metadata.requires("fwexp") or () if "extra ==" not in text]
    lowest = {re.match(r"[\w.-]+", need)[0]: re.search(r">=([\d.]+)|$", need)[1] or "0" for need in needs}
    for name, bound in lowest.items():
        version = _version(name)
        if version is None or _numbers(version) < _numbers(bound):
            need = f"{name}>={bound}".removesuffix(">=0")
            yield False, f"{name} is {version or 'missing'}, fwexp needs {need}: pip install '{need}'"
    for name in ("numpy", "scipy.sparse", "numba", "pandas", *EXTRAS["experiments"]):
        try:
            with needing("runs, figures or downloads need"):
                importlib.import_module(name)
        except MissingPackage as error:
            yield True, str(error)
        except Exception as error:
            package = name.partition(".")[0]
            yield False, f"{package} does not import ({type(error).__name__}: {error}): pip install --force-reinstall {package}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.match(r"[\d.]*\d", version)[0].split(".")]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> Found:
    import numba

    from fwexp.store.provenance import provenance

    facts = provenance()
    library = facts["blas"]
    blas = f"{library['name']} {library['version']}" + (f" for {library['kernel']}" if library["kernel"] else "")
    yield True, f"{facts['cpu']}; machine code for {facts['cpu_kind']['name']}; {blas}; threads {facts['threads']}"
    if numba.config.DISABLE_JIT:
        yield False, "NUMBA_DISABLE_JIT is set, so everything is slow: unset it, unless you debug"


def _kernels() -> Found:
    from fwexp.jit import disk_cache, texts

    folder, trouble = disk_cache.base()
    if folder is None:
        yield False, f"no folder for machine code, so every command compiles anew ({trouble}): set XDG_CACHE_HOME to one of yours"
        return
    sizes = [_size(path) for path in folder.rglob("*.nbc")]
    instead = f"; not in the usual place ({trouble})" if trouble else ""
    yield True, f"{folder}: {len(sizes)} files, {sum(sizes) / 1e6:.0f} MB; what numba compiles is in {texts.folder()}{instead}"
    if reason := _cannot_write(folder):
        yield False, f"{folder} cannot be written to ({reason}), so commands compile anew: make room, or set XDG_CACHE_HOME"


def _cannot_write(folder: Path) -> str:
    """Return why no file can be made in a folder, or nothing."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(4096))
    except OSError as error:
        return error.strerror
    return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # pruned meanwhile
        return 0


def _data(data_dir: str | None) -> Found:
    from fwexp.data import DATASETS
    from fwexp.data.data_files import resolve_data_dir
    from fwexp.errors import DataError
    from fwexp.options import STRUCTURED

    folder = resolve_data_dir(data_dir)
    is_named = data_dir is not None or os.environ.get("FWEXP_DATA")
    if is_named and not folders.is_folder(folder):
        yield False, f"{folder} is no folder: make it, or name another with FWEXP_DATA or data_dir="
    states, wrong = {}, []
    for name in DATASETS.where(lambda dataset: dataset.kind == STRUCTURED):  # the others are computed
        files = [(file, file.find(folder)) for file in DATASETS[name].files]
        states[name] = "complete" if all(path for _, path in files) else "missing"
        for file, path in files:
            try:
                if path:
                    file.verify(path)
                elif file.home is not None:
                    raise DataError(f"{file.folder(folder) / file.path}: missing")
            except MissingPackage as error:
                states[name] = "untested"
                wrong.append(str(error))
            except DataError as error:
                states[name] = "damaged"
                wrong.append(f"{error}; {file.cure(name)}")
    kinds = ("complete", "missing", "damaged", "untested")
    lists = {state: ", ".join(name for name in states if states[name] == state) for state in kinds}
    yield True, f"{folder}: " + "; ".join(f"{state}: {names}" for state, names in lists.items() if names)
    yield from ((False, text) for text in wrong)


def _results(results_dir: str) -> Found:
    from fwexp.store.results import find_runs

    folder = folders.check_folder("results_dir", results_dir)
    nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if folders.exists(path))
    runs = find_runs(folder, include=("partial", "failed", "damaged"))
    unfinished = Counter(run.status for run in runs if run.status in ("interrupted", "failed", "damaged"))
    counts = {"finished": len(runs) - unfinished.total(), "partial": unfinished["interrupted"], "failed": unfinished["failed"]}
    yield True, f"{folder}: {', '.join(f'{count} {kind}' for kind, count in counts.items())}"
    if reason := _cannot_write(nearest):
        yield False, f"{nearest} cannot be written to ({reason}): name another folder with results_dir="
    for run in runs:
        if run.damage:
            yield False, f"{run.path}: {run.damage}; move it away"


def _training() -> Found:
    import numba

    from fwexp.api import evaluate, solve
    from fwexp.data import load_dataset

    if numba.config.DISABLE_JIT:
        return  # it would take minutes
    train, test = load_dataset("digits")
    start = time.perf_counter()
    result = solve(train, "bcfw", lam=LAM, gap_tol=GAP_TOL, max_passes=200)
    seconds = time.perf_counter() - start
    primal, dual, error = result.primal, result.primal - result.gap, evaluate(test, result.w).error
    facts = f"primal {primal:.6f}, dual {dual:.6f}, gap {result.gap:.1e}, test error {error:.3f}"
    conditions = {
        f"the dual must be at most {OPTIMUM} and the primal at least that": dual - TOLERANCE <= OPTIMUM <= primal + TOLERANCE,
        f"the gap must lie between 0 and {GAP_TOL}": 0 <= result.gap <= GAP_TOL and result.status == "converged",
        f"the test error must be at most {MOST_ERRORS}": error <= MOST_ERRORS,
    }
    yield True, f"digits with lam {LAM}: {facts}, {seconds:.1f} s with compilation"
    for condition, holds in conditions.items():
        if not holds:
            yield (
                False,
                f"{condition}: do not trust numbers of this machine; try NUMBA_CPU_NAME=generic, or other versions ({sys.prefix})",
            )

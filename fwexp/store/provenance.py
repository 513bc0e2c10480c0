"""Where a run came from: software versions, the commit of the checkout, the machine and its kind of CPU."""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import subprocess
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from fwexp import plugin_files, plugins
from fwexp.jit.threads import num_threads

PACKAGES = ("fwexp", "numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "hydra-core")
KERNEL_OF_BLAS = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)


@functools.cache
def provenance() -> dict:
    """Return the record of the origin of every run, as plain data."""
    return {
        **software(),
        **build(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": processor(),
        "cpu_features": cpu_features(),
        "cpu_count": os.cpu_count(),
        "threads": num_threads(),
    }


@functools.cache
def software() -> dict:
    """Return the part of it that tells the code from other code; the kind of CPU takes numba to find out."""
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "git": git_state(Path(__file__).resolve().parents[2]),
    }


@functools.cache
def build() -> dict:
    """Return the part of it that a run's bits depend on: versions, and the code that they have for this kind of CPU."""
    return {
        "python": software()["python"],
        "versions": software()["versions"],
        "cpu_kind": cpu_kind(),
        "blas": blas(),
    }


def cpu_kind() -> dict:
    """Return the kind of CPU that numba compiles for: its name and a digest of its features, on which the order of sums depends."""
    name, features = _target()
    return {"name": name, "features": hashlib.sha256(features.encode()).hexdigest()[:16]}


def cpu_features() -> str:
    """Return the features that numba compiles for, by name; `cpu_kind` has the digest of these and of those that are off."""
    return " ".join(feature.removeprefix("+") for feature in _target()[1].split(",") if feature.startswith("+"))


def _target() -> tuple[str, str]:
    """Return the name and the features of the CPU that numba compiles for, which are this one's unless a variable sets others."""
    import numba

    from fwexp.jit.addresses import binding

    if numba.config.DISABLE_JIT:
        return "python", ""  # NUMBA_DISABLE_JIT: functions are not compiled
    features = binding.get_host_cpu_features()
    if not numba.config.ENABLE_AVX:
        features.update({name: False for name in features if name.startswith("avx")})
    name, given = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return binding.get_host_cpu_name() if name is None else name, features.flatten() if given is None else given


def blas() -> dict:
    """Return the library behind numpy's products: name, version, and its code for this CPU, which it chooses when it is loaded."""
    import numpy as np

    build = np.show_config(mode="dicts")["Build Dependencies"].get("blas", {})
    extension = getattr(getattr(np.linalg, "_umath_linalg", None), "__file__", None)  # The public names do not lead to the library.
    kernel = None if extension is None else _kernel_of_blas(extension)
    return {"name": build.get("name"), "version": build.get("version"), "kernel": kernel}


def _kernel_of_blas(extension: str) -> str | None:
    """Return what OpenBLAS calls its code, asked through an extension module that is linked with it."""
    try:
        library = ctypes.CDLL(extension)
        ask = next(getattr(library, name) for name in KERNEL_OF_BLAS if hasattr(library, name))
    except (OSError, StopIteration):  # another library, or one that is linked in without its names
        return None
    ask.restype = ctypes.c_char_p
    return ask().decode(errors="replace")


def git_state(root: Path) -> dict | None:
    """Return ``{"commit": ..., "dirty": ...}`` of the checkout whose top folder is ``root``; None in that of another project."""
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    if not top or not commit or Path(top).resolve() != root.resolve():
        return None
    return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}


@functools.cache
def plugins_of(modules: tuple[str, ...]) -> dict[str, dict]:
    """Return version and checkout of the packages and plugin files that have modules; plugin files have no version."""
    points = [point for group in plugins.GROUPS.values() for point in metadata.entry_points(group=group)]
    versions = {point.module.partition(".")[0]: point.dist.version for point in points if point.dist}
    found = {}
    for name in sorted({name.partition(".")[0] for name in modules} - {"fwexp"}):
        spec = find_spec(name)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        path = next((Path(place).resolve() for place in places if place), None)
        is_file = path is not None and name.startswith(plugin_files.PREFIX)
        state = path and _state_around(path if is_file or path.is_dir() else path.parent)
        found[path.name if is_file else name] = {"version": versions.get(name), "git": state}
    return found


def _state_around(path: Path) -> dict | None:
    """Return the state of a file or folder in the checkout that it lies in; None if it is installed, or in no checkout."""
    folder = path if path.is_dir() else path.parent
    if {"site-packages", "dist-packages"}.intersection(path.parts) or not (commit := _git(folder, "rev-parse", "--verify", "HEAD")):
        return None
    return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain", "--", str(path)))}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        # Without the lock that `git status` takes to note what it found: the user's own commands would fail meanwhile.
        command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """Return the processor's name: the one of Linux on x86, otherwise the one that LLVM has for its kind."""
    from fwexp.jit.addresses import binding

    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return binding.get_host_cpu_name()

"""Where a run came from: software versions, the commit of the checkout, the machine and its kind of CPU."""

import functools
import hashlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from fwexp._threads import num_threads

PACKAGES = ("fwexp", "numpy", "scipy", "numba", "pandas", "pyarrow", "hydra-core")


@functools.cache
def provenance() -> dict:
    """Return what is recorded beside every run, as plain data."""
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "git": git_state(Path(__file__).resolve().parents[2]),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu(),
        "cpu_kind": cpu_kind(),
        "cpu_count": os.cpu_count(),
        "threads": num_threads(),
    }


def cpu_kind() -> dict:
    """Return the kind of CPU that numba compiles for, by its name and a digest of its features.

    Oracles may sum in another order on another kind; runs are the same bit for bit on one kind only.
    """
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return {"name": name, "features": hashlib.sha256(features.encode()).hexdigest()[:16]}


def git_state(root: Path) -> dict | None:
    """Return ``{"commit": ..., "dirty": ...}`` of the checkout whose top folder is ``root``; None if it is none.

    An installed package may lie inside somebody else's checkout, which is not its source.
    """
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    if not top or not commit or Path(top).resolve() != root.resolve():
        return None
    return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    """Return the processor's name; the standard library knows it on some systems only."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

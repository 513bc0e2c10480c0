"""Renew the lock files, and check that their packages have wheels everywhere: ``make lock``.

``requirements.lock`` pins the packages that experiments and estimators need, ``requirements-dev.lock`` those of tests, peers and
pages as well. Python 3.11.0 chooses the versions, and all Pythons and systems use the same ones. ``--check`` renews nothing.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
EXTRAS = {"requirements.lock": ("experiments", "estimators"), "requirements-dev.lock": ("dev",)}
HEADER = """\
# Pinned packages of fwexp for {extras}, for Python 3.11.0 and newer on Linux, macOS and Windows.
# `make lock` renews this file and checks that every package has a wheel; only antlr4 (pure Python) is a source archive.
"""
OLDEST, PYTHONS = "3.11.0", ("3.11.0", "3.12.0", "3.13.0", "3.14.0")
MANYLINUX = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
MANYLINUX += ("manylinux_2_12", "manylinux_2_5")
INTEL_MACOS = ("10_9", "10_12", "10_13", "10_14", "10_15", "11_0", "12_0", "13_0")
SYSTEMS = {  # the tags that pip accepts, and the markers that differ
    "Linux x86-64": ([f"{tag}_x86_64" for tag in MANYLINUX], ("linux", "Linux", "x86_64")),
    "Linux aarch64": ([f"{tag}_aarch64" for tag in MANYLINUX], ("linux", "Linux", "aarch64")),
    "macOS arm64": (
        [f"macosx_{major}_0_{arch}" for major in range(11, 14) for arch in ("arm64", "universal2")],
        ("darwin", "Darwin", "arm64"),
    ),
    "macOS x86-64": (
        [f"macosx_{version}_{arch}" for version in INTEL_MACOS for arch in ("x86_64", "universal2")],
        ("darwin", "Darwin", "x86_64"),
    ),
    "Windows": (["win_amd64"], ("win32", "Windows", "AMD64")),
}
# Macs with Intel have wheels of older packages only, from numba on; they get their own versions of these.
NO_INTEL_MAC = "(sys_platform != 'darwin' or platform_machine != 'x86_64')"
IMPOSSIBLE = {("macOS x86-64", "3.14.0")}  # numba has no wheels
SOURCE_ONLY = {"antlr4-python3-runtime"}


def compile_lock(name: str, constraints: Path) -> str:
    """Return the lines of a lock file: the versions that the oldest Python gets, with markers for other systems."""
    command = ["uv", "pip", "compile", "--quiet", "--python-version", OLDEST, "--no-annotate", "--no-header", "--no-emit-index-url"]
    command += ["pyproject.toml", *(f"--extra={extra}" for extra in EXTRAS[name]), "--constraints"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as oldest:
        pins = _output([*command, constraints]).splitlines()
        oldest.write("".join(f"{pin}{' and ' if ';' in pin else ' ; '}{NO_INTEL_MAC}\n" for pin in pins))
        oldest.flush()
        return _output([*command, oldest.name, "--universal", "--fork-strategy=fewest"])


def _output(command: list) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def faults(name: str) -> list[str]:
    """Return where a lock file cannot be installed from wheels: the system, the Python, and what pip says."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    found = []
    for system, (tags, (sys_platform, system_name, machine)) in SYSTEMS.items():
        for python in PYTHONS:
            if (system, python) in IMPOSSIBLE:
                continue
            environment = default_environment() | {
                "sys_platform": sys_platform,
                "platform_system": system_name,
                "platform_machine": machine,
                "os_name": "nt" if sys_platform == "win32" else "posix",
                "python_version": python.rpartition(".")[0],
                "python_full_version": python,
            }
            pins = [
                str(each).partition(";")[0]
                for each in map(Requirement, lines)
                if each.name not in SOURCE_ONLY and (each.marker is None or each.marker.evaluate(environment))
            ]
            with tempfile.TemporaryDirectory() as target:
                command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--only-binary=:all:"]
                command += ["--target", target, "--python-version", python, *(f"--platform={tag}" for tag in tags), *pins]
                run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                found.append(f"{name}, {system}, Python {python}: {run.stderr.strip().splitlines()[-1]}")
            else:
                print(f"{name}, {system}, Python {python}: {len(pins)} packages", flush=True)
    return found


def main() -> int:
    """Renew the lock files unless ``--check`` is given, then check them."""
    parser = argparse.ArgumentParser(description="Renew and check the lock files.")
    parser.add_argument("--check", action="store_true", help="renew nothing")
    given = parser.parse_args()
    if not given.check:
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder) / "constraints.txt"
            constraints.touch()
            for name, extras in EXTRAS.items():
                lock = compile_lock(name, constraints)
                (ROOT / name).write_text(HEADER.format(extras=" and ".join(extras)) + lock)
                constraints.write_text(lock)
    found = [fault for name in EXTRAS for fault in faults(name)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Make a release of the last commit in ``dist/``, all but the upload: ``make release``. CONTRIBUTING.md says what comes before.

The wheel and the source archive are built twice, in two folders, and must be the same bytes: anyone can build them again from the
tag with ``SOURCE_DATE_EPOCH``. They are then checked as an index checks them, and the wheel is tried in fresh environments.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
UV = (sys.executable, "-m", "uv")


def main() -> int:
    """Build, check and try a release; return the exit code."""
    if _output("git", "status", "--porcelain", "--untracked-files=no"):
        print("release: all changes must be committed, because a release is the last commit", file=sys.stderr)
        return 2
    if DIST.exists():
        print(f"release: {DIST} must not exist, because all that it holds would be uploaded; move it away", file=sys.stderr)
        return 2
    epoch = _output("git", "log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as folder:
        one, other = (_build(Path(folder, name), epoch) for name in ("one", "the-other"))
        sums = [{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths} for paths in (one, other)]
        if sums[0] != sums[1]:
            print(f"release: two builds must be the same bytes, got {sums[0]} and {sums[1]}", file=sys.stderr)
            return 1
        DIST.mkdir()
        built = [shutil.copy(path, DIST) for path in one]
        _run(*UV, "tool", "run", "twine", "check", "--strict", *built)
        _run(*UV, "tool", "run", "pyroma", "--min", "10", Path(folder, "one"))
    (wheel,) = DIST.glob("*.whl")
    _run(sys.executable, "-m", "tools.extras", "core", "experiments", "estimators", "--file", wheel)
    print(*(f"{digest}  dist/{name}" for name, digest in sorted(sums[0].items())), sep="\n")
    print(f"SOURCE_DATE_EPOCH={epoch}; what is left: uv publish")
    return 0


def _build(source: Path, epoch: str) -> list[Path]:
    """Return the files that are built in a clone, which has no file that is not committed."""
    _run("git", "clone", "--quiet", ROOT, source)
    _run(*UV, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, source, SOURCE_DATE_EPOCH=epoch)
    return sorted((source / "dist").glob("fwexp*"))


def _run(*command: str | Path, **environment: str) -> None:
    if subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode:
        sys.exit(f"release: {' '.join(map(str, command))} must succeed")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

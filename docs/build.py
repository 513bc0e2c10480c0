"""Build the pages for `make docs`, in a new folder that replaces ``docs/_build/html`` if the build succeeds."""

import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from fwexp.errors import exit_code
from fwexp.files.owned import replacing_folder

DOCS = Path(__file__).parent


def build(arguments: list[str]) -> int:
    """Run Sphinx with these arguments, and return its exit code."""
    with tempfile.TemporaryDirectory() as doctrees, replacing_folder(DOCS / "_build" / "html", "documentation") as folder:
        code = sphinx(["--quiet", "--fail-on-warning", "--keep-going", "-d", doctrees, *arguments, str(DOCS), str(folder)])
        if code:
            sys.exit(code)
    return code


if __name__ == "__main__":
    sys.exit(exit_code("make docs", lambda: build(sys.argv[1:])))

"""``fwexp report``."""

# ruff: noqa: T201

from fwexp import _folders
from fwexp.errors import OptionError, ParameterError, unknown

USAGE = """\
usage: fwexp report [results_dir=DIR]

Writes DIR/report/: pages with all figures and tables that are drawn, what stored runs say of the papers' claims, the data
sets, all runs and the environment. Open DIR/report/index.html; it needs no network. Nothing is run: fwexp figure NAME and
fwexp claims --run do that. Needs plotly (pip install 'fwexp[report]').
"""


def main(args: list[str]) -> int:
    """Run ``fwexp report`` with the arguments after ``report``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        An argument that it does not take; plotly is not there.
    """
    if "-h" in args or "--help" in args:
        print(USAGE, end="")
        return 0
    keys = {"results_dir": "results"}
    for arg in args:
        key, equals, value = arg.partition("=")
        if not equals or arg.startswith("-") or key not in _folders.FOLDER_KEYS:
            raise OptionError(unknown("argument of fwexp report", arg, ("results_dir=DIR",)))
        if not value:
            raise ParameterError(f"{key} must not be empty")
        keys[key] = _folders.folder_argument(key, value)
    from fwexp.experiments.report.build import build

    print(build(keys["results_dir"]))
    return 0

"""``fwexp report``."""

# ruff: noqa: T201

from fwexp.errors import OptionError, unknown
from fwexp.experiments.arguments import parse

USAGE = """\
usage: fwexp report [results_dir=DIR]

Writes DIR/report/: pages with all figures and tables that are drawn, what stored runs say of the papers' claims, the data
sets, all runs and the environment. Open DIR/report/index.html; it needs no network. Nothing is run: fwexp figure NAME and
fwexp claims --run do that. Needs plotly (pip install 'fwexp[report]').
"""
KEYS = ("results_dir",)


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
    words, _, keys = parse("report", args, keys=KEYS)
    if words:
        raise OptionError(unknown("argument of fwexp report", words[0], ("results_dir=DIR",)))
    from fwexp.experiments.report.build import build

    print(build(keys.get("results_dir", "results")))
    return 0

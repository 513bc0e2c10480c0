"""``fwexp report``."""

# ruff: noqa: T201

from fwexp.commands.arguments import Arguments, command

USAGE = """\
usage: fwexp report [results_dir=DIR]

Writes DIR/report/: pages that begin with what stored runs say, and have all figures and tables that are drawn, the papers'
claims, an explorer of all runs, who is fastest where, and a page per run. Open DIR/report/index.html; it needs no network.
Of figures that are not drawn there it shows what DIR/published has.
Nothing is run: fwexp figure NAME and fwexp claims --run do that. Needs plotly and jinja2 (the extra report).
"""


@command("fwexp report", USAGE)
def main(given: Arguments) -> int:
    """Run ``fwexp report`` with the arguments after ``report``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        An argument that it does not take; plotly or jinja2 is not there.
    """
    from fwexp.papers.report.build import build

    print(build(given.keys.get("results_dir", "results")))
    return 0

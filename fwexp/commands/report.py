"""``fwexp report``."""

# ruff: noqa: T201

from fwexp.commands.arguments import Arguments, command

USAGE = """\
usage: fwexp report [results_dir=DIR] [out=DIR]

Write the HTML report to DIR/report/: all drawn figures and tables, the papers' claims, a table of all runs, and a page
per run. Open DIR/report/index.html; it needs no network. Figures that are not drawn in DIR are shown from DIR/published. Runs
nothing: fwexp figure NAME and fwexp claims --run do. Needs plotly and jinja2 (the extra report).
out=DIR is another folder for the report and the verdicts, if the store may not be written; figures drawn there are shown, too.
"""


@command("fwexp report", USAGE, keys=("out",), folder_keys=("results_dir",))
def main(given: Arguments) -> int:
    """Run ``fwexp report`` with the arguments after ``report``, and return the exit code."""
    from fwexp.papers.report.build import build

    print(build(*given.folders, verbose=True))
    return 0

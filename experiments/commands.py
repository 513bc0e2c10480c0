"""``fwexp figure``."""

# ruff: noqa: T201

from fwexp._arguments import Arguments, command
from fwexp.errors import ParameterError, unknown
from fwexp.run.config import GROUPS, PRESETS

USAGE = """\
usage: fwexp figure [NAME] [--dry-run] [--preset full|smoke] [results_dir=DIR] [data_dir=DIR]
                    [hydra/launcher=basic|joblib] [force=stale|true]

  NAME              the figure; without it, a list of all figures
  --dry-run         only say which runs are missing
  --preset smoke    few seeds and passes: does it work at all? Its files are called NAME-smoke
  hydra/launcher    basic: one run after the other; joblib: side by side, the default where it is installed and
                    the figure shows no seconds, or is a quick look
  force=stale       run again what other sources (code) than those that are here have made; force=true: all

Runs what is missing, then writes DIR/figures/NAME.png, .svg, .csv (the numbers in the picture) and .json (where they come
from: commit, versions, runs); a table: .md instead of the pictures.
"""
FORCE = {"stale": "stale", "true": True, "false": False}
ACCEPTED = {"switches": ("--dry-run",), "flags": {"--preset": PRESETS}, "keys": ("hydra/launcher", "force")}


def _figures() -> list[str]:
    from fwexp.experiments import FIGURES

    return list(FIGURES)


@command("fwexp figure", USAGE, words=1, offers=_figures, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp figure`` with the arguments after ``figure``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        Unknown figure, flag or key.
    """
    from fwexp.experiments import FIGURES, make_figure
    from fwexp.experiments.figure import missing_runs

    names, flags, keys = given
    if not names:
        FIGURES.load_all()
        width = max(map(len, FIGURES))
        print(*(f"{name:{width}}  {figure.title}" for name, figure in FIGURES.items()), sep="\n")
        return 0
    (name,) = names
    FIGURES.find(name)
    if keys.get("force", "false") not in FORCE:
        raise ParameterError(unknown("value of force", keys["force"], FORCE))
    places = {"results_dir": keys.get("results_dir", "results"), "preset": flags.get("--preset", "full")}
    if "--dry-run" in flags:
        missing, total = missing_runs(name, **places)
        for config in missing:
            print(describe(config))
        print(f"{name}: {total} runs, {len(missing)} missing")
        return 0
    options = {"launcher": keys.get("hydra/launcher"), "force": FORCE[keys.get("force", "false")]}
    for path in make_figure(name, data_dir=keys.get("data_dir"), **options, **places):
        print(path)
    return 0


def describe(config: dict) -> str:
    """One line that tells a run of a figure from the others."""
    chosen = {group: config[group] for group in GROUPS if group in config}
    names = [f"{group}={value['name']}" for group, value in chosen.items()]
    facts = [f"{key}={config[key]}" for key in ("lam", "seed", "max_passes") if key in config]
    options = [f"{group}.{key}={option}" for group, value in chosen.items() for key, option in value.items() if key != "name"]
    return " ".join([*names, *facts, *options])

"""Where the numbers of a figure come from: its runs, their commits and sources, and the checkout that drew it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fwexp.store.keys import task_of
from fwexp.store.provenance import software as provenance

OF_CODE = ("mix sources", "were made by another version of the code")
"""What notes say of runs, where that is a reservation about the code that made them."""


@dataclass(frozen=True)
class Origin:
    """The provenance of a figure, as its files record it: name, title, form of its runs, and facts of each run by key."""

    figure: str = ""
    title: str = ""
    preset: str = ""  # which form of its runs was drawn; none for runs without a form
    runs: Mapping[str, Mapping] = field(default_factory=dict)

    @property
    def software(self) -> str:
        """The package, its version and its commit."""
        drawn = provenance()
        return f"fwexp {drawn['versions']['fwexp']}, commit {commit_of(drawn)}"

    @property
    def source(self) -> str:
        """The figure, the preset, the commits and the keys of the runs, in one line."""
        preset = f" ({self.preset} preset)" if self.preset else ""
        return f"{self.figure}{preset}; commits {self.commits(' '.join(self.runs)) or '-'}; runs {' '.join(self.runs) or '-'}"

    def commits(self, keys: str) -> str:
        """Return the commits of runs; keys and commits are separated by spaces."""
        return " ".join(sorted({self.runs[key]["commit"] for key in keys.split() if key in self.runs}))

    def record(self, **more) -> dict:
        """Return the content of the JSON file, with the entries of `more`."""
        import matplotlib

        drawn = provenance()
        facts = {"figure": self.figure, "title": self.title, "preset": self.preset, **more}
        versions = {"python": drawn["python"], **drawn["versions"], "matplotlib": matplotlib.__version__}
        facts |= {"commit": commit_of(drawn), "versions": versions}
        return facts | {"runs": dict(self.runs)}


def commit_of(record: Mapping) -> str:
    """Return the commit of a run or a picture, marked ``-dirty`` if the checkout had changes."""
    git = record.get("git")
    return git["commit"] + ("-dirty" if git["dirty"] else "") if git else "unknown"


def facts(run) -> dict:
    """Return the facts of one stored run that the files of a figure record."""
    config, record = run.config, run.record
    return {
        "dataset": config["dataset"]["name"],
        "solver": config["solver"]["name"],
        "task": task_of(config),
        "lam": config.get("lam"),
        "seed": config["seed"],
        "status": run.status,
        "created": record.get("created"),
        "commit": commit_of(record.get("provenance", {})),
        "sources": run.sources,
        "stale": run.stale,
        "data": run.data,
        "lost": run.lost,
    }


def reservations(runs: Iterable[Mapping]) -> list[str]:
    """Return notes on runs whose sources differ or are unknown, that lost work, or whose data are not the published ones."""
    runs = list(runs)
    digests, stale = {}, set()
    for run in runs:
        digests.setdefault((run["solver"], run["dataset"], run["task"]), set()).add(run["sources"])
        stale |= {run["solver"]} if run["stale"] else set()
    mixed = {solver for (solver, *_), sources in digests.items() if len(sources) > 1}
    told = zip((mixed, stale - mixed), OF_CODE, strict=True)
    notes = [f"runs of {', '.join(sorted(solvers))} {words}" for solvers, words in told if solvers]
    other = sorted({run["dataset"] for run in runs if run.get("data") == "other"})
    lost = sorted({run["solver"] for run in runs if run.get("lost")})
    notes += [f"runs of {', '.join(lost)} lost work with workers of a cluster"] if lost else []
    return notes + ([f"the data of {', '.join(other)} are not the published ones"] if other else [])

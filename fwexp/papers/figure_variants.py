"""The same figure in another form: on other data, in other formats, with a style or a width of the user."""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files.checksums import sha256
from fwexp.options import check_number
from fwexp.papers.declarations import Figure
from fwexp.papers.figure_files import MORE, PICTURE
from fwexp.store.keys import task_of

UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}  # points of TeX, as \\columnwidth has them
LONGEST = 60  # characters of a name


@dataclass(frozen=True)
class Look:
    """Further formats of a picture, and the style and width (inches) of the user, if given."""

    more: tuple[str, ...] = ()
    style: str | None = None
    width: float | None = None

    @classmethod
    def read(cls, formats: str = "", style: str | None = None, width: str | None = None) -> "Look":
        """Return the look that texts of the command line describe; `ParameterError` names a wrong one."""
        from fwexp.plots.style import using

        suffixes = [f".{name}" for name in formats.split(",")] if formats else []
        for suffix in suffixes:
            if suffix not in (*PICTURE[:2], *MORE):
                raise ParameterError(unknown("format", suffix[1:], [known[1:] for known in (*PICTURE[:2], *MORE)]))
        with using(style):  # checks it
            pass
        if ".pgf" in suffixes:
            _check_tex()
        return cls(tuple(suffix for suffix in MORE if suffix in suffixes), style, _inches(width) if width else None)

    def of(self, figure: Figure) -> Figure:
        """Return a figure with this width."""
        if self.more and figure.is_table:
            raise OptionError(f"{figure.name} takes no --format, because it is a table")
        if self.width is None:
            return figure
        return _with_chart(figure, _chart_of(figure, "--width").resized(self.width))

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the style of the user in this context."""
        from fwexp.plots.style import using

        with using(self.style):
            yield


def _inches(text: str) -> float:
    """Return a width such as ``3.25in`` in inches."""
    match = re.fullmatch(r"([\d.]+)(in|cm|mm|pt)?", text.strip())
    accepted = f"a width from 1 to 50 inches, such as 3.25in, 8cm or 240pt ({', '.join(UNITS)})"
    with contextlib.suppress(ValueError):
        if match:
            return check_number("--width", float(match[1]) * UNITS[match[2] or "in"], accepted, least=1.0, most=50.0)
    raise ParameterError(f"--width must be {accepted}, got {text!r}")


def _check_tex() -> None:
    import matplotlib

    system = matplotlib.rcParams["pgf.texsystem"]
    if shutil.which(system) is None:
        raise ParameterError(f"--format pgf needs {system}, with which matplotlib measures text; install TeX, or choose pdf")


def _chart_of(figure: Figure, what: str):
    if figure.chart is None:
        raise OptionError(f"{figure.name} takes no {what}, because it is no chart of curves")
    return figure.chart


def _with_chart(figure: Figure, chart, **changes) -> Figure:
    return replace(figure, chart=chart, data=None, draw=None, **changes)


def on_other_data(figure: Figure, overrides: Mapping[str, str], preset: str) -> tuple[Figure, list[dict]]:
    """Return a figure with other data sets or lam, each with every kind of panel, and the configurations of its runs."""
    # If grids for several data sets become runs of the same method, seed and lam, the runs of the first grid count.
    from fwexp.plots.curves import Problem
    from fwexp.run import from_arguments

    chart = _chart_of(figure, next(iter(overrides)))
    given = [f"{key}={value}" for key, value in overrides.items()]
    configs: dict[str, dict] = {}
    for config in from_arguments.expand([f"+experiment={figure.preset}", *given], preset=preset):
        told = [config.get(name) for name in ("dataset", "solver", "lam", "seed", "objective", "temperature")]
        configs.setdefault(json.dumps([*told, task_of(config)], sort_keys=True), config)
    datasets = {json.dumps(config["dataset"], sort_keys=True): config["dataset"] for config in configs.values()}
    places = {}
    for config in configs.values():
        dataset = config["dataset"]
        alike = [other for other in datasets.values() if other["name"] == dataset["name"]]
        options = dict.fromkeys(name for other in alike for name in other if name != "name") if len(alike) > 1 else {}
        problem = Problem(dataset["name"], config.get("lam", ""), {name: dataset.get(name) for name in options})
        places.setdefault(str(problem), problem)
    name = f"{figure.name}-{label(','.join(given))}"
    return _with_chart(figure, chart.on(list(places.values())), name=name), list(configs.values())


def label(text: str) -> str:
    """Return a text as a part of the name of files."""
    name = re.sub(r"[^\w.,=+-]+", "_", text).strip("_.")
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}-{sha256(text.encode())[:8]}"


def stored_figure(
    filters: Mapping[str, Sequence], words: str, x: str, y: str, look: Look, results_dir: Path, out: Path
) -> list[Path]:
    """Draw the stored runs that match filters, given in these words, without a declaration, and return the files."""
    from fwexp import store
    from fwexp.papers.figure_files import check_writable, save_figure
    from fwexp.papers.origin import Origin, facts, reservations
    from fwexp.plots.stored import chart_of

    name = f"from/{label(f'{words} {x} {y}')}"
    stem = out / "figures" / name
    store.check_writable(out, "out")
    check_writable(stem, (*PICTURE, *look.more))
    runs = store.find_runs(results_dir, **filters)
    if not runs:
        raise ParameterError(f"--from must match stored runs, got none in {results_dir} for {words!r}")
    chart, results = chart_of(store.read_results(runs), x, y)
    frame = chart.data(results)
    drawn = {run.key: facts(run) for run in runs if run.key in set(results["key"])}
    origin = Origin(name, f"{y} against {x} of stored runs: {words}", runs=drawn)
    with look.applied():
        picture = chart.resized(look.width or chart.width).draw(frame)
        return save_figure(picture, frame, stem, origin, mark=", ".join(reservations(drawn.values())), more=look.more)

"""The figures of the report: which files there are of each, small pictures, and its chart."""

import dataclasses
import functools
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fwexp.driver.progress import print_line
from fwexp.errors import DataError
from fwexp.files.folders import exists
from fwexp.papers.declarations import FIGURES, PAPERS, Figure, is_ours
from fwexp.papers.figure_files import PICTURE, paths, read_file, read_record
from fwexp.papers.report import charts
from fwexp.plots import profiles
from fwexp.store.records import Damaged

OTHERS, YOURS = "others", "yours"  # the names of the pages of figures that belong to no paper: of ours, and of a person's own
PUBLISHED = "published"  # instead of a preset: a figure that ``make publish`` wrote below the store, of which a checkout has ours
WIDTH = 1100  # pixels of small pictures


@dataclass(frozen=True)
class Drawn:
    """A figure of the catalogue with the files that were drawn of it, if any."""

    figure: Figure
    stem: Path | None = None  # the files' path without suffix; None if it is not drawn yet
    preset: str = ""  # which runs it shows; `PUBLISHED` where it is not drawn from runs that are here
    record: dict = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A name that is one in HTML, too."""
        return self.figure.name.replace("/", "-")

    @property
    def page(self) -> str:
        """The page that shows it: the page of its paper, of other figures of ours, or of users' figures."""
        paper = self.figure.name.partition("/")[0]
        return paper if paper in PAPERS else YOURS if self.yours else OTHERS

    @property
    def yours(self) -> bool:
        """True if the figure belongs to another package or was drawn by ``fwexp compare``."""
        return self.figure.name not in FIGURES or not is_ours(FIGURES.module(self.figure.name))

    @property
    def has_curves(self) -> bool:
        """True if the page draws the curves itself, which it does for figures with all their points."""
        is_whole = self.stem is not None and self.preset != PUBLISHED
        return is_whole and self.figure.has_curves and self.figure.name in FIGURES

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files."""
        return tuple(suffix for suffix in self.figure.suffixes if self.preset != PUBLISHED or not suffix.endswith(".svg"))

    @property
    def small(self) -> dict[str, bytes]:
        """The small pictures of its pages, by the names of their files in the report."""
        pages = [suffix for suffix in self.suffixes if suffix.endswith(".png")] if self.stem else []
        return {f"{self.id}{page.removesuffix('.png')}.webp": small_picture(self.read(page)) for page in pages}

    @functools.cached_property
    def chart(self) -> str | None:
        """Its curves as HTML, where the page draws them."""
        if not self.has_curves:
            return None
        return charts.of_figure(f"chart-{self.id}", pd.read_csv(io.BytesIO(self.read(".csv"))), self.record.get("axes") or {})

    def read(self, suffix: str) -> bytes:
        """Return the content of one of the files; `DataError` if another process is changing it or drawing the figure again."""
        try:
            return read_file(self.stem, suffix, self.record)
        except Damaged as error:
            raise DataError(damage(self.figure.name, error, self.preset)) from error


def damage(name: str, error: Damaged, preset: str = "full") -> str:
    """Return the line that names a fault of the files of a figure, and its remedy."""
    again = f"fwexp figure {name}" + (f" --preset {preset}" if preset not in ("full", PUBLISHED) else "")
    return f"figure {name} is damaged: {error}; draw it again with {again}"


def drawn(*folders: Path) -> list[Drawn]:
    """Return all figures of the catalogue: drawn from full runs, otherwise from short ones, otherwise published."""
    FIGURES.load_all()
    return [_files(figure, folders) for _, figure in sorted(FIGURES.items())]


def _files(figure: Figure, folders: Sequence[Path]) -> Drawn:
    places = {
        "full": f"figures/{figure.name}",
        "smoke": f"figures/{figure.name}-smoke",
        PUBLISHED: f"published/figures/{figure.name}",
    }
    for (preset, place), folder in itertools.product(places.items(), folders):
        found = Drawn(figure, folder / place, preset)
        if not any(exists(path) for path in paths(found.stem, found.suffixes)):
            continue
        try:
            shows = "full" if preset == PUBLISHED else preset
            return dataclasses.replace(found, record=read_record(found.stem, found.suffixes, figure.name, shows))
        except Damaged as error:
            print_line(damage(figure.name, error, preset))
    return Drawn(figure)


def compared(*folders: Path) -> list[Drawn]:
    """Return the figures that ``fwexp compare`` drew; of equal names, the one in the first folder."""
    found = []
    files = {path.name: path for folder in reversed(folders) for path in folder.glob("figures/compare/*.json")}
    for _, path in sorted(files.items()):
        name = f"compare/{path.stem}"
        try:
            record = read_record(path.with_suffix(""), PICTURE, name, "")
            figure = Figure(name, str(record.get("title")), profiles.data, profiles.draw)
            found.append(Drawn(figure, path.with_suffix(""), "full", record))
        except Damaged as error:
            print_line(f"{name} is damaged: {error}; fwexp compare draws it again")
    return found


def small_picture(content: bytes) -> bytes:
    """Return a PNG as a WebP of at most `WIDTH`."""
    from PIL import Image

    picture, small = Image.open(io.BytesIO(content)), io.BytesIO()
    picture = picture.convert("RGB").reduce(max(1, picture.width // (2 * WIDTH)))
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, max(1, round(picture.height * WIDTH / picture.width))), Image.Resampling.LANCZOS)
    picture.save(small, format="WEBP", quality=82)
    return small.getvalue()

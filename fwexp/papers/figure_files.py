"""The files of a figure: the picture or table, its numbers, and where both come from. Equal figures are equal files.

The JSON is the last of them to be written and has the checksums of the others, and of itself: files that were changed, cut
or mixed with another figure, or that a killed process left incomplete, are not read as a figure.
"""

import io
import itertools
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from fwexp.files import owned
from fwexp.files.checksums import sha256
from fwexp.papers.origin import Origin
from fwexp.store import records
from fwexp.store.records import Damaged

PICTURE = (".png", ".svg", ".csv", ".json")
TABLE = (".md", ".csv", ".json")  # the suffixes of the files of a figure and of a table
MORE = (".pdf", ".pgf")  # suffixes of further pictures, which are drawn on request

KIND = "figures"


def with_pages(suffixes: Sequence[str], pages: int) -> tuple[str, ...]:
    """Return suffixes, with those of the further pages behind each of a picture: ``-2.png`` behind ``.png``."""
    further = [f"-{page}" for page in range(2, pages + 1)]
    return tuple(page + suffix for suffix in suffixes for page in ("", *(further if suffix in (*PICTURE[:2], *MORE) else ())))


def stem_of(path: Path) -> Path:
    """Return the path of a figure without suffix, given the path of one of its files."""
    return path.with_name(re.sub(r"-\d+$", "", path.stem))


def paths(stem: Path, suffixes) -> list[Path]:
    """Return the files of a figure, given their path without suffix."""
    return [stem.with_name(stem.name + suffix) for suffix in suffixes]


def sealed(stem: Path, contents: Mapping[str, bytes], record: Mapping) -> dict[Path, bytes]:
    """Return the files of a figure, given the contents by suffix and the record, which gets their checksums."""
    sums = {suffix: sha256(content) for suffix, content in contents.items()}
    targets = paths(stem, [*contents, ".json"])
    return dict(zip(targets, [*contents.values(), records.content_of({**record, "files": sums})], strict=True))


def write(stem: Path, contents: Mapping[str, bytes], record: Mapping) -> list[Path]:
    """Write the files of a figure, as `sealed` has them, over those that fwexp wrote before, and return their paths."""
    files = sealed(stem, contents, record)
    owned.write(files, KIND)
    return list(files)


def check_writable(stem: Path, suffixes) -> None:
    """Check that the files of a figure can be written; `ParameterError` if others are in their place."""
    owned.check(paths(stem, suffixes), KIND)


def remove(stem: Path, suffixes) -> None:
    """Remove the files of a figure, the record last: what a killed process leaves counts as damaged."""
    owned.remove(paths(stem, suffixes), KIND)


def read_record(stem: Path, suffixes, name: str, preset: str = "full") -> dict:
    """Return the JSON of a figure that was drawn from a form of its runs; `Damaged` if a file was changed or is of another one."""
    record = records.read(stem.with_name(f"{stem.name}.json"), records.Figure)
    if (record.get("figure"), record.get("preset")) != (name, preset):
        raise Damaged(f"{stem.name}.json is that of another figure")
    for suffix in suffixes[:-1]:
        read_file(stem, suffix, record)
    return record


def read_file(stem: Path, suffix: str, record: Mapping) -> bytes:
    """Return the content of one file of a figure; raise `Damaged` if it differs from the one that its JSON was written for."""
    path = stem.with_name(stem.name + suffix)
    content = records.read_bytes(path)
    if record["files"].get(suffix) != sha256(content):
        raise Damaged(f"{path.name} is not as it was written")
    return content


def save_figure(
    picture, frame, stem: Path, origin: Origin | None = None, *, note: str = "", mark: str = "", more: Sequence[str] = ()
) -> list[Path]:
    """Save a Figure (a list has one per page) as PNG and SVG, or Markdown, its frame as CSV and its origin as JSON."""
    # A column ``keys`` of the frame names the runs of each row. The files record the note and the mark; the mark is printed in the
    # picture's corner, and both are below a table. `more` are formats of `MORE` to write as well.
    origin, note = origin or Origin(figure=stem.name), ", ".join(filter(None, [note, mark]))
    if isinstance(picture, str):
        comment = f"\n<!-- {origin.software}; {origin.source} -->\n" if origin.runs else ""
        drawn = {TABLE[0]: (picture + comment + (f"\n**{note}**\n" if note else "")).encode()}
        description, axes = origin.title, {}
    else:
        pages = picture if isinstance(picture, list) else [picture]
        panels = {key: panel for page in pages for key, panel in _panels(page).items()}
        description = _describe(panels, frame, origin, note)
        axes = {key: {"title": title, "x": _axis(ax.xaxis), "y": _axis(ax.yaxis)} for key, (title, ax) in panels.items()}
        each = [_drawn(page, origin, description, note, mark, more) for page in pages]
        drawn = dict(zip(with_pages((*PICTURE[:2], *more), len(pages)), itertools.chain(*zip(*each, strict=True)), strict=True))
    marks = {"preset": origin.preset} if origin.preset else {}
    if origin.runs:
        marks["commit"] = [origin.commits(keys) if isinstance(keys, str) else "" for keys in frame["keys"]]
    numbers = frame.assign(**marks).to_csv(index=False, lineterminator="\n").encode()
    return write(stem, drawn | {".csv": numbers}, origin.record(description=description, note=note, axes=axes))


def _panels(picture) -> dict:
    """Return the title and the axes of every panel, by the key at the start of its title."""
    titles = [(re.match(r"\((\w+)\) (.*)", ax.get_title(loc="left")), ax) for ax in picture.axes]
    return {title[1]: (title[2], ax) for title, ax in titles if title}


def _axis(axis) -> list:
    """Return the scale of an axis and its ends, in drawing order."""
    return [axis.get_scale(), *(float(f"{end:.6g}") for end in axis.get_view_interval())]


def _describe(panels, frame, origin, note):
    from fwexp.plots.describe import describe

    words = describe(frame, {key: title for key, (title, _) in panels.items()})
    return ". ".join(filter(None, [origin.title, note, words]))


def _drawn(picture, origin, description, note, mark, more) -> list[bytes]:
    """Return the PNG, the SVG and further pictures."""
    from fwexp.plots import style

    about = {"Title": origin.title or origin.figure, "Description": description, "Source": origin.source}
    png, svg = io.BytesIO(), io.StringIO()
    with style.context():
        if mark:
            _write_mark(picture, mark)
        software = {"Software": origin.software} | ({"Comment": note} if note else {})
        picture.savefig(png, format="png", metadata=about | software)
        picture.set_layout_engine(None)  # the layout of the one holds for the other, and takes as long as drawing
        picture.savefig(svg, format="svg", metadata=about | {"Creator": origin.software, "Date": None})
        others = [io.BytesIO() for _ in more]
        for suffix, content in zip(more, others, strict=True):
            facts = {"Title": about["Title"], "Subject": description, "Creator": origin.software, "CreationDate": None}
            picture.savefig(content, format=suffix[1:], **({"metadata": facts} if suffix == ".pdf" else {}))
    svg = _accessible(svg.getvalue(), origin.figure, about["Title"], description).encode()
    return [png.getvalue(), svg, *(content.getvalue() for content in others)]


def _write_mark(picture, mark):
    """Write a mark into the upper right corner, on a strip of its own."""
    lines = textwrap.wrap(mark, int(16 * picture.get_figwidth()))
    width, height = picture.get_size_inches()
    strip = 0.14 * len(lines) + 0.03  # inches
    picture.set_size_inches(width, height + strip)
    if picture.get_layout_engine() is not None:
        picture.get_layout_engine().set(rect=(0, 0, 1, height / (height + strip)))
    picture.text(0.998, 0.998, "\n".join(lines), ha="right", va="top", fontsize=7, color="#444444", in_layout=False)


def _accessible(svg, name, title, description):
    """Return the SVG with a name and a description for screen readers and browsers."""
    name = re.sub(r"\W+", "-", name)
    svg = re.sub(r"\n *<title>.*?</title>", "", svg, count=1, flags=re.DOTALL)  # matplotlib's has no id
    start = svg.index(">", svg.index("<svg "))
    opening = f' role="img" aria-labelledby="{name}-title {name}-desc">'
    words = f'\n <title id="{name}-title">{escape(title)}</title>\n <desc id="{name}-desc">{escape(description)}</desc>'
    return svg[:start] + opening + words + svg[start + 1 :]

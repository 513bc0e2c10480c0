"""Proofs: the published figures on pages as a journal would print them, at their width and with their captions."""

import io
import textwrap
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from fwexp.files import atomic
from fwexp.papers.declarations import FIGURES
from fwexp.plots import style

DPI = 150  # of published pictures
PAPER, TOP = (8.5, 11.0), 1.0  # inches: US letter, as conferences print, and its margin
LINE, LETTERS = 0.15, 112  # inches, and letters of a line of a caption, in 9 points


def write(published: Path, target: Path) -> Path:
    """Write a PDF with all pictures of a folder of published results, and return its path."""
    pages = [_page()]
    y = TOP
    for picture, caption in _figures(published):
        height = picture.height / DPI + LINE * (len(caption) + 2)
        if y > TOP and y + height > PAPER[1] - TOP:
            pages.append(_page())
            y = TOP
        left = (PAPER[0] - picture.width / DPI) / 2
        pages[-1].paste(picture, (round(left * DPI), round(y * DPI)))
        text = ImageDraw.Draw(pages[-1])
        for number, line in enumerate(caption, 1):
            place = (PAPER[0] - style.TEXT) / 2 * DPI, (y + picture.height / DPI + LINE * number) * DPI
            text.text(place, line, fill="black", font=_font())
        y += height
    content = io.BytesIO()
    pages[0].save(content, "PDF", resolution=DPI, save_all=True, append_images=pages[1:])
    atomic.write({target: content.getvalue()})
    return target


def _figures(published: Path) -> Iterator[tuple[Image.Image, list[str]]]:
    """Yield each picture with the lines of its caption, which only the first page of a figure has in full."""
    for name, figure in sorted(FIGURES.items()):
        for page, suffix in enumerate(suffix for suffix in figure.suffixes if suffix.endswith(".png")):
            path = published / "figures" / f"{name}{suffix}"
            if path.is_file():
                words = f"{name}, continued." if page else f"{name}. {figure.title}. {figure.caption} {figure.note}"
                yield Image.open(path).convert("RGB"), textwrap.wrap(words, LETTERS)


def _page():
    return Image.new("RGB", (round(PAPER[0] * DPI), round(PAPER[1] * DPI)), "white")


def _font():
    import matplotlib

    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSerif.ttf", round(9 / 72 * DPI))

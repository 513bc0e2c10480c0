"""HTML by plain functions. All text is escaped where it enters; what is HTML already says so by its type."""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Return a value as HTML: escaped, unless it is that already."""
    return value if isinstance(value, Html) else Html(escape(str(value)))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """Return an element; ``class_`` and ``data_x`` are the attributes class and data-x, None leaves one out."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opening = "".join(f' {key}="{escape(str(value))}"' for key, value in given.items())
    return Html(f"<{name}{opening}>{join(children)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return parts one behind the other."""
    return Html(between.join(text(part) for part in parts))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], label: str) -> Html:
    """Return a table that scrolls by itself where the screen is narrow, by touch and by key."""
    header = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = join((tag("tr", *(tag("td", cell) for cell in row)) for row in rows), "\n")
    return tag(
        "div", tag("table", tag("thead", header), tag("tbody", body)), class_="wide", tabindex=0, role="region", aria_label=label
    )


def data(id: str, content: object) -> Html:
    """Return data for scripts, in a form that cannot end the element."""
    written = json.dumps(_finite(content), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{escape(id)}">{written}</script>')


def _finite(value):
    """Numbers that JSON has, to six digits; null for others."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def page(title: str, content: Html, navigation: Html, scripts: bool = False) -> str:
    """Return a whole page; ``scripts`` says whether it has curves."""
    loaded = [tag("script", src=name) for name in ("plotly.min.js", "report.js")] if scripts else []
    head = join(
        [
            Html('<meta charset="utf-8">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html('<meta name="color-scheme" content="light dark">'),
            tag("title", title),
            Html('<link rel="icon" href="data:,">'),
            Html('<link rel="stylesheet" href="report.css">'),
        ],
        "\n",
    )
    skip = tag("a", "Skip to the content", href="#content", class_="skip")
    banner = tag("header", tag("nav", navigation, aria_label="Pages"))
    body = tag("body", skip, banner, tag("main", content, id="content"), *loaded)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n{body}\n</html>\n'

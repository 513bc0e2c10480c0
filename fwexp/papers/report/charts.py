"""Charts of the pages, as plotly's own HTML: the curves of a figure, and the trace of a run."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from fwexp.plots import style
from fwexp.plots.frames import AXES, MEASURES, spread

POINTS = 80  # of a curve; its CSV has all
POSITIONS = {"passes": "passes", "calls": "oracle calls", "seconds": "seconds"}
HEIGHT = 330  # pixels of a row of panels
CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d"]}


def of_figure(id: str, frame: pd.DataFrame, drawn: Mapping[str, Mapping]) -> str:
    """Return the chart of a figure: its panels, with a band from the best to the worst run around each median."""
    # `drawn` has the ``title`` of each panel and, as ``x`` and ``y``, the scale and the ends of its axes, as the picture has them.
    lines = style.lines(frame["variant"].astype(str))
    panels = list(frame.groupby(frame["panel"].astype(str), sort=False))
    traces, axes, titles, positions = [], {}, [], {name: [] for name in ("x", *POSITIONS) if name in frame}
    for k, (key, panel) in enumerate(panels):
        number, said = "" if k == 0 else str(k + 1), drawn.get(key, {})
        measure, axis = panel["measure"].iloc[0], panel["axis"].iloc[0]
        x = said.get("x") or ["log" if panel["x"].min() > 0 else "linear", None, None]
        y = said.get("y") or [MEASURES.get(measure, ("", "linear"))[1], None, None]
        axes[f"xaxis{number}"] = _axis(AXES.get(axis, axis), *x)
        axes[f"yaxis{number}"] = _axis(MEASURES.get(measure, (measure,))[0], *y)
        titles.append(_title(number, f"({key}) {said.get('title', '')}"))
        rows = dict(list(panel.sort_values("x", kind="stable").groupby(panel["variant"].astype(str), sort=False)))
        top = y[2] if y[2] is not None else panel["worst"][np.isfinite(panel["worst"])].max()
        for variant in style.in_table_order(rows):
            curve = rows[variant].iloc[spread(len(rows[variant]), POINTS)]
            place = {"xaxis": f"x{number}", "yaxis": f"y{number}", "legendgroup": variant}
            for trace, points in _curve(curve, lines[variant], top):
                for name, values in positions.items():
                    values.append(points[name if points[name].notna().any() else "x"].tolist())
                traces.append(place | trace | {"x": positions["x"][-1]})
    columns = min(2, len(panels))
    layout = axes | {
        "grid": {"rows": -(-len(panels) // columns), "columns": columns, "pattern": "independent", "ygap": 0.35},
        "annotations": titles,
        "height": HEIGHT * -(-len(panels) // columns) + 90,
    }
    menus = [_scales(axes)]
    if len(positions) > 1:
        menus.append([_positions(name, values, axes) for name, values in positions.items()])
    return chart(id, _one_in_legend(traces), layout, menus)


def of_run(id: str, traces: Mapping[str, Mapping[str, Sequence]], axes: Mapping[str, str], measures: Mapping[str, str]) -> str:
    """Return the chart of a run: its measures against its first position; those after the second are shown when chosen."""
    logged = set().union(*traces.values())
    positions, shown = {name: [] for name in axes if name in logged}, [name for name in measures if name in logged]
    lines, found = style.lines(traces), []
    for variant, trace in traces.items():
        for name in shown:
            if name not in trace:
                continue
            line = {"color": lines[variant].color, "dash": ("solid", "dash", "dot", "dashdot")[shown.index(name) % 4], "width": 2}
            words = f"{measures[name]}, {lines[variant].label}"
            found.append(_line(next(trace[at] for at in positions if at in trace), trace[name], words, line))
            found[-1]["visible"] = True if shown.index(name) < 2 else "legendonly"
            for at, values in positions.items():
                values.append(trace.get(at, []))
    if not found or not positions:
        return ""
    values = {"xaxis": _axis(axes[next(iter(positions))], "linear"), "yaxis": _axis("", "log")}
    menus = [_scales(values)]
    if len(positions) > 1:
        menus.append([_positions(name, at, values, axes[name]) for name, at in positions.items()])
    return chart(id, found, values | {"height": 2 * HEIGHT}, menus)


def chart(id: str, traces: Sequence[Mapping], layout: Mapping, menus: Sequence[Sequence[Mapping]]) -> str:
    """Return the HTML of a chart, which needs ``plotly.min.js`` and asks nothing of the network."""
    from plotly.io import to_html

    buttons = [
        {"buttons": of_one, "x": 0.22 * k, "y": 1, "xanchor": "left", "yanchor": "bottom", "pad": {"b": 34}}
        for k, of_one in enumerate(menus)
        if len(of_one) > 1
    ]
    usual = {
        "margin": {"l": 60, "r": 10, "t": 80, "b": 50},
        "font": {"size": 12},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": -0.1, "yanchor": "top"},
        "updatemenus": buttons,
    }
    figure = finite({"data": [*traces], "layout": usual | layout})
    return to_html(figure, full_html=False, include_plotlyjs=False, validate=False, div_id=id, config=CONFIG)


def finite(value):
    """Return numbers for JSON, to five digits; None for those that are not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def _curve(curve: pd.DataFrame, line: style.Line, top: float) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the band of a curve, if it is of several runs, and its median, each with the rows of its points."""
    counts = {name: int(curve[name].max()) for name in ("runs", "diverged", "stopped") if name in curve}
    words = {"diverged": "diverged", "stopped": "stopped early"}
    ends = [f"{counts[name]} of {counts['runs']} {said}" for name, said in words.items() if counts.get(name)]
    if counts.get("runs", 1) > 1:
        around = curve[curve["best"].notna()]  # plotly closes a polygon at each gap
        # The worst is infinite where a run diverged: the band then goes to the top.
        worst = around["worst"].where(np.isfinite(around["worst"]), top)
        band = {"y": [*around["best"], *worst[::-1]], "fill": "toself", "fillcolor": _pale(line.color), "mode": "lines"}
        yield band | {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}, pd.concat([around, around[::-1]])
    drawn = {"color": line.color, "dash": _dash(line.dashes), "width": 2}
    words = ", ".join([line.label, *ends])
    yield _line(curve["x"].tolist(), curve["median"].tolist(), words, drawn) | {"name": _plain(line.label)}, curve


def _line(x: Sequence, y: Sequence, words: str, line: Mapping) -> dict:
    return {
        "x": x,
        "y": y,
        "name": _plain(words),
        "mode": "lines+markers" if len(x) < 3 else "lines",
        "line": line,
        "marker": {"color": line["color"]},
        "hovertemplate": f"{_plain(words)}<br>%{{x:.4g}}: %{{y:.4g}}<extra></extra>",
    }


def _one_in_legend(traces: Sequence[dict]) -> Iterator[dict]:
    """Yield the traces, of which the first line of each method is in the legend: it shows and hides all of the method."""
    seen = set()
    for trace in traces:
        group = trace["legendgroup"]
        yield {"showlegend": group not in seen} | trace
        if "fill" not in trace:
            seen.add(group)


def _axis(title: str, scale: str, first: float | None = None, last: float | None = None) -> dict:
    axis = {"title": {"text": _plain(title)}, "gridcolor": "#d5d7db", "linecolor": "#55585f", "zeroline": False}
    axis |= {"exponentformat": "power", "nticks": 4, "automargin": True, "type": scale}  # more ticks overprint on log axes
    if first is not None:
        axis["range"] = [math.log10(end) if scale == "log" else end for end in (first, last)]
    return axis


def _title(number: str, words: str) -> dict:
    place = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    return place | {"text": f"<b>{_plain(words).strip()}</b>", "showarrow": False}


def _scales(axes: Mapping[str, Mapping]) -> list[dict]:
    """Return the buttons that choose the scale of all values."""
    values = {name: axis for name, axis in axes.items() if name.startswith("y")}
    own = {f"{name}.type": axis["type"] for name, axis in values.items()}
    own |= {f"{name}.range" if "range" in axis else f"{name}.autorange": axis.get("range", True) for name, axis in values.items()}
    buttons = [{"label": "values as drawn", "method": "relayout", "args": [own]}]
    for scale, words in (("log", "logarithmic"), ("linear", "linear")):
        chosen = {f"{name}.type": scale for name in values} | {f"{name}.autorange": True for name in values}
        buttons.append({"label": f"values {words}", "method": "relayout", "args": [chosen]})
    return buttons


def _positions(name: str, values: Sequence, axes: Mapping[str, Mapping], words: str = "") -> dict:
    """Return the button that draws all lines against other positions."""
    across = {axis: content for axis, content in axes.items() if axis.startswith("x")}
    if name == "x":
        label, layout = "axis as drawn", {f"{axis}.title.text": content["title"]["text"] for axis, content in across.items()}
        layout |= {f"{axis}.{'range' * ('range' in each) or 'autorange'}": each.get("range", True) for axis, each in across.items()}
    else:
        label = f"against {words or POSITIONS[name]}"
        layout = {f"{axis}.title.text": words or POSITIONS[name] for axis in across} | {
            f"{axis}.autorange": True for axis in across
        }
    return {"label": label, "method": "update", "args": [{"x": list(values)}, layout]}


def _plain(text: str) -> str:
    """Return text that plotly does not take for HTML."""
    return text.translate(dict.fromkeys(map(ord, "<>&"), " "))


def _pale(color: str) -> str:
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _dash(dashes) -> str:
    return {"-": "solid"}[dashes] if isinstance(dashes, str) else ",".join(f"{2 * length:g}px" for length in dashes[1])

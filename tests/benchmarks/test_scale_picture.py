"""The picture of training over workers: points on curves."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from benchmarks import scale_picture


def table():
    rows = []
    for regime in ("costly, small d", "costly, large d", "cheap, small d", "cheap, large d"):
        rows += [(regime, "measured", k, 90.0 * k, 4.0 * k**0.5, "", 1.5) for k in (1, 2, 4)]
        rows += [(regime, "machine", k, 100.0 * k, k**0.5, "workers", np.nan) for k in (1, 2, 4)]
        rows += [
            (regime, "cluster", k, 100.0 * min(k, 500), k**0.5, "steps" if k > 500 else "workers", np.nan) for k in (1, 100, 10_000)
        ]
    return pd.DataFrame(rows, columns=["regime", "series", "workers", "calls_per_second", "passes", "bottleneck", "load"])


def test_progress_is_calls_over_passes_relative_to_one_worker():
    frame = scale_picture.data(table())
    rows = frame[(frame["panel"] == "d") & frame["variant"].str.endswith(scale_picture.PROGRESS) & (frame["workers"] == 4)]
    assert rows["regime"].unique() == ["cheap, large d"]
    found = rows.set_index("variant")["rate"].to_dict()
    assert found == pytest.approx({"measured, progress": 180.0, "machine, progress": 200.0})


def test_panels_have_points_curves_and_the_bottleneck_of_most_workers():
    picture = scale_picture.draw(scale_picture.data(table()))
    assert [ax.get_title(loc="left")[:3] for ax in picture.axes] == ["(a)", "(b)", "(c)", "(d)"]
    for ax in picture.axes:
        (text,) = [text.get_text() for text in ax.texts]
        assert text == "bottleneck: steps of the main process"
        drawn = {style: [line for line in ax.lines if line.get_linestyle() == style] for style in ("-", ":", "--")}
        assert [len(lines) for lines in drawn.values()] == [2, 2, 2]
        assert [line.get_marker() for line in drawn["-"]] == ["o", "o"]
        assert min(line.get_linewidth() for line in drawn["-"]) > max(line.get_linewidth() for line in drawn["--"])
        (unmeasured,) = ax.patches
        assert unmeasured.get_x() == max(drawn["-"][0].get_xdata())
    plt.close("all")

"""The figure of training over workers: points on curves, from the table in the repository."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fwexp.commands import figure
from fwexp.errors import DataError
from fwexp.experiments import workers as experiment
from fwexp.plots import scaling


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
    frame = scaling.data(None, table())
    rows = frame[(frame["panel"] == "d") & frame["variant"].str.endswith(scaling.PROGRESS) & (frame["x"] == 4)]
    assert rows["regime"].unique() == ["cheap, large d"]
    found = rows.set_index("variant")["median"].to_dict()
    assert found == pytest.approx({"measured, progress": 180.0, "machine, progress": 200.0})


def test_panels_have_points_curves_and_the_bottleneck_of_most_workers():
    picture = scaling.draw(scaling.data(None, table()), None)
    assert [ax.get_title(loc="left")[:3] for ax in picture.axes] == ["(a)", "(b)", "(c)", "(d)"]
    for ax in picture.axes:
        (text,) = [text.get_text() for text in ax.texts]
        assert text == "bottleneck: steps of the main process"
        points, curves = ([line for line in ax.lines if (line.get_linestyle() == "None") == bare] for bare in (True, False))
        assert [line.get_marker() for line in points] == ["o", "o"]
        assert sorted(len(line.get_xdata()) for line in curves) == [3, 3, 3, 3]
    plt.close("all")


def test_the_command_draws_it_without_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(experiment, "TABLE", tmp_path / "scale.csv")  # that of the repository is in clones alone
    table().to_csv(experiment.TABLE, index=False)
    assert figure.main(["scale/fig1", "--dry-run", f"results_dir={tmp_path}"]) == 0
    assert capsys.readouterr().out == "scale/fig1: 0 runs, 0 missing\n"
    assert figure.main(["scale/fig1", f"results_dir={tmp_path}"]) == 0
    assert sorted(path.suffix for path in tmp_path.glob("figures/scale/fig1.*")) == [".csv", ".json", ".png", ".svg"]
    monkeypatch.setattr(experiment, "TABLE", tmp_path / "elsewhere.csv")
    with pytest.raises(DataError, match=r"there is no .*elsewhere\.csv: it is part of a clone"):
        figure.main(["scale/fig1", f"results_dir={tmp_path}"])

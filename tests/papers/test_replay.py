"""The iterates of the authors' published code, replayed on its sequence of examples, and the figure of both."""

import os

import numpy as np
import pytest

import fwexp
from fwexp.experiments import FIGURES
from fwexp.experiments.icml2013 import replay

TOLERANCE = 1e-9
"""The code printed ten digits: half of the last one is 5e-10 for values from 1 to 10."""


def test_the_sequence_visits_all_examples_and_gaps_are_the_differences_that_were_printed():
    known = replay.printed()
    assert len(known["order"]) == replay.PASSES * 626
    assert set(known["order"]) == set(range(626))
    for name in ("bcfw", "bcfw_wavg", "fw"):
        primal, dual, gap = (known[f"{name}_{measure}"] for measure in replay.MEASURES)
        np.testing.assert_allclose(primal - dual, gap, atol=2 * TOLERANCE)


@pytest.fixture(scope="module")
def replayed():
    return replay.replayed((), os.environ["FWEXP_DATA"])


@pytest.mark.data
@pytest.mark.portable
def test_primal_dual_and_gap_are_those_of_the_published_code(replayed):
    assert replayed.groupby(["variant", "measure"]).size().tolist() == [replay.PASSES] * 9
    assert set(replayed["variant"]) == {"bcfw", "bcfw-wavg", "fw"}
    np.testing.assert_allclose(replayed["ours"], replayed["published"], rtol=0, atol=TOLERANCE)


@pytest.mark.data
@pytest.mark.portable
def test_training_errors_are_those_of_the_published_code():
    known = replay.printed()
    train, _ = fwexp.load_dataset("ocr", split="ocr")
    order = known["order"].astype(np.int64)
    settings = {"lam": replay.LAM, "max_passes": replay.PASSES, "gap_tol": 0, "schedule": 1}
    trace = fwexp.solve(train, "bcfw", order=order, iterates=("wavg",), train_error=True, **settings).trace
    errors = trace.loc[trace["passes"] >= 1, "train_error"]
    np.testing.assert_allclose(errors, known["bcfw_wavg_train_error"], atol=1e-8)


@pytest.mark.data
def test_the_figure_shows_both_and_their_difference(replayed):
    figure = FIGURES["icml2013/original"]
    frame = figure.data(None, replayed)
    assert frame.groupby("panel")["variant"].nunique().to_dict() == {"a": 8, "b": 4, "c": 3}
    assert frame.loc[frame["panel"] == "c", "median"].between(1e-15, TOLERANCE).all()
    *curves, differences = figure.draw(frame, replayed).axes
    assert [len(ax.lines) for ax in (*curves, differences)] == [8, 4, 3]
    assert differences.get_yscale() == "log"

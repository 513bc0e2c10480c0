"""Notebooks: results show themselves, a bar shows progress, and interrupting the kernel keeps the result so far."""

import nbclient
import nbformat
import numpy as np
import pytest

import fwexp
from fwexp.errors import OptionError

LONG = """
import os, signal, fwexp

def press_the_button(row):
    if row["passes"] >= 3:
        os.kill(os.getpid(), signal.SIGINT)

train, test = fwexp.load_dataset("digits")
result = fwexp.solve(train, lam=1e-3, gap_tol=0, max_passes=1e6, verbose=True, callback=press_the_button)
"""


@pytest.fixture(scope="module")
def result():
    return fwexp.solve(fwexp.load_dataset("digits")[0], lam=0.1)


def test_a_result_shows_its_certificate_and_curve(result):
    shown = result._repr_html_()
    assert f"<th>certified gap</th><td>{result.gap:.3g}</td>" in shown
    assert f"<th>ending</th><td>{result.reason}</td>" in shown
    assert "<polyline" in shown


def test_a_stored_result_shows_itself_without_a_curve(result, tmp_path):
    loaded = fwexp.load(result.save(tmp_path / "model.npz"))
    assert loaded._repr_html_() == result._repr_html_()
    loaded.trace = loaded.trace.iloc[:0]
    assert "<svg" not in loaded._repr_html_()
    with pytest.raises(OptionError, match="plot needs a trace"):
        loaded.plot()


@pytest.mark.parametrize("x", ["passes", "time"])
def test_a_plot_has_primal_dual_and_the_gap_between(result, x):
    ax = result.plot(x=x)
    primal, dual = (line.get_ydata() for line in ax.get_lines())
    rows = result.trace[result.trace["iterate"] == result.iterate]
    np.testing.assert_array_equal(primal, rows["primal"])
    np.testing.assert_array_equal(dual, np.fmax.accumulate(rows["dual"]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["primal", "dual (best so far)", "certified gap"]
    assert result.plot(ax) is ax


def test_other_axes_are_rejected(result):
    with pytest.raises(OptionError, match="x must be 'passes' or 'time', got 'epochs'"):
        result.plot(x="epochs")


@pytest.mark.slow
def test_interrupting_the_kernel_keeps_the_result_so_far(tmp_path):
    """The button of a notebook sends SIGINT to the kernel."""
    cells = [LONG, "print(result.status, result.gap < 1)", "result"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    first, second, third = (cell.outputs for cell in notebook.cells)
    assert any("widget-view" in kind for output in first for kind in output.get("data", {}))  # the bar
    assert [output["text"] for output in second] == ["interrupted True\n"]
    assert "<th>ending</th>" in third[0]["data"]["text/html"]

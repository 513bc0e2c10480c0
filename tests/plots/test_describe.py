"""What pictures show, in words."""

import pandas as pd

from fwexp.plots.describe import describe


def curve(axis, measure, variant, points):
    x, median = zip(*points, strict=True)
    return pd.DataFrame({"panel": "a", "axis": axis, "measure": measure, "variant": variant, "x": x, "median": median})


def test_curves_have_last_values_and_those_against_a_parameter_first_ones():
    gaps = [curve("passes", "gap", "bcfw", [(1, 0.5), (3, 0.25), (2, 0.375)]), curve("passes", "gap", "fw", [(1, 0.5), (2, 0.125)])]
    assert describe(pd.concat(gaps), {"a": "OCR"}) == (
        "(a) OCR: duality gap against effective passes (oracle calls / n). Last values: FW: 0.12; BCFW: 0.25."
    )
    hits = curve("nu", "cache_hits", "F = 1", [(10, 0.0), (0.001, 0.5), (0.1, 0.25)])
    assert describe(hits, {}).endswith("First and last values: F = 1: 0.5 to 0.")
    assert describe(curve("at_lam", "gap", "fw", [(0.1, 0.5), (10, 0.125)]), {}).endswith("Last values: FW: 0.5.")
    assert describe(curve("passes", "gap", "fw", [(1, float("nan"))]), {}).endswith("Last values: none.")

"""Values that every run shares: what is accepted, in which form it is kept, and the one line about what is not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from omegaconf import OmegaConf

from fwexp.driver import settings
from fwexp.errors import ParameterError

NAN, INF = math.nan, math.inf

ACCEPTED = [
    ("lam", 1, 1.0),
    ("lam", np.float32(0.5), 0.5),
    ("lam", Fraction(1, 4), 0.25),
    ("lam", 1e-12, 1e-12),
    ("lam", "1/n", "1/n"),
    ("lam", " 1 / n ", "1/n"),
    ("seed", 0, 0),
    ("seed", np.int64(7), 7),
    ("max_passes", 3, 3.0),
    ("max_passes", 0.25, 0.25),
    ("gap_tol", 0, 0.0),
    ("gap_tol", 1e-3, 1e-3),
    ("time_limit", None, None),
    ("time_limit", 2, 2.0),
    ("time_limit", INF, None),
    ("lam", " 8 / n", "8/n"),
    ("lam", "1/n", "1/n"),
    ("lam", "0.1/n", "0.1/n"),
    ("iterates", None, None),
    ("iterates", "wavg", ("wavg",)),
    ("iterates", ["avg", "last", "avg"], ("last", "avg")),
    ("iterates", OmegaConf.create(["wavg", "last"]), ("last", "wavg")),
    ("schedule", "default", "default"),
    ("schedule", "steps", "steps"),
    ("schedule", 2, 2.0),
    ("schedule", [1, 2.5], (1.0, 2.5)),
    ("schedule", OmegaConf.create([0, 1]), (0.0, 1.0)),
    ("schedule", [], ()),
]

REFUSED = [
    *(
        ("lam", bad, 'positive finite number or "c/n", such as "1/n"')
        for bad in (0, -1, NAN, INF, "abc", "1/m", None, True, [1], "0/n", "x/n", "/n", "nan/n")
    ),
    *(("seed", bad, "integer >= 0") for bad in (-1, 0.5, 1.0, "1", None, True)),
    *(("max_passes", bad, "positive finite number") for bad in (0, -1, NAN, INF, "5", None, True)),
    *(("gap_tol", bad, "finite number >= 0") for bad in (-1e-9, NAN, INF, "0", None, False)),
    *(("time_limit", bad, "positive number of seconds or None") for bad in (0, -1, NAN, "1", True)),
    *(("iterates", bad, "last, wavg, tavg, avg") for bad in ([], 1, {"last"})),
    (
        "iterates",
        ["last", "wagv"],
        r"unknown iterate 'wagv' \(did you mean 'wavg'\?\); accepted: avg, last, tavg, wavg",
    ),
    *(
        ("schedule", bad, '"default", "steps", a positive number of passes or an increasing list')
        for bad in ("often", 0, -1, NAN, INF, [1, 1], [2, 1], [-1], [1, NAN], [1, "2"], None, True, [True])
    ),
]


@pytest.mark.parametrize(("name", "value", "kept"), ACCEPTED)
def test_accepted_values_have_one_form(name, value, kept):
    result = settings.check(name, value)
    assert result == kept
    assert type(result) is type(kept)


@pytest.mark.parametrize(("name", "value", "accepted"), REFUSED)
def test_other_values_are_refused(name, value, accepted):
    with pytest.raises(ParameterError, match=accepted) as error:
        settings.check(name, value)
    message = str(error.value)
    assert message.startswith((name + " must", "unknown iterate"))
    assert (repr(value) if "wagv" not in str(value) else "'wagv'") in message


def test_lam_of_1_n_needs_n():
    assert settings.check_lam("lam", "1/n", 8) == 0.125
    assert settings.check_lam("lam", "4/n", 8) == 0.5
    assert settings.check_lam("lam", 0.5, 8) == 0.5


@pytest.mark.parametrize(
    ("passes", "n", "calls"), [(0.29, 100, 29), (50.0, 6251, 312_550), (0.5, 3, 1), (1e-3, 5, 0), (1e308, 10**6, 2**52)]
)
def test_passes_are_whole_oracle_calls(passes, n, calls):
    assert settings.max_calls(passes, n) == calls


def test_a_relative_gap_is_a_share_of_the_lower_bound():
    bounds = settings.Bounds(5.0, 0.1, relative_gap=True)
    assert bounds.wanted_gap(2.0) == 0.2
    assert 0.0 < bounds.wanted_gap(-1.0) == bounds.wanted_gap(0.0) < 1e-8
    assert settings.Bounds(5.0, 0.1).wanted_gap(2.0) == 0.1

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
    (settings.check_lam, 1, 1.0),
    (settings.check_lam, np.float32(0.5), 0.5),
    (settings.check_lam, Fraction(1, 4), 0.25),
    (settings.check_lam, 1e-12, 1e-12),
    (settings.check_lam, "1/n", "1/n"),
    (settings.check_lam, " 1 / n ", "1/n"),
    (settings.check_seed, 0, 0),
    (settings.check_seed, np.int64(7), 7),
    (settings.check_max_passes, 3, 3.0),
    (settings.check_max_passes, 0.25, 0.25),
    (settings.check_gap_tol, 0, 0.0),
    (settings.check_gap_tol, 1e-3, 1e-3),
    (settings.check_time_limit, None, None),
    (settings.check_time_limit, 2, 2.0),
    (settings.check_time_limit, INF, None),
    (settings.check_iterates, "wavg", ("wavg",)),
    (settings.check_iterates, ["avg", "last", "avg"], ("last", "avg")),
    (settings.check_iterates, OmegaConf.create(["wavg", "last"]), ("last", "wavg")),
    (settings.check_schedule, "default", "default"),
    (settings.check_schedule, 2, 2.0),
    (settings.check_schedule, [1, 2.5], (1.0, 2.5)),
    (settings.check_schedule, OmegaConf.create([0, 1]), (0.0, 1.0)),
    (settings.check_schedule, [], ()),
]

REFUSED = [
    *((settings.check_lam, bad, 'positive finite number or "1/n"') for bad in (0, -1, NAN, INF, "abc", "1/m", None, True, [1])),
    *((settings.check_seed, bad, "integer >= 0") for bad in (-1, 0.5, 1.0, "1", None, True)),
    *((settings.check_max_passes, bad, "positive finite number") for bad in (0, -1, NAN, INF, "5", None, True)),
    *((settings.check_gap_tol, bad, "finite number >= 0") for bad in (-1e-9, NAN, INF, "0", None, False)),
    *((settings.check_time_limit, bad, "positive number of seconds or None") for bad in (0, -1, NAN, "1", True)),
    *((settings.check_iterates, bad, "last, wavg, tavg, avg") for bad in ([], None, 1, {"last"})),
    (
        settings.check_iterates,
        ["last", "wagv"],
        r"unknown iterate 'wagv'; accepted: avg, last, tavg, wavg \(did you mean 'wavg'\?\)",
    ),
    *(
        (settings.check_schedule, bad, '"default", a positive number of passes or an increasing list')
        for bad in ("often", 0, -1, NAN, INF, [1, 1], [2, 1], [-1], [1, NAN], [1, "2"], None, True, [True])
    ),
]


@pytest.mark.parametrize(("check", "value", "kept"), ACCEPTED)
def test_accepted_values_have_one_form(check, value, kept):
    result = check(value)
    assert result == kept
    assert type(result) is type(kept)


@pytest.mark.parametrize(("check", "value", "accepted"), REFUSED)
def test_other_values_are_refused_on_one_line(check, value, accepted):
    with pytest.raises(ParameterError, match=accepted) as error:
        check(value)
    message = str(error.value)
    assert isinstance(error.value, ValueError)
    assert "\n" not in message
    assert message.startswith((check.__name__.removeprefix("check_") + " must", "unknown iterate"))
    assert (repr(value) if "wagv" not in str(value) else "'wagv'") in message


def test_lam_of_1_n_needs_n():
    assert settings.check_lam("1/n", 8) == 0.125
    assert settings.check_lam(0.5, 8) == 0.5


@pytest.mark.parametrize(
    ("passes", "n", "calls"), [(0.29, 100, 29), (50.0, 6251, 312_550), (0.5, 3, 1), (1e-3, 5, 0), (1e308, 10**6, 2**52)]
)
def test_passes_are_whole_oracle_calls(passes, n, calls):
    assert settings.max_calls(passes, n) == calls

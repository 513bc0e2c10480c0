"""Options of solvers, data sets and tasks are checked in one place, and numpy's scalars count as Python's in all of them."""

import dataclasses
import re

import numpy as np
import pytest

from fwexp.blocks.acceleration import AccelerateOptions
from fwexp.data import DATASETS
from fwexp.data import check_options as check_dataset_options
from fwexp.errors import OptionError, ParameterError
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.bcfw_options import SAMPLING, CacheOptions, Options
from fwexp.tasks import TASKS

# Of options that may be None, as all of ``auto``: a value, since their default says nothing of the kind.
VALUES = {field.name: field.default for field in dataclasses.fields(Options)}
VALUES |= {"refresh": 2.0, "gamma": 0.5, "kap": 2.0, "n": 3, "eta": 0.5, "beta": 1.0, "delta": 2.0, "momentum": 0.5, "batch": 3}
MAPPINGS = {"cache": CacheOptions, "accelerate": AccelerateOptions}


def numpy_scalars(value) -> list:
    """Return a value in all of numpy's types that can hold it."""
    if isinstance(value, bool):
        return [np.bool_(value)]
    if isinstance(value, str):
        return [np.str_(value)]
    kinds = (np.int16, np.int64, np.uint16) if isinstance(value, int) else (np.float32, np.float64)
    whole = (np.int64, np.uint8) if isinstance(value, float) and value.is_integer() and value >= 0 else ()
    return [kind(value) for kind in (*kinds, *whole)]


def exact(value):
    """Return a float that single precision holds as well."""
    return float(np.float32(value)) if isinstance(value, float) else value


def options_of(options: type):
    """Yield (name, Python value, other options that it needs) of every field of an options dataclass, for all its choices."""
    for field in dataclasses.fields(options):
        default = VALUES[field.name] if field.default is None else field.default
        needs = {other: values[0] for other, values in field.metadata.get("needs", {}).items()}
        yield from ((field.name, exact(value), needs) for value in field.metadata.get("choices", (default,)))


CATALOGUES = {"solver": SOLVERS, "dataset": DATASETS, "task": TASKS}
CHECKS = {
    "solver": lambda name, given: check_options(SOLVERS[name], given),
    "dataset": check_dataset_options,
    "task": lambda name, given: TASKS[name].check_options(given),
}
OWNERS = [(kind, name, catalogue[name].Options) for kind, catalogue in CATALOGUES.items() for name in catalogue]
TABLE = [(kind, name, *option) for kind, name, options in OWNERS if kind != "task" for option in options_of(options)]


@pytest.mark.parametrize(("kind", "name", "option", "value", "needs"), TABLE)
def test_numpy_scalars_are_options_like_pythons(kind, name, option, value, needs):
    plain = getattr(CHECKS[kind](name, needs | {option: value}), option)
    for scalar in numpy_scalars(value):
        taken = getattr(CHECKS[kind](name, needs | {option: scalar}), option)
        assert taken == plain
        assert type(taken) is type(plain)


@pytest.mark.parametrize("option", MAPPINGS)
def test_numpy_scalars_are_fields_of_mappings_like_pythons(option):
    for name, value, _ in options_of(MAPPINGS[option]):
        plain = getattr(check_options(SOLVERS["bcfw"], {option: {name: value}}), option)
        for scalar in numpy_scalars(value):
            taken = getattr(check_options(SOLVERS["bcfw"], {option: {name: scalar}}), option)
            assert taken == plain
            assert {type(item) for item in taken.values()} <= {int, float, type(None)}


def test_every_option_says_what_it_accepts():
    """Choices or a check: nothing is stored as people passed it."""
    classes = [*(options for _, _, options in OWNERS), *MAPPINGS.values()]
    fields = [(cls.__module__, field) for cls in classes for field in dataclasses.fields(cls)]
    assert [(module, field.name) for module, field in fields if not {"choices", "check"} & set(field.metadata)] == []


OF_ALL = "validation, validation_seed"  # data sets of examples
REFUSED = [
    ("solver bcfw", {"sampling": "gaps"}, f"sampling must be one of {', '.join(SAMPLING)}; got 'gaps' (did you mean 'gap'?)"),
    ("solver bcfw", {"step": 1}, "step must be one of fw, pairwise, away, corrective, exact; got 1"),
    ("solver bcfw", {"line_search": 1}, "line_search must be one of true, false; got 1"),
    ("solver bcfw", {"line_search": False, "step": "away"}, "line_search=false goes with step=fw only, got step=away"),
    ("solver bcfw", {"refresh": -1}, "refresh must be a number of passes >= 0 (0 = never), got -1"),
    ("solver bcfw", {"cache": "yes"}, "cache must be true, false or a mapping of F, nu, size; got 'yes'"),
    ("solver bcfw", {"cache": {"F": -1}}, "cache.F must be a number >= 0, got -1"),
    ("solver bcfw", {"cache": {"size": 1.5}}, "cache.size must be an integer >= 2, got 1.5"),
    ("solver bcfw", {"cache": {"siz": 2}}, "cache: unknown option 'siz' (did you mean 'size'?); accepted: F, nu, size"),
    ("solver bcfw", {"accelerate": {"kap": 0}}, "accelerate.kap must be a positive number, null or observed, got 0"),
    ("solver bcfw", {"accelerate": {"kap": "seen"}}, "accelerate.kap must be a positive number, null or observed, got 'seen'"),
    ("solver bcfw", {"accelerate": {"period": np.nan}}, "accelerate.period must be a positive number, got nan"),
    ("solver bcfw", {"accelerate": {"refresh": 1}}, "accelerate.refresh must be true or false, got 1"),
    ("solver auto", {"cache": {"size": 1}}, "cache.size must be an integer >= 2, got 1"),
    ("solver n_slack", {"batch": True}, "batch must be an integer >= 1, got True"),
    ("solver n_slack", {"batch": np.float64(1)}, "batch must be an integer >= 1, got 1.0"),
    ("solver n_slack", {"batch": np.int64(0)}, "batch must be an integer >= 1, got 0"),
    ("solver n_slack", {"qp_tol": 1}, "qp_tol must be a number >= 0 and < 1, got 1"),
    ("solver one_slack", {"removal": -1}, "removal must be an integer >= 0, got -1"),
    ("solver one_slack", {"cache": 1.5}, "cache must be an integer >= 0, got 1.5"),
    ("solver one_slack", {"qp_tol": -1.0}, "qp_tol must be a number >= 0 and < 1, got -1.0"),
    ("solver one_slack", {"pull": 1.0}, "pull must be a number >= 0 and < 1, got 1.0"),
    ("solver one_slack", {"nonnegative": 2}, "nonnegative must be one of true, false; got 2"),
    ("solver kernel_bcfw", {"kernel": "cosine"}, "kernel must be one of linear, poly, rbf; got 'cosine'"),
    ("solver kernel_bcfw", {"degree": 2.0}, "degree must be an integer >= 1, got 2.0"),
    ("solver kernel_bcfw", {"gamma": "scale"}, "gamma must be a positive number or null (1/number of features), got 'scale'"),
    ("solver kernel_bcfw", {"coef0": -1}, "coef0 must be a number >= 0, got -1"),
    *(("solver approx_bcfw", {"nu": x}, f"nu must be a number > 0 and <= 1, got {x}") for x in (0, 1.1, np.nan, np.bool_(True))),
    *(("solver approx_bcfw", {"delta": x}, f"delta must be a number >= 0, got {x}") for x in (-1, np.inf)),
    ("solver kernel_bcfw", {"gamma": 2.0}, "gamma goes with kernel=poly or rbf only, got kernel='linear'"),
    ("solver approx_bcfw", {"sampling": "max"}, "sampling must be one of uniform, perm, cyclic; got 'max'"),
    *(("dataset ocr", {"split": x}, f"split must be one of ocr2, ocr; got {x}") for x in (None, ["ocr"])),
    *(("dataset ocr", {"n": x}, f"n must be an integer >= 1, got {x}") for x in (0, -1, 1.5, True)),
    (
        "dataset ocr",
        {"spilt": "ocr"},
        "unknown option 'spilt' (did you mean 'split'?); accepted: n, split, validation, validation_seed",
    ),
    ("dataset digits", {"split": "ocr"}, "unknown option 'split'; accepted: " + OF_ALL),
    ("dataset hansards", {"aligner": "giza"}, "aligner must be one of hmm, eflomal; got 'giza'"),
    ("dataset horses", {"loss": "area"}, "loss must be one of hamming, balanced; got 'area'"),
    ("task path", {}, "lam_min must be given, got null"),
    ("task path", {"lam_min": 1, "eps": 0}, "eps must be a positive finite number, got 0"),
    ("task path", {"lam_min": 1, "kappa": 1}, "kappa must be a number > 0 and < 1, got 1"),
    ("task path", {"lam_min": 1, "exact": "yes"}, "exact must be one of true, false; got 'yes'"),
    ("task grid", {"warm": 1}, "warm must be one of true, false; got 1"),
    ("task grid", {"lam_min": 5, "lam_max": 7}, "there must be a power of two between lam_min and lam_max, got 5.0 and 7.0"),
    ("task improvement", {"eps": 1}, "unknown option 'eps'; accepted: none"),
]


@pytest.mark.parametrize(("owner", "options", "message"), REFUSED)
def test_what_is_refused_is_named(owner, options, message):
    kind, name = owner.split()
    with pytest.raises(OptionError if re.search("unknown option|goes with", message) else ParameterError) as caught:
        CHECKS[kind](name, options)
    assert str(caught.value) == f"{owner}: {message}"

"""Parts of a training set: the share that is set aside for validation, by two options of every data set, and samples."""

import dataclasses
import inspect

import numpy as np

from fwexp.errors import ParameterError
from fwexp.options import NoOptions, check_fraction, check_integer, option

NAMES = ("validation", "validation_seed")
MEANING = """
Attributes
----------
validation : float
    Share of the training examples that is set aside: nothing is trained on them, and their error is logged as
    ``validation_error``. 0 sets none aside. A larger share contains the smaller ones.
validation_seed : int
    Seed of the choice of these examples, which the seed of the run does not change.
"""


def with_validation(options: type) -> type:
    """Return an options dataclass with the options for validation as well."""
    if getattr(options, "takes_validation", False):
        return options
    for field in dataclasses.fields(options):
        if field.name in NAMES:
            raise ParameterError(f"its option {field.name!r} is called as one that every data set of examples has")

    def __post_init__(self) -> None:
        if not self.validation:  # the seed then changes no number, so it is not in the key of a run
            object.__setattr__(self, "validation_seed", 0)
        if hasattr(options, "__post_init__"):
            options.__post_init__(self)

    title = "The options of every data set." if options is NoOptions else inspect.cleandoc(options.__doc__ or "").split("\n\n")[0]
    return dataclasses.make_dataclass(
        options.__name__,
        [
            ("validation", float, option(0.0, check_fraction, added_later=True)),
            ("validation_seed", int, option(0, check_integer, 0, added_later=True)),
        ],
        bases=(options,),
        frozen=options.__dataclass_params__.frozen,
        namespace={
            "__doc__": f"{title}\n{MEANING}",
            "__module__": options.__module__,
            "__post_init__": __post_init__,
            "takes_validation": True,
        },
    )


def split(problem, share: float, seed: int, dataset: str):
    """Return a problem without a share of its examples, and the problem of these; both keep the order of the examples."""
    if not hasattr(problem, "subset"):
        raise ParameterError(f"dataset {dataset}: validation must be 0 for a problem without subset(), got {share:g}")
    mask = aside(problem.n, share, seed, f"dataset {dataset}: validation")
    return problem.subset(~mask), problem.subset(mask)


def aside(n: int, share: float, seed: int, name: str = "validation") -> np.ndarray:
    """Return the mask of the share of n examples that is set aside; ``name`` is the name of the share, for the message."""
    size = round(share * n)
    if not 0 < size < n:
        raise ParameterError(f"{name} must leave an example in both parts, got {share:g}, which sets {size} of {n} aside")
    mask = np.zeros(n, dtype=bool)
    mask[np.random.default_rng(seed).permutation(n)[:size]] = True
    return mask


def sample(examples: np.ndarray, n: int, dataset: str, what: str) -> np.ndarray:
    """Return the mask of n random ones of the examples where a mask is true; a larger n contains the smaller ones."""
    chosen = np.flatnonzero(examples)
    if n > len(chosen):
        raise ParameterError(f"dataset {dataset}: n must be at most {len(chosen)}, the number of training {what}, got {n}")
    mask = np.zeros_like(examples)
    mask[np.random.default_rng(0).permutation(chosen)[:n]] = True
    return mask

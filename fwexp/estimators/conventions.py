"""The base of estimators: scikit-learn's, from the moment when something of it is needed.

Its import takes several times as long as a saved tagger takes to load and to predict, and half of the memory. Neither calls
anything of it, so it is imported when scikit-learn or a user first asks an estimator for something that the base class has. Where
scikit-learn was imported before, nothing is delayed.
"""

import dataclasses
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

__all__ = ["Conventions", "adopt", "check_fitted", "parameters", "subclasses"]

METHODS = ("__repr__", "__sklearn_tags__", "get_params", "set_params")  # that subclasses may extend
OTHERS = ("__sklearn", "_get_", "_repr_", "get_", "set_")  # how the names of what else the base class has begin


class _Before:
    """The base of `Conventions` until scikit-learn is imported."""

    def __getattr__(self, name: str):
        if name.startswith(OTHERS):
            adopt()
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _first_call(name: str):
    """Return a method that is called before scikit-learn is imported."""

    def method(self, *args, **kwargs):
        adopt()
        return getattr(super(Conventions, self), name)(*args, **kwargs)

    return method


for _name in METHODS:
    setattr(_Before, _name, _first_call(_name))


class Conventions(_Before):
    """Base class of estimators, with scikit-learn's ``BaseEstimator`` as its base as soon as `adopt` was called."""

    if TYPE_CHECKING:  # with types, which scikit-learn does not declare
        encoding_: Any  # set by `fit`; no field, as `dataclasses.asdict` returns the parameters

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
    else:

        def __new__(cls, *args, **kwargs):
            if "sklearn.base" in sys.modules:  # imported after this module
                adopt()
            return super().__new__(cls)

        def __setstate__(self, state):
            vars(self).update(state)


def adopt() -> None:
    """Import scikit-learn, and make its ``BaseEstimator`` the base of all estimators."""
    from sklearn.base import BaseEstimator

    if _Before in Conventions.__bases__:
        Conventions.__bases__ = (BaseEstimator,)
        for cls in subclasses(Conventions):
            super(Conventions, cls).__init_subclass__()  # which makes methods such as ``set_fit_request``


def subclasses(kind: type) -> Iterator[type]:
    """Yield all classes below a class."""
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def parameters(estimator) -> dict[str, Any]:
    """Return the parameters of an estimator, which are the fields of its class."""
    return {field.name: getattr(estimator, field.name) for field in dataclasses.fields(estimator)}


def check_fitted(estimator) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless `fit` was called."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(estimator)):
        from sklearn.utils.validation import check_is_fitted  # which names the class and the remedy

        check_is_fitted(estimator)


if "sklearn.base" in sys.modules:
    adopt()

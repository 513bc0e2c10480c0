"""Base classes of scikit-learn, with the types that scikit-learn does not declare."""

from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from fwexp.types import ArrayLike, Iterate

AnyIterate: TypeAlias = Iterate | Literal["best"] | None

if TYPE_CHECKING:

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["AnyIterate", "BaseEstimator", "ClassifierMixin"]

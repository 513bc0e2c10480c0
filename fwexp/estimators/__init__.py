"""Estimators with scikit-learn's conventions over `fwexp.solve`; scikit-learn comes with the extra ``estimators``."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fwexp.errors import needing

if TYPE_CHECKING:
    from fwexp.estimators.chain_crf import ChainCRF
    from fwexp.estimators.chain_crf_cv import ChainCRFCV
    from fwexp.estimators.chain_cv import ChainSVMCV
    from fwexp.estimators.chain_svm import ChainSVM
    from fwexp.estimators.classifiers import MulticlassLogistic, MulticlassSVM
    from fwexp.estimators.graph_svm import GraphSVM
    from fwexp.estimators.matching_svm import MatchingSVM
    from fwexp.estimators.multilabel_svm import MultiLabelSVM
    from fwexp.estimators.structured_svm import StructuredSVM

__all__ = [
    "ChainCRF",
    "ChainCRFCV",
    "ChainSVM",
    "ChainSVMCV",
    "GraphSVM",
    "MatchingSVM",
    "MultiLabelSVM",
    "MulticlassLogistic",
    "MulticlassSVM",
    "StructuredSVM",
]

# Where each estimator lives; modules are imported when a name is first used. Some modules here need neither scikit-learn nor numba.
_HOME = {
    "ChainCRF": "chain_crf",
    "ChainCRFCV": "chain_crf_cv",
    "ChainSVM": "chain_svm",
    "ChainSVMCV": "chain_cv",
    "GraphSVM": "graph_svm",
    "MatchingSVM": "matching_svm",
    "MultiLabelSVM": "multilabel_svm",
    "MulticlassLogistic": "classifiers",
    "MulticlassSVM": "classifiers",
    "StructuredSVM": "structured_svm",
}


def __getattr__(name: str) -> type:
    if name not in _HOME:
        raise AttributeError(f"module 'fwexp.estimators' has no attribute {name!r}")
    if find_spec("sklearn") is None:  # It is imported where it acts.
        with needing("fwexp.estimators needs"):
            raise ModuleNotFoundError(name="sklearn")

    return getattr(import_module(f"fwexp.estimators.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

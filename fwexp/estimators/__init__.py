"""Estimators with scikit-learn's conventions over `fwexp.solve`; scikit-learn comes with the extra ``estimators``."""

from fwexp.errors import needing

with needing("fwexp.estimators needs"):
    import sklearn  # noqa: F401

from fwexp.estimators.chain_crf import ChainCRF
from fwexp.estimators.chain_cv import ChainSVMCV
from fwexp.estimators.chain_svm import ChainSVM
from fwexp.estimators.classifiers import MulticlassLogistic, MulticlassSVM
from fwexp.estimators.graph_svm import GraphSVM
from fwexp.estimators.matching_svm import MatchingSVM
from fwexp.estimators.multilabel_svm import MultiLabelSVM
from fwexp.estimators.structured_svm import StructuredSVM

__all__ = [
    "ChainCRF",
    "ChainSVM",
    "ChainSVMCV",
    "GraphSVM",
    "MatchingSVM",
    "MultiLabelSVM",
    "MulticlassLogistic",
    "MulticlassSVM",
    "StructuredSVM",
]

"""Estimators with scikit-learn's conventions over `fwexp.solve`; scikit-learn comes with the extra ``estimators``."""

from fwexp.errors import needing

with needing("fwexp.estimators needs"):
    import sklearn  # noqa: F401

from fwexp.estimators.chain import ChainSVM
from fwexp.estimators.chain_cv import ChainSVMCV
from fwexp.estimators.graph import GraphSVM
from fwexp.estimators.matching import MatchingSVM
from fwexp.estimators.multiclass import MulticlassSVM
from fwexp.estimators.multilabel import MultiLabelSVM
from fwexp.estimators.structured import StructuredSVM

__all__ = ["ChainSVM", "ChainSVMCV", "GraphSVM", "MatchingSVM", "MultiLabelSVM", "MulticlassSVM", "StructuredSVM"]

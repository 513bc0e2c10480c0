"""Small data for every estimator, in forms that many parameters concern."""

import numpy as np

from fwexp.estimators import (
    ChainCRF,
    ChainCRFCV,
    ChainSVM,
    ChainSVMCV,
    GraphSVM,
    MatchingSVM,
    MulticlassLogistic,
    MulticlassSVM,
    MultiLabelSVM,
    StructuredSVM,
)
from tests.estimators.models import Signs

SEARCHES = ChainSVMCV, ChainCRFCV
CHAINS = ChainSVM, ChainCRF, *SEARCHES
CLASSES = MulticlassSVM, MulticlassLogistic
QUICK = {"tol": 1e-9, "max_passes": 3}


def data_of(cls, n: int = 16, names: int = 12):
    """Return inputs and labelings for an estimator; features by name have so many names."""
    rng = np.random.default_rng(0)

    def position():
        k, j = rng.integers(names // 3, size=2)
        return {"word": f"w{k}", "shape": [f"s{j}", f"t{k}"], "size": float(k + 1) / names}

    if cls in CHAINS:
        X = [[position() for _ in range(int(rng.integers(2, 6)))] for _ in range(n)]
        return X, [["abc"[int(p["word"][1:]) % 3] if rng.random() > 0.2 else "a" for p in x] for x in X]
    if cls in CLASSES:
        X = [position() for _ in range(n)]
        return X, ["abc"[int(x["word"][1:]) % 3] for x in X]
    if cls is MultiLabelSVM:
        X = [position() for _ in range(n)]
        return X, np.array([[len(x["word"]) % 2, int(x["word"][1:]) % 2, int(x["shape"][0][1:]) % 2] for x in X])
    if cls is GraphSVM:
        X = [rng.normal(size=(3, 4, 2)) for _ in range(n)]
        return X, [np.where(x[..., 0] + 0.5 * rng.normal(size=x.shape[:2]) > 0, "fore", "back") for x in X]
    if cls is MatchingSVM:
        y = [[(0, k % 3), (1, (k + 1) % 3)] for k in range(n)]
        linked = [np.array([[(r, c) in links for c in range(3)] for r in range(3)]) for links in y]
        return [np.stack([of_one + 0.5 * rng.normal(size=(3, 3)), np.ones((3, 3))], axis=2) for of_one in linked], y
    X = rng.normal(size=n)
    return X, [int(x) for x in rng.choice((-1, 1), size=n)]


def new(cls, **parameters):
    """Return an estimator that trains quickly."""
    given = [Signs()] if cls is StructuredSVM else []
    more = {"lams": [1.0, 0.1], "cv": 2} if cls in SEARCHES else {}
    return cls(*given, **QUICK | more | parameters)


EVERY = (*CHAINS, *CLASSES, MultiLabelSVM, GraphSVM, MatchingSVM, StructuredSVM)
METHODS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


def answers(model, X) -> list:
    """Return all that an estimator predicts, as lists of numbers and labels."""
    found = [getattr(model, name)(X) for name in METHODS if hasattr(model, name)]
    return [[np.asarray(one).tolist() for one in of_method] for of_method in found]


def learned(model) -> str:
    """Return all that an estimator shows of its training, but the log."""
    names = [name for name in dir(model) if name.endswith("_") and name[0] != "_" and hasattr(model, name)]
    attributes = {name: getattr(model, name) for name in names if name not in ("encoding_", "result_", "trace_")}
    for name, value in attributes.items():
        if hasattr(value, "num_features"):
            attributes[name] = value.names, value.num_features
    return repr(attributes)


def held(cls) -> dict:
    """Return the parameters that files of an estimator do not hold."""
    return {"model": Signs()} if cls is StructuredSVM else {}

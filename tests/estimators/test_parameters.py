"""Every parameter of every estimator changes the result on a problem where it should, or is rejected."""

import inspect
from functools import cache

import numpy as np
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainCRFCV, GraphSVM, MulticlassLogistic, MultiLabelSVM
from tests.estimators.cases import CLASSES, EVERY, answers, data_of, new
from tests.estimators.models import Signs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COSTS = 3 - 3 * np.eye(3)
PROBABLE = ChainCRF, ChainCRFCV, MulticlassLogistic

# Values other than the defaults, then those of some classes, and the parameters that others need.
VALUES = {
    "lam": 0.5,
    "C": 3.0,
    "tol": 1.0,
    "max_passes": 1,
    "iterate": "wavg",
    "solver": "fw",
    "random_state": 5,
    "fit_intercept": False,
    "min_count": 5,
    "nonnegative": slice(0, 9),
    "warm_start": True,
    "early_stopping": True,
    "validation_fraction": 0.4,
    "features": lambda x: [{"word": position["word"]} for position in x],
    "transition_features": ["word"],
    "loss": "share",
    "costs": COSTS,
    "rescaling": "slack",
    "class_weight": {"a": 5.0},
    "constraints": [("b", "b")],
    "ignore_label": "a",
    "skip_ignored": True,
    "fixed_weights": {"word=w1": {"a": 3.0}},
    "possible_states": False,
    "objective": "softmax_margin",
    "lams": [0.3, 0.03],
    "lam_min": 1e-2,
    "cv": 3,
    "scoring": "f1_macro",
    "pairwise": "full",
    "connectivity": 8,
    "contrast": True,
    "edges": None,
    "precision_cost": 2.0,
    "recall_cost": 1.0,
    "column_links": 2,
    "model": type("Steep", (Signs,), {"loss": lambda self, y, y_hat: 2.0 * (y != y_hat)})(),
    "time_limit": 1e-9,
    "callback": lambda row: True,
    "n_jobs": 1,
    "verbose": 1,
}
OF_CLASS = {
    **{(cls, "min_count"): 3 for cls in (*CLASSES, MultiLabelSVM)},
    **{(cls, "solver"): "lbfgs" for cls in PROBABLE},
    (MultiLabelSVM, "class_weight"): {0: 5.0},
    (GraphSVM, "class_weight"): {"fore": 5.0},
    (GraphSVM, "ignore_label"): "void",
}
NEEDED = {
    "validation_fraction": {"early_stopping": True},
    "lam_min": {"lams": 3},
    "rescaling": {"costs": COSTS},
    "skip_ignored": {"ignore_label": "a"},
    "iterate": {"solver": "bcfw", "iterate": "last"},
    "random_state": {"solver": "bcfw"},
}
WITHOUT_EFFECT = {"n_jobs", "verbose"}  # on what is learned
OF_MARGINS = {
    (cls, name) for cls in (ChainCRF, ChainCRFCV) for name in ("costs", "class_weight")
}  # which the default objective has not
CASES = [(cls, name) for cls in EVERY for name in inspect.signature(cls).parameters]


def few(cls, name=None):
    """Return examples; for ``ignore_label``, one of the graphs has a node without a label."""
    X, y = data_of(cls, 9)
    if (cls, name) == (GraphSVM, "ignore_label"):
        y[0][0, 0] = "void"
    return X, y


def learned(model, X, y):
    """Return all that training has learned; a second training shows warm starts."""
    model.fit(X, y)
    if getattr(model, "warm_start", False):
        model.fit(X, y)
    trace = model.trace_[["passes", "primal"]].to_numpy().tolist()
    of_folds = [values.tolist() for values in getattr(model, "cv_results_", {}).values()]
    return [answers(model, X), trace, of_folds, model.result_.w.tolist()]


def model_for(cls, name=None):
    """Return an estimator on which a parameter has an effect."""
    given = NEEDED.get(name, {})
    if cls in PROBABLE and "solver" in given:
        given = given | {"solver": "block_entropic"}
    return new(cls, **given)


@cache
def before(cls, name=None):
    """Return what an estimator learns without a value of a parameter."""
    return learned(model_for(cls, name), *few(cls, name))


@pytest.mark.parametrize(("cls", "name"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_parameters_act_or_are_rejected(cls, name):
    value = OF_CLASS.get((cls, name), VALUES[name])
    former = before(cls, name if name in NEEDED or name == "ignore_label" else None)
    model = model_for(cls, name).set_params(**{name: value})
    if (cls, name) in OF_MARGINS:
        with pytest.raises(ParameterError, match=rf"^{name} must be None with objective=\"log\""):
            model.fit(*few(cls))
        model.set_params(objective="softmax_margin")
        former = learned(new(cls, objective="softmax_margin"), *few(cls))
    assert (learned(model, *few(cls, name)) == former) == (name in WITHOUT_EFFECT)

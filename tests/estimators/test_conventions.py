"""scikit-learn's own checks, of estimators whose inputs or outputs are others than those that it makes up.

Most checks pass a table (n, p) with a class for each row, which these refuse. All others pass: on parameters, clones, copies, what
is not fitted, and, for `MultiLabelSVM`, on tables with outputs of 0 and 1. `MulticlassSVM`, which takes tables, is elsewhere.
"""

import ast
import inspect
import re

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from fwexp import estimators
from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV, GraphSVM, MatchingSVM, MulticlassSVM, MultiLabelSVM

NO_TABLE = r"(X(\[0\]| and y)?|y\[0\]) must (be|hold|have)"
# One prediction per row, where that of `MultiLabelSVM` has a column per label; and training stops at a gap, not at the optimum.
OTHERS = {"check_classifiers_train", *(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))}


def reasons(error) -> str:
    """All that an exception, and those that it followed from, say."""
    found = []
    while error is not None:
        found.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(found)


@pytest.mark.parametrize(
    ("cls", "X"),
    [
        (ChainSVM, [np.eye(3)]),
        (ChainSVMCV, [np.eye(3)]),
        (GraphSVM, [np.ones((2, 2, 3))]),
        (MatchingSVM, [np.ones((2, 2, 3))]),
        (MulticlassSVM, np.eye(3)),
        (MultiLabelSVM, np.eye(3)),
    ],
)
def test_what_is_not_given_is_named(cls, X):
    with pytest.raises(ParameterError, match=r"^X must .*, got None$"):
        cls().fit(None, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"^(y must .*, got None|.* requires y to be passed, but the target y is None\.)$"):
        cls().fit(X, None)


@pytest.mark.parametrize("cls", [MulticlassSVM, MultiLabelSVM])
def test_what_is_predicted_is_given(cls):
    fitted = cls().fit([[0.0, 1.0], [1.0, 0.0]], {MulticlassSVM: [0, 1], MultiLabelSVM: [[0], [1]]}[cls])
    for predict, x in ((fitted.predict, None), (fitted.predict, 3.5), (fitted.predict_one, None)):
        with pytest.raises(ParameterError, match=r"^X must be an array or sparse matrix \(n, p\), or .*, got (None|3.5|\[None\])$"):
            predict(x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cls", "passed", "refused"),
    [
        (MultiLabelSVM, 47, r"y must be an array \(n, L\) of 0 and 1"),
        (ChainSVM, 15, NO_TABLE),
        (ChainSVMCV, 15, NO_TABLE),
        (GraphSVM, 15, NO_TABLE),
        (MatchingSVM, 15, NO_TABLE),
    ],
)
def test_checks_fail_only_where_inputs_are_refused(cls, passed, refused):
    outcomes = check_estimator(cls(), on_fail=None, on_skip=None)
    failed = {one["check_name"]: reasons(one["exception"]) for one in outcomes if one["status"] == "failed"}
    assert {name for name, said in failed.items() if not re.search(refused, said)} <= OTHERS
    assert sum(one["status"] == "passed" for one in outcomes) >= passed


@pytest.mark.parametrize("name", estimators.__all__)
def test_docstrings_and_signatures_have_the_same_defaults(name):
    """Entries of several parameters have a default for each; those that a sibling explains have none."""
    cls, found = getattr(estimators, name), {}
    for names, defaults in re.findall(r"^([\w, ]+) : .*, default (.*)$", inspect.getdoc(cls), re.MULTILINE):
        found |= zip(names.split(", "), map(ast.literal_eval, defaults.split(" and ")), strict=True)
    defaults = {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}
    assert found == {name: defaults[name] for name in found}
    assert {"lam", "solver"} <= {*found} or "lams" in found

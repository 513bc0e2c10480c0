"""scikit-learn's own checks, of estimators whose inputs or outputs are others than those that it makes up.

Most checks pass a table (n, p) with a class for each row, which these refuse. All others pass: on parameters, clones, copies, what
is not fitted, and, for `MultiLabelSVM`, on tables with outputs of 0 and 1. `MulticlassSVM`, which takes tables, is elsewhere.
"""

import re

import pytest
from sklearn.utils.estimator_checks import check_estimator

from fwexp.estimators import ChainSVM, ChainSVMCV, GraphSVM, MatchingSVM, MultiLabelSVM

NO_TABLE = r"X(\[0\]| and y)? must (be|hold|have)"
ONE_PREDICTION = {"check_classifiers_train"}  # per row, where that of `MultiLabelSVM` has a column per label


def reasons(error) -> str:
    """All that an exception, and those that it followed from, say."""
    found = []
    while error is not None:
        found.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cls", "passed", "refused"),
    [
        (MultiLabelSVM, 48, r"y must be an array \(n, L\) of 0 and 1"),
        (ChainSVM, 15, NO_TABLE),
        (ChainSVMCV, 15, NO_TABLE),
        (GraphSVM, 15, NO_TABLE),
        (MatchingSVM, 15, NO_TABLE),
    ],
)
def test_checks_fail_only_where_inputs_are_refused(cls, passed, refused):
    outcomes = check_estimator(cls(), on_fail=None, on_skip=None)
    failed = {one["check_name"]: reasons(one["exception"]) for one in outcomes if one["status"] == "failed"}
    assert {name for name, said in failed.items() if not re.search(refused, said)} <= ONE_PREDICTION
    assert sum(one["status"] == "passed" for one in outcomes) >= passed

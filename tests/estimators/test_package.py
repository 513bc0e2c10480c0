import inspect
import re
import subprocess
import sys

import pytest

from fwexp import estimators


@pytest.mark.parametrize(
    ("hidden", "statement", "missing", "extra"),
    [
        ("sklearn", "from fwexp.estimators import ChainSVM", "scikit-learn", "estimators"),
        ("distributed", "import fwexp.distributed", "distributed", "dask"),
    ],
)
def test_without_an_extra_all_else_works_and_one_line_says_what_is_missing(hidden, statement, missing, extra):
    code = f"""
import sys
sys.modules["{hidden}"] = None
import fwexp
fwexp.solve, fwexp.load_run
try:
    {statement}
except fwexp.errors.MissingPackage as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.match(rf"\S.* needs {missing}, which is not installed: `pip install '\.\[{extra}\]'", done.stdout)


def test_signatures_show_public_names():
    for name in estimators.__all__:
        cls = getattr(estimators, name)
        for function in (cls, *(value for key, value in inspect.getmembers(cls, inspect.isfunction) if not key.startswith("_"))):
            assert "._" not in str(inspect.signature(function)).replace("pathlib._local.", "")  # where Python 3.13 has `Path`

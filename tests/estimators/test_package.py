import inspect
import subprocess
import sys

from fwexp import estimators


def test_without_scikit_learn_all_else_works_and_one_line_says_what_is_missing():
    code = """
import sys
sys.modules["sklearn"] = None
import fwexp
fwexp.solve, fwexp.load_run
try:
    from fwexp.estimators import ChainSVM
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fwexp.estimators needs scikit-learn, which is not installed: `pip install '.[estimators]'`")


def test_signatures_show_public_names():
    for name in estimators.__all__:
        cls = getattr(estimators, name)
        for function in (cls, *(value for key, value in inspect.getmembers(cls, inspect.isfunction) if not key.startswith("_"))):
            assert "._" not in str(inspect.signature(function)).replace("pathlib._local.", "")  # where Python 3.13 has `Path`

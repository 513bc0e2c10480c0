import subprocess
import sys


def test_without_scikit_learn_all_else_works_and_one_line_says_what_is_missing():
    code = """
import sys
sys.modules["sklearn"] = None
import fwexp
fwexp.solve, fwexp.load_run
try:
    import fwexp.estimators
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fwexp.estimators needs scikit-learn, which is not installed: `pip install '.[estimators]'`")

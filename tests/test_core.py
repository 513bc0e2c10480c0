"""The package without the extras: it trains, predicts and saves, and says in a line what the rest needs."""

import os
import subprocess
import sys

import pytest

from fwexp.errors import EXTRAS, install

# Hides packages as if they were not installed: from imports, and from the look whether they are there.
HIDING = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""
CORE = """
import numpy as np
import fwexp
train, test = fwexp.load_dataset("digits")
result = fwexp.solve(train, "bcfw_gap", lam=0.1, max_passes=3, verbose=True)
model = fwexp.load(result.save("model.npz"))
print(all((a == b).all() for a, b in zip(model.predict(test), result.predict(test), strict=True)))
from fwexp.estimators import ChainSVM
X, y = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]]], [["a", "b", "c"], ["c", "a"]]
ChainSVM(lam=0.1).fit(X, y).save("tagger.npz")
print(ChainSVM.load("tagger.npz").predict_one(X[1]))
try:
    fwexp.load_results()
except ImportError as error:
    print(error)
from fwexp.cli import main
for command in (["options", "bcfw"], ["run", "solver=bcfw"], ["figure", "quickstart"], ["ls"], ["doctor"]):
    print(command[0], main(command), file=sys.stderr)
"""


@pytest.mark.slow
def test_the_core_needs_no_extra(tmp_path):
    command = [sys.executable, "-c", HIDING + CORE, ",".join(EXTRAS["experiments"] + EXTRAS["images"])]
    (tmp_path / "results" / "runs").mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != "FWEXP_DATA"}  # images that cannot be checked
    done = subprocess.run(command, cwd=tmp_path, env=environment | {"COLUMNS": "200"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second, third, *options = done.stdout.splitlines()
    assert (first, second) == ("True", "['c', 'a']")
    assert third == f"stored runs need pyarrow, which is not installed: {install('experiments')}"
    assert options[0].startswith("solver=bcfw: ")
    assert options[-1] == "sound"
    *_, refused = done.stderr.partition("options 0\n")
    run, run_code, figure, *codes = refused.splitlines()
    assert (run_code, codes) == ("run 2", ["figure 2", "ls 0", "doctor 0"]), done.stderr
    assert run == f"fwexp: fwexp run needs hydra-core, which is not installed: {install('experiments')}"
    assert figure.startswith("fwexp: fwexp figure needs ")

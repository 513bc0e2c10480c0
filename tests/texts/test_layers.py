"""The layers: that the contract of ``make lint`` holds, what it cannot see, and that breaking it fails."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fwexp.files import code_digest
from tests.pages import ROOT

# As `lint-imports`, but in a copy: an editable installation would else find the checkout.
LINT = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in getattr(finder, "__name__", "")]
from importlinter.cli import lint_imports
sys.exit(lint_imports(no_cache=True, no_logo=True))
"""


def modules(folder: str) -> list[str]:
    """Return the names of all modules in a folder of the checkout, as they are imported."""
    paths = (path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / folder).rglob("*.py")))
    parts = [path.parts[:-1] if path.name == "__init__" else path.parts for path in paths]
    return [".".join(names if names[0] == "fwexp" else ("fwexp", *names)) for names in parts]


def imports(module: str) -> set[str]:
    """Return what a module imports of ours, also inside functions."""
    return set(code_digest.imports(module, True))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of what the contract is about."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("fwexp", "experiments", "plots"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess:
    """Check the contract."""
    return subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True)


def test_the_contract_holds_and_modules_of_a_layer_may_import_each_other(copy):
    append(copy / "fwexp/oracles/softmax.py", "from fwexp.oracles import viterbi")
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"\n{line}\n")


BROKEN = [
    ("fwexp/problems/arrays.py", "from fwexp.solvers import base", "fwexp.problems.arrays -> fwexp.solvers.base"),
    ("fwexp/solvers/fw.py", "def late():\n    import fwexp.store.run_store", "fwexp.solvers.fw -> fwexp.store.run_store"),
    ("fwexp/driver/settings.py", "from fwexp.tasks import path", "fwexp.driver.settings -> fwexp.tasks.path"),
    ("fwexp/options.py", "from fwexp.oracles import viterbi", "fwexp.options -> fwexp.oracles.viterbi"),
    ("fwexp/data/ocr.py", "from fwexp.solvers import base", "fwexp.data.ocr -> fwexp.solvers.base"),
    ("plots/style.py", "def late():\n    import fwexp.solvers.fw", "plots.style -> fwexp.solvers.fw"),
    ("fwexp/problems/arrays.py", "from fwexp.problems import chain", ".arrays -> .chain (1 import)"),  # a circle
]


def test_breaking_the_contract_fails(copy):
    append(copy / "fwexp/new.py", "")  # a module without a place
    done = lint(copy)
    assert done.returncode != 0
    assert "new" in done.stdout
    (copy / "fwexp/new.py").unlink()
    for file, line, _ in BROKEN:
        append(copy / file, line)
    done = lint(copy)
    assert done.returncode == 1
    assert [found for *_, found in BROKEN if found not in done.stdout] == []


def test_papers_and_what_stands_above_alone_import_experiments_and_plots():
    """Experiments and plots are not where import-linter looks for ``fwexp.experiments`` and ``fwexp.plots``."""
    tops = ("fwexp.experiments", "fwexp.plots")
    importers = {module for module in modules("fwexp") for name in imports(module) if name.startswith(tops)}
    assert {".".join(module.split(".")[:2]) for module in importers} <= {"fwexp.papers", "fwexp.commands"}


def test_plots_import_plots_errors_and_names_of_methods_and_problems_only():
    found = {name for module in modules("plots") for name in imports(module)}
    assert {name for name in found if not name.startswith("fwexp.plots")} <= {
        "fwexp.errors",
        "fwexp.methods",
        "fwexp.problem_names",
    }


def test_nobody_goes_round_the_layers_by_the_package_itself():
    """``import fwexp`` gives everything, ``fwexp.solve`` included: that is for what stands above all that it gives."""
    above = ("fwexp.__main__", "fwexp.cli", "fwexp.commands", "fwexp.papers")
    for folder in ("fwexp", "plots"):
        for module in modules(folder):
            if module not in ("fwexp", "fwexp.tasks.result_files") and not module.startswith(above):  # the latter wants the version
                assert "fwexp" not in imports(module), module


# What may be longer than the rest, and why.
LONG_FUNCTIONS = {
    "scaled_forward_backward": "one pass over the positions, whose scratch the next one reads",
}


def sources() -> list[Path]:
    return [path for folder in ("fwexp", "experiments", "plots") for path in sorted((ROOT / folder).rglob("*.py"))]


def function_lengths() -> dict[str, int]:
    """Return the number of lines of all functions without their docstrings."""
    nodes = [node for path in sources() for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return {
        node.name: node.end_lineno - node.body[ast.get_docstring(node) is not None].lineno + 1
        for node in nodes
        if len(node.body) > 1
    }


def test_no_file_name_occurs_twice():
    """Except of packages, and of the figures and the claims of a paper."""
    names = [path.name for path in sources() if path.parent.parent != ROOT / "experiments" and path.name != "__init__.py"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_files_and_functions_are_short():
    long_files = {path.relative_to(ROOT).as_posix() for path in sources() if len(path.read_text().splitlines()) > 450}
    long_functions = {name for name, lines in function_lengths().items() if lines > 80}
    assert (long_files, long_functions) == (set(), set(LONG_FUNCTIONS))

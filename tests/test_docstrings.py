"""The examples of all docstrings run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import fwexp

PACKAGE = Path(fwexp.__file__).parent
ROOTS = {"fwexp": PACKAGE, "fwexp.experiments": PACKAGE.parent / "experiments", "fwexp.plots": PACKAGE.parent / "plots"}


def examples():
    """Every docstring with an example, of modules whose source shows a prompt."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for root, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            if ">>> " in path.read_text():
                parts = (part for part in path.relative_to(folder).with_suffix("").parts if part != "__init__")
                name = ".".join([root, *parts])
                yield from (test for test in finder.find(importlib.import_module(name), name) if test.examples)


EXAMPLES = list(examples())


@pytest.mark.portable
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_print_what_they_say(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    report = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(example, out=report.append)
    assert not report, "".join(report)


def test_no_example_is_left_out():
    """Each is run, and so is one of everything that people call first."""
    assert [test.name for test in EXAMPLES if any(doctest.SKIP in line.options for line in test.examples)] == []
    names = {test.name.rpartition(".")[2] for test in EXAMPLES}
    assert names >= {"solve", "predict", "load", "load_dataset", "load_results", "chain_problem", "matching_problem"}
    assert names >= {"regularization_path", "check_problem", "check_solver"}

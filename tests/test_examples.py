"""Examples in docstrings, README and pages print what is shown, and tutorials can be followed."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import fwexp
import fwexp.convex
import fwexp.estimators
import fwexp.testing
from tests.pages import FLAGS, PAGES, ROOT, TUTORIALS, Printed, blocks, files, follow

TAGGER = ROOT / "docs" / "tutorials" / "tagger.md"
PACKAGE = Path(fwexp.__file__).parent
ROOTS = {"fwexp": PACKAGE, "fwexp.experiments": PACKAGE.parent / "experiments", "fwexp.plots": PACKAGE.parent / "plots"}


def docstrings():
    """Yield every docstring with an example, of modules whose source shows a prompt."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for root, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            if ">>> " in path.read_text():
                parts = (part for part in path.relative_to(folder).with_suffix("").parts if part != "__init__")
                name = ".".join([root, *parts])
                yield from (test for test in finder.find(importlib.import_module(name), name) if test.examples)


def page_examples():
    """Yield the examples of each page, which follow on each other."""
    for page in PAGES:
        texts = [block.text for block in blocks(page) if block.language == "python" and not block.file]
        if texts:
            yield doctest.DocTestParser().get_doctest("\n".join(texts), {}, f"pages.{page.stem}", page.name, 0)


EXAMPLES = [*docstrings(), *page_examples()]
COMPILE_MUCH = {"weighted_problem", "pose_problem", "shard", "GraphSVM", "MatchingSVM", "MultiLabelSVM", "ChainSVMCV"}
COMPILE_MUCH |= {"taggers", "practice", "models", "several-labels", "alignment", "photographs", "signals", "documents"}  # pages


def last_name(example) -> str:
    return example.name.rpartition(".")[2]


def marks(example):
    return [pytest.mark.slow] * (last_name(example) in COMPILE_MUCH)


@pytest.mark.portable
@pytest.mark.parametrize("example", [pytest.param(test, id=test.name, marks=marks(test)) for test in EXAMPLES])
def test_examples_print_what_they_say(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    if example.name == "pages.README":
        exec(files(TAGGER)["corpus.py"], {})  # writes the file that it trains on
    assert example.examples
    report = []
    checker = Printed() if example.name.startswith("pages.") else None
    doctest.DocTestRunner(checker, verbose=False, optionflags=FLAGS).run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("gap=0.0095, converged after 12 passes in 0.04 s", "gap=0.0091, converged after 9 passes in 1.2 s", True),
        ("primal=0.0676", "primal=0.0766", False),
        ("accuracy 0.95", "accuracy 0.96", False),
        ("converged after 12 passes", "stalled after 12 passes", False),
        ("0.0834...", "0.083444", True),
    ],
)
def test_pages_show_numbers_that_other_machines_print_a_little_differently(shown, printed, equal):
    assert Printed().check_output(f"{shown}\n", f"{printed}\n", FLAGS) == equal


def test_no_example_is_left_out():
    """Each is run, and so is one of everything that people call first."""
    assert [test.name for test in EXAMPLES if any(doctest.SKIP in line.options for line in test.examples)] == []
    names = {last_name(test) for test in EXAMPLES}
    assert names >= {"solve", "predict", "load", "load_dataset", "load_results", "chain_problem", "matching_problem"}
    assert names >= {"minimize", "saddle_point", "svm_game", *fwexp.estimators.__all__}
    assert names >= {"regularization_path", "check_problem", "check_solver", "Iteration", "CallbackProblem", *COMPILE_MUCH}
    public = {name: getattr(fwexp, name) for name in fwexp.__all__}
    assert names >= {name for name in public if inspect.isfunction(public[name])} - {"grid_search"}


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed_in_an_empty_folder(page, tmp_path):
    assert follow(page, tmp_path) > 0

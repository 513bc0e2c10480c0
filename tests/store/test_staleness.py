"""Runs of other sources than those that are here."""

import hashlib
from functools import cache

import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.files import code_digest
from fwexp.run import catalogues
from fwexp.run.config import canonical
from fwexp.store import records, staleness


@pytest.fixture
def edit(monkeypatch):
    """Yield a function that edits the source of a module, as far as digests see it."""
    edited, source = {}, code_digest._source
    monkeypatch.setattr(code_digest, "_source", lambda module: source(module) + edited.get(module, b""))

    def change(module, text=b"\nEDITED = True"):
        assert source(module)
        edited[module] = edited.get(module, b"") + text
        staleness.current.cache_clear()

    yield change
    staleness.current.cache_clear()


def configured(solver="bcfw", dataset="digits", **more):
    return canonical({"dataset": {"name": dataset}, "solver": {"name": solver}, "lam": 0.01, **more})


ALL = {"auto", "bcfw", "ssg", "fw", "path", "conll2000"}
PATH = canonical({"task": {"name": "path", "lam_min": 1.0}, "dataset": {"name": "digits"}, "solver": {"name": "bcfw"}})


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        ("fwexp.solvers.auto", {"auto", "path"}),
        ("fwexp.solvers.bcfw", {"auto", "bcfw", "path", "conll2000"}),
        ("fwexp.blocks.orders", {"auto", "bcfw", "path", "conll2000"}),
        ("fwexp.solvers.ssg", {"ssg"}),
        ("fwexp.blocks.sampling", ALL - {"fw"}),
        ("fwexp.solvers.one_slack", {"auto", "path"}),
        ("fwexp.solvers", set()),
        ("fwexp.oracles.viterbi", ALL),
        ("fwexp.problems.chain_protocol", ALL),
        ("fwexp.driver.loop", ALL),
        ("fwexp.driver.progress", set()),
        ("fwexp.files.atomic", set()),
        ("fwexp.files.npz", ALL),
        ("fwexp.tasks.path", {"path"}),
        ("fwexp.tasks.improvement", set()),
        ("fwexp.data.digits", ALL - {"conll2000"}),
        ("fwexp.data.conll2000", {"conll2000"}),
        ("fwexp.data.metrics", {"conll2000"}),  # imported in a function
        ("fwexp.store.run_store", set()),
    ],
)
def test_a_run_depends_on_what_makes_its_numbers_and_no_more(edit, module, changed):
    configs = {
        "auto": configured("auto"),
        "bcfw": configured(),
        "ssg": configured("ssg"),
        "fw": configured("fw"),
        "path": PATH,
        "conll2000": configured(dataset="conll2000"),
    }
    before = {name: staleness.made_by(catalogues.modules(config)) for name, config in configs.items()}
    edit(module, b"\n# a comment\n")
    assert not any(staleness.is_stale({"sources": made}) for made in before.values())
    edit(module)
    assert {name for name in configs if staleness.is_stale({"sources": before[name]})} == changed


def test_a_solver_of_somebody_else_counts_with_what_it_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_method.py").write_text("from fwexp.solvers.ssg import SSG\n")
    assert {"my_method", "fwexp.solvers.ssg"} <= code_digest.closure(["my_method"])
    assert "fwexp.solvers.bcfw" not in code_digest.closure(["my_method"])
    before = code_digest.digest(["my_method"])
    monkeypatch.setattr(code_digest, "_source", code_digest._source.__wrapped__)
    (tmp_path / "my_method.py").write_text("from fwexp.solvers.ssg import SSG\n\nX = 1\n")
    assert code_digest.digest(["my_method"]) != before


STYLES = """\
import a
import b, b.c as d
from . import e
from ..f.g import h as i, j
from k import (  # not (l)
    m,  # and n)
)
from p import q, \\
    r
x = 1; import s
try:
    import t
except ImportError:
    import u
else:
    import v
finally:
    import w
match x:
    case 1: import y
class C:
    import z
if TYPE_CHECKING:
    import aa
else:
    import bb
if typing.TYPE_CHECKING: import cc
def f():
    from dd import ee
    with x:
        async def g():
            import ff
    return from_w or important
"from prose we import nothing that"
"""


def test_every_import_is_found():
    found = {(*place, name, runs) for *place, name, runs in code_digest._parsed(STYLES.encode())["imports"]}
    always = [(0, name, None) for name in ["a", "b", "b.c", "s", "t", "u", "v", "w", "y", "z", "bb"]]
    always += [(0, "k", "m"), (0, "p", "q"), (0, "p", "r"), (1, "", "e"), (2, "f.g", "h"), (2, "f.g", "j")]
    later = [(0, "aa", None), (0, "cc", None), (0, "dd", "ee"), (0, "ff", None)]
    assert found == {(*one, True) for one in always} | {(*one, False) for one in later}
    assert code_digest._parsed(b"import a\nno python")["imports"] == []


COMMENTED = '''\
#!/usr/bin/env python
"""Ä module,
# with no comment
in it."""  # a comment

import a  # one

# alone

class C:
    'of a class'
    x = "# no comment", (
        # in brackets

        1)

    async def f(self): "short"  # ä

    def g(self):
        """of a
        function"""; return \'\'\'a text

# in it\'\'\', f"""one
{self.x

}"""
'''
BARE = '''\
import a
class C:
    x = "# no comment", (
        1)
    async def f(self):{space}
    def g(self):
        ; return \'\'\'a text

# in it\'\'\', f"""one
{self.x

}"""'''.replace("{space}", " ")


def test_comments_docstrings_and_blank_lines_do_not_count():
    """The bare form, and so the digest, is the same on every Python."""
    digest = code_digest.code_of(COMMENTED.encode())
    assert digest == hashlib.sha256(BARE.encode()).hexdigest()
    other = COMMENTED.replace("a comment", "another").replace("Ä module", "It").replace("        # in brackets\n", "")
    assert code_digest.code_of(other.replace("\n", "\r\n").encode()) == digest
    for old, new in [('"# no comment"', '"# none"'), ("\n\n# in it", "\n# in it"), ("self.x\n\n", "self.x\n"), ("1)", "2)")]:
        assert code_digest.code_of(COMMENTED.replace(old, new).encode()) != digest


def test_imports_of_known_sources_are_not_looked_for_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parsed, parse = [], code_digest._parsed
    monkeypatch.setattr(code_digest, "_parsed", lambda source: parsed.append(source) or parse(source))
    for damage in (None, b"{", b"[]"):
        if damage:
            next((tmp_path / "fwexp" / "imports").iterdir()).write_bytes(damage)
        wanted, before = None, len(parsed)
        for _ in range(2):
            monkeypatch.setattr(code_digest, "_known", cache(code_digest._known.__wrapped__))
            code_digest.imports.cache_clear()
            found = code_digest.closure(["fwexp.solvers.ssg"], deferred=True)
            assert wanted in (None, found)
            wanted = found
        assert len(parsed) == before + len({code_digest._source(module) for module in found})
    code_digest.imports.cache_clear()


def test_stale_runs_are_in_the_results_and_are_marked_there(tmp_path, config, make_result, edit):
    for result, made in ((make_result(), config), (make_result(seed=1), configured("ssg", seed=1))):
        store.save(result, made, tmp_path, made_by=staleness.made_by(catalogues.modules(made)))
    edit("fwexp.solvers.ssg")
    frame = store.load_results(tmp_path)
    assert dict(frame.groupby("solver")["stale"].all()) == {"bcfw": False, "ssg": True}
    assert set(store.load_results(tmp_path, stale=True)["solver"]) == {"ssg"}
    assert frame.groupby("solver")["sources"].nunique().to_list() == [1, 1]
    assert frame["created"].str.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00").all()
    assert set(frame["max_passes"]) == {50.0}
    assert set(frame["gap_tol"]) == {1e-3}
    run = store.find_runs(tmp_path, solver="bcfw")[0]
    assert not run.stale
    records.write(run.path / "run.json", {name: value for name, value in run.record.items() if name != "sources"})
    run = store.read_run(run.path)  # which does not say what made it
    assert (run.status, run.sources, run.stale) == ("max_passes", None, True)


@pytest.mark.slow
@pytest.mark.compiled
def test_an_edited_solver_is_noticed_and_its_runs_are_redone_on_request(tmp_path, monkeypatch, capsys, edit):
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        assert main(list(argv)) == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    quick = ("run", "-m", "max_passes=0.1", "solver=bcfw,ssg", "seed=0,1")
    call(*quick)
    assert "stale" not in call("ls")[0]
    edit("fwexp.solvers.ssg")
    assert call(*quick)[1] == "4 runs: 4 stored (2 of them by another version of the code; force=stale redoes those), 0 to run\n"
    single = ("run", "max_passes=0.1", "solver=ssg", "seed=1")
    assert call(*single)[1] == "stored already, but made by another version of the code; force=stale runs it again\n"
    rows = [line.split() for line in call("ls")[0].splitlines()]
    assert [(row[1], row[-1]) for row in rows[1:]] == [("bcfw", "-")] * 2 + [("ssg", "stale")] * 2
    assert len(call("ls", "--stale", "seed=0")[0].splitlines()) == 2
    assert "stored" not in call(*single, "force=stale")[1]
    assert call(*single, "force=stale")[1] == "stored already\n"
    errors = call(*quick, "force=stale")[1].splitlines()
    assert errors[0] == "4 runs: 3 stored, 1 to run (1 of them again, which another version of the code made)"
    assert errors[1].startswith("[1/1] digits ssg lam=0.01 seed=0: ")
    assert call("ls", "--stale")[0] == "no runs in results/ match\n"
    assert call(*quick)[1] == "4 runs: 4 stored, 0 to run\n"

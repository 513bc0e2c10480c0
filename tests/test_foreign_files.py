"""No command removes or overwrites what fwexp did not write: foreign files and links are planted before each of them.

A command that is new has to be added here, and so has a module that removes or replaces files.
"""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import growth, history, rule, scale
from benchmarks.peers import compare
from fwexp import store
from fwexp.cli import COMMANDS, main
from fwexp.data.dataset import DataFile
from fwexp.data.fetch import fetch
from fwexp.errors import exit_code
from fwexp.run.config import canonical
from fwexp.store import paths
from tests.small_problems import run_in_plain_python
from tools import publish, release

ROOT = Path(__file__).resolve().parents[1]
RUN = {"dataset": {"name": "digits"}, "solver": {"name": "ssg"}, "lam": 0.1, "max_passes": 1}
ARGUMENTS = ["run", "solver=ssg", "dataset=digits", "lam=0.1", "max_passes=1", "force=true"]
MINE = b"mine\n"


def snapshot(folder):
    """All below a folder: the bytes of files, the targets of links, other kinds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else path.lstat().st_mode
        found[path.relative_to(folder).as_posix()] = kind
    return found


def mine(folder, *places):
    """Plant files, and a link to another one that must not be written to."""
    for place in places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(MINE)


def link(folder, place):
    mine(folder, "elsewhere/" + Path(place).name)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).symlink_to(folder / "elsewhere" / Path(place).name)


def linked_folder(folder, place, name):
    mine(folder, f"elsewhere/{name}")
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).symlink_to(folder / "elsewhere")


# Those that reject what is in their way: what is planted in the folder of results, one at a time, and the command.
REJECTS = {
    "figure": (
        ["figure", "quickstart", "--preset", "smoke"],
        [
            lambda f: mine(f, "figures/quickstart-smoke.csv"),
            lambda f: link(f, "figures/quickstart-smoke.png"),
            lambda f: linked_folder(f, "figures", "quickstart-smoke.png"),
            lambda f: mine(f, "figures/.fwexp"),
        ],
    ),
    "claims": (
        ["claims", "L-3"],
        [
            lambda f: mine(f, "claims/lecture.json"),
            lambda f: mine(f, "claims"),
        ],
    ),
    "report": (
        ["report"],
        [
            lambda f: mine(f, "report/thesis.tex"),
            lambda f: link(f, "report/index.html"),
            lambda f: mine(f, "claims/lecture.json"),
        ],
    ),
    "reproduce": (
        ["reproduce", "--preset", "smoke"],
        [lambda f: mine(f, "claims/lecture-smoke.json")],
    ),
    "compare": (
        ["compare", "bcfw", "ssg"],
        [
            lambda f: mine(f, "figures/compare/bcfw-ssg.png"),
        ],
    ),
}
# Those that write nothing, or only what their own tests here look at.
READS = {
    "ls": ["ls", "results_dir={}"],
    "solvers": ["solvers"],
    "options": ["options", "ocr"],
    "data": ["data", "list"],
}
SEPARATE = {
    "run": "test_runs_keep_what_is_in_their_way",
    "select": "test_runs_keep_what_is_in_their_way",  # it writes runs alone
    "tag": "test_tag_replaces_the_file_that_is_named_and_no_other",
    "doctor": "test_modules_that_remove_or_replace_files_are_known",
}


def test_every_command_is_tried():
    assert {*REJECTS, *READS, *SEPARATE} == set(COMMANDS)


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, (_, plants) in REJECTS.items() for number in range(len(plants))]
)
def test_commands_reject_what_they_did_not_write(name, number, tmp_path, capsys):
    arguments, plants = REJECTS[name]
    (tmp_path / "R").mkdir()
    plants[number](tmp_path / "R")
    before = snapshot(tmp_path)
    assert main([*(argument.format(tmp_path / "R") for argument in arguments), f"results_dir={tmp_path}/R"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fwexp: ")
    assert str(tmp_path / "R") in line
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", READS)
def test_commands_that_read_change_nothing(name, tmp_path, capsys):
    mine(tmp_path, "R/runs/notes.txt", "R/runs/digits/ssg/notes.txt", "R/report/thesis.tex")
    link(tmp_path, "R/runs/link")
    before = snapshot(tmp_path)
    assert main([argument.format(tmp_path / "R") for argument in READS[name]]) == 0
    assert snapshot(tmp_path) == before


def test_a_report_is_written_through_a_link_and_again(tmp_path, monkeypatch):
    """People keep results on another disk."""
    monkeypatch.setattr("fwexp.papers.report.build.all_claims", dict)
    monkeypatch.setattr("plotly.offline.get_plotlyjs", str)
    (tmp_path / "disk" / "report").mkdir(parents=True)
    mine(tmp_path, "disk/thesis.tex")
    (tmp_path / "R").symlink_to("disk")
    for _ in range(2):
        assert main(["report", f"results_dir={tmp_path}/R"]) == 0
        (tmp_path / "disk" / "report").rename(tmp_path / "there") if not (tmp_path / "there").exists() else None
        if not (tmp_path / "disk" / "report").exists():
            (tmp_path / "disk" / "report").symlink_to(tmp_path / "there")
    assert (tmp_path / "disk" / "report").is_symlink()
    assert (tmp_path / "there" / "index.html").is_file()
    assert (tmp_path / "disk" / "thesis.tex").read_bytes() == MINE


@pytest.mark.parametrize("is_link", [False, True])
def test_tag_replaces_the_file_that_is_named_and_no_other(is_link, tmp_path, monkeypatch):
    """As `Result.save` does; a link stays, and the file that it names is replaced."""
    run_in_plain_python(monkeypatch)
    mine(tmp_path, "R/m.npz.old", "R/thesis.tex", "R/.m.npz.tmp")
    (link if is_link else mine)(tmp_path, "R/m.npz")
    (tmp_path / "train.txt").write_text("the D\ndog N\n")
    before = snapshot(tmp_path)
    arguments = ["tag", str(tmp_path / "train.txt")]
    assert main([*arguments, "--save", str(tmp_path / "R")]) == 2
    assert main([*arguments, "--save", str(tmp_path / "train.txt")]) == 2
    assert main([*arguments, "--save", str(tmp_path / "R/m.npz"), "lam=0"]) == 2
    assert snapshot(tmp_path) == before
    assert main([*arguments, "--save", str(tmp_path / "R/m.npz")]) == 0
    changed = {name for name, content in snapshot(tmp_path).items() if before.get(name) != content}
    assert changed == {"elsewhere/m.npz" if is_link else "R/m.npz"}


RUNS = {
    "a link to a folder": lambda f, final: linked_folder(f, final, "model.npz"),
    "a file": lambda f, final: mine(f, final),
    "a record": lambda f, final: mine(f, final / "run.json"),
    "notes": lambda f, final: mine(f, final / "notes.txt", final / ".config.yaml.0123456789ab"),
    "a link to a file": lambda f, final: link(f, final / "config.yaml"),
    "a checkpoint": lambda f, final: mine(f, paths.checkpoint_path(final)),
    "a checkpoint that is a link": lambda f, final: link(f, paths.checkpoint_path(final)),
    "a failure": lambda f, final: mine(f, paths.failure_path(final)),
    "neighbours": lambda f, final: mine(f, final.with_name("thesis.tex"), f / "R/runs/notes.txt", f / "R/.sweep"),
}


@pytest.mark.parametrize("plant", RUNS.values(), ids=RUNS)
def test_runs_keep_what_is_in_their_way(plant, tmp_path, capsys):
    final = store.run_dir(tmp_path / "R", canonical(RUN))
    plant(tmp_path, final)
    before = snapshot(tmp_path)
    assert main([*ARGUMENTS, "checkpoint=1e-9", f"results_dir={tmp_path}/R"]) == 0
    said = capsys.readouterr().err
    assert "failed" not in said
    store.tidy(tmp_path / "R")
    assert store.is_stored(tmp_path / "R", canonical(RUN))
    after = snapshot(tmp_path)
    for place, content in before.items():
        names = (place, *(re.sub(r"([^/]+)$", rf"\1.old{number}", place) for number in ("", 1)))
        moved = (place.replace(f"{final.name}/", f"{final.name}.old/", 1),)
        assert content in [after.get(name) for name in (*names, *moved)], place
        assert after.get(place) == content or f"{place} is not as fwexp wrote it" in said or isinstance(content, int)


def test_downloads_keep_every_older_file(tmp_path, monkeypatch):
    content = b"1 1:2\n"
    monkeypatch.setattr("fwexp.data.fetch._download", lambda url, path, most, progress: path.write_bytes(content))
    file = DataFile("data.txt", url="http://there/data.txt", check=lambda path: "")
    mine(tmp_path, "D/data.txt.old")
    for number in range(2):
        (tmp_path / "D" / "data.txt").write_bytes(b"damaged %d" % number)
        fetch(file, tmp_path / "D")
    assert {path.name: path.read_bytes() for path in (tmp_path / "D").iterdir()} == {
        "data.txt": content,
        "data.txt.old": MINE,
        "data.txt.old1": b"damaged 0",
        "data.txt.old2": b"damaged 1",
    }


# -- targets of make


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def built(tmp_path, monkeypatch):
    build = module(ROOT / "docs" / "build.py")
    monkeypatch.setattr(build, "DOCS", tmp_path)
    return build.build([])


def recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["svm", "--record"])
    monkeypatch.setattr(history, "FILE", tmp_path / "history.csv")
    from benchmarks import svm

    return svm.main()


def measured(module, **files):
    def act(tmp_path, monkeypatch):
        for name, file in files.items():
            monkeypatch.setattr(module, name, tmp_path / file)
        monkeypatch.setattr(sys, "argv", ["bench"])
        return module.main()

    return act


# By what the Makefile starts: the file that is in the way, and what is to reject it.
TARGETS = {
    "docs/build.py": ("_build/html/thesis.html", built),
    "benchmarks.svm": ("history.csv", recorded),
    "benchmarks.growth": ("growth.csv", measured(growth, TABLE="growth.csv")),
    "benchmarks.rule": ("rule.csv", measured(rule, TABLE="rule.csv")),
    "benchmarks.scale": ("scale.png", measured(scale, TABLE="scale.csv", COSTS="costs.csv")),
    "tools.publish": (
        "published/thesis.tex",
        lambda tmp_path, _: publish.main([f"results_dir={tmp_path}/R", f"published={tmp_path}/published"]),
    ),
    "benchmarks.peers.compare": (
        "R/peers/dlib.md",
        lambda tmp_path, _: compare.main(["--only", "dlib", f"results_dir={tmp_path}/R"]),
    ),
}
# Outside of folders for temporary files.
BENCHMARKS = ("few", "log_loss", "unseen", "peers.calls", "peers.tagger", "peers.serving")
WRITES_NOTHING = {*(f"benchmarks.{name}" for name in BENCHMARKS), "pytest", "tests.faults"}
BY_MAKE = {"pip", "venv", "fwexp.files.owned"}  # see the tests of make below
OF_GIT = {"tools.lock", "tools.redraw"}  # write files that git keeps, by their names
NEW = {"tools.release"}  # writes a folder that must not exist


def test_every_target_is_tried():
    text = (ROOT / "Makefile").read_text()
    started = {*re.findall(r"-m ([\w.]+)", text), *re.findall(r"\$\(BIN\)/python (\S+\.py)", text)}
    assert started == {*TARGETS, *WRITES_NOTHING, *BY_MAKE, *OF_GIT, *NEW}


def test_a_release_is_made_in_a_new_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(release, "_output", lambda *command: "")
    assert release.main() == 2
    assert (
        capsys.readouterr().err
        == f"release: {tmp_path} must not exist, because all that it holds would be uploaded; move it away\n"
    )


@pytest.mark.parametrize("name", TARGETS)
def test_targets_reject_what_they_did_not_write(name, tmp_path, monkeypatch, capsys):
    place, act = TARGETS[name]
    mine(tmp_path, place)
    before = snapshot(tmp_path)
    assert exit_code("name", lambda: act(tmp_path, monkeypatch)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(
        r"name: .* must be a .* that fwexp wrote, got a|name: .* must be a table with the columns .*, got another", line
    )
    assert snapshot(tmp_path) == before


def test_generated_pages_replace_only_themselves(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")  # its modules import each other
    generate = module(ROOT / "docs" / "generate.py")
    (tmp_path / "docs").mkdir()
    # What is written is tested in tests/texts, and takes long.
    monkeypatch.setattr(generate, "write", lambda source, folder: (folder / "page.md").write_text("A page.\n"))
    generate.pages(tmp_path / "docs")
    generate.pages(tmp_path / "docs")
    mine(tmp_path, "docs/generated/thesis.md")
    before = snapshot(tmp_path)
    assert exit_code("name", lambda: generate.pages(tmp_path / "docs")) == 2
    assert snapshot(tmp_path) == before


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout as far as make looks at it."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for place in ("pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        (tmp_path / place).touch()
    for place in ("conf", "docs", "experiments", "plots", "tests"):
        (tmp_path / place).mkdir()
    shutil.copytree(ROOT / "fwexp" / "files", tmp_path / "fwexp" / "files", ignore=shutil.ignore_patterns("__pycache__"))
    for place in ("fwexp/__init__.py", "fwexp/errors.py"):
        shutil.copy(ROOT / place, tmp_path / place)
    return tmp_path


def make(checkout, *arguments):
    command = ["make", "-C", str(checkout), f"PYTHON={sys.executable}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""}, timeout=600, check=False)


def test_make_clean_removes_only_what_make_created(checkout):
    ours = [".venv-3.12/.made-by-make", ".venv-3.12/bin/python", ".ruff_cache/CACHEDIR.TAG", "fwexp/__pycache__/cli.pyc"]
    mine(checkout, *ours)
    theirs = [
        *(
            f"{folder}/thesis.tex"
            for folder in (".venv", ".venv-foo", "build", "dist", "mine.egg-info", ".pytest_cache", "docs/_build")
        ),
        "tests/__pycache__/thesis.tex",
        "elsewhere/.made-by-make",
    ]
    mine(checkout, *theirs)
    (checkout / ".venv-link").symlink_to("elsewhere")
    before = snapshot(checkout)
    done = make(checkout, "clean")
    assert done.returncode == 0, done.stderr
    assert "kept .venv-foo, which has no mark of make; remove it yourself\n" in done.stdout
    gone = {place for place in before if place not in snapshot(checkout)}
    assert {place for place in gone if Path(place).parts[0] not in (".venv-3.12", ".ruff_cache")} == {"fwexp/__pycache__", ours[-1]}
    assert {place: snapshot(checkout).get(place) for place in theirs} == dict.fromkeys(theirs, MINE)


def test_make_clean_rejects_pages_that_are_not_ours(checkout):
    mine(checkout, "docs/generated/thesis.md", ".venv-3.12/.made-by-make")
    before = snapshot(checkout)
    done = make(checkout, "clean")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(
        "make clean: docs/generated must be a folder that fwexp wrote, got another one with thesis.md and no mark"
    )
    assert snapshot(checkout) == before


def test_make_clean_needs_a_python_only_where_there_are_pages(checkout):
    assert make(checkout, "clean", "PYTHON=").returncode == 0
    mine(checkout, "docs/generated/page.md")
    done = make(checkout, "clean", "PYTHON=false")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "make clean needs a Python with psutil to remove docs/generated, got false; say make venv, or remove them yourself",
    )


@pytest.mark.parametrize("is_link", [False, True])
def test_make_installs_into_no_folder_of_somebody_else(checkout, is_link):
    mine(checkout, "there/thesis.tex")
    (checkout / "link").symlink_to("there")
    before = snapshot(checkout)
    done = make(checkout, "venv", f"VENV={'link' if is_link else 'there'}")
    assert done.returncode == 2
    assert "VENV must be a folder that make creates, got " in done.stderr
    assert snapshot(checkout) == before


# -- the sources

# Modules that remove or replace files: through `fwexp.files`, or only what they made in the same call.
CHANGES = {
    "fwexp/files/atomic.py": "the mechanism",
    "fwexp/files/owned.py": "the mechanism",
    "fwexp/driver/checkpoint.py": "checkpoints, by their first array",
    "fwexp/files/locks.py": "claims, by their names, which are regular files",
    "fwexp/files/folders.py": "empty folders that it made",
    "fwexp/store/commit.py": "files of runs, by the checksums in their record",
    "fwexp/store/run_store.py": "records of failures, by their checksum",
    "fwexp/cli.py": "opens the null device",
    "fwexp/run/sweep_folder.py": "the folder of a sweep, made in the same call; empty folders",
    "fwexp/run/execution.py": "notes of runs that began, by their names",
    "fwexp/run/runner.py": "notes of runs that began, by their names",
    "fwexp/data/fetch.py": "the folder of a download, made in the same call; the rest is set aside",
    "fwexp/data/digits.py": "the data set in the package, when it is drawn again",
    "fwexp/data/alignment/eflomal.py": "in a temporary folder",
    "fwexp/jit/disk_cache.py": "files of the user's cache, by name and kind",
    "benchmarks/peers/generated_texts.py": "in a temporary folder",
    "fwexp/papers/report/build.py": "in the new folder of `replacing_folder`",
    "tools/publish.py": "in the new folder of `replacing_folder`",
    "benchmarks/history.py": "appends to a table whose columns are checked",
    "benchmarks/yardstick.py": "in a temporary folder",
    "docs/conf.py": "in the new folder of `replacing_folder`",
    "docs/generate.py": "in the new folder of `replacing_folder`",
    "docs/command_pages.py": "in the folder that docs/generate.py passes, which is new",
    "docs/figure_pages.py": "in the folder that docs/generate.py passes, which is new",
    "docs/pictures.py": "in the folder that docs/generate.py passes, which is new",
    "docs/reference.py": "in the folder that docs/generate.py passes, which is new",
}
METHODS = re.compile("unlink|rmdir|rename|write_text|write_bytes|rmtree|copytree|copyfile|move|touch|savez_compressed")


def changes_files(call: ast.Call) -> bool:
    """Say whether a call may remove or write a file: by its name, or the mode of ``open``."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    texts += [word.value.value for word in call.keywords if word.arg == "mode" and isinstance(word.value, ast.Constant)]
    if name == "open":
        return any(re.fullmatch(r"[rwaxbt+]*[wax+][rwaxbt+]*", text) for text in texts) or ast.unparse(call.func) == "os.open"
    if name == "rename":  # columns of tables are renamed by a keyword
        return bool(call.args)
    if name == "replace":  # that of text has two arguments
        return len(call.args) == 1 and not call.keywords
    if name in ("to_csv", "savefig"):
        return bool(call.args) and not isinstance(call.args[0], ast.Name)
    return METHODS.fullmatch(name) is not None


def test_modules_that_remove_or_replace_files_are_known():
    sources = [path for folder in ("fwexp", "plots", "experiments", "docs", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    found = set()
    for path in sources:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names_files = re.search(r"^ *(import (os|shutil)|from pathlib)\b", path.read_text(), re.MULTILINE)
        if names_files and any(map(changes_files, calls)):
            found.add(path.relative_to(ROOT).as_posix())
    assert found <= set(CHANGES)
    assert len(found) > 10

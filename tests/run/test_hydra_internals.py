"""What fwexp uses of Hydra's insides: this Hydra has it, and without it the public API composes and runs the same."""

import argparse
import re
import subprocess
import sys

import pytest
import submitit
from hydra.core.config_store import ConfigStore

from fwexp import internals
from fwexp.cli import main
from fwexp.run import hydra_internals, launching, sweep
from fwexp.run.config import LAUNCHERS
from fwexp.run.hydra_internals import USED
from tests.pages import ROOT

SETTINGS = ["+experiment=quickstart", "solver=bcfw,fw", "hydra.sweeper.preset=smoke"]


def test_this_hydra_has_all():
    assert internals.missing(USED) == ()


@pytest.mark.parametrize("name", USED)
def test_a_name_that_vanishes_is_missed(name):
    owner, _, attribute = name.rpartition(".")
    gone = (f"{owner}.no_{attribute}", f"{owner}_gone.{attribute}")
    assert internals.missing([gone[0], name, gone[1]]) == gone


def test_private_parts_are_used_where_they_are_listed():
    """Names in data, of Hydra's own launcher, are those that this Hydra has."""
    listed = {name.split(".")[2] for name in USED}
    for path in (ROOT / "fwexp").rglob("*.py"):
        text = path.read_text().replace(LAUNCHERS["basic"], "")
        assert not re.search(r"omegaconf\._|\.(_is_interpolation|_get_node|_iter_ex|items_ex|_value\(\))", text), path
        assert set(re.findall(r"hydra\._internal\.(\w+)", text)) <= listed, path
    sweep.register()
    for name, target in LAUNCHERS.items():
        assert ConfigStore.instance().load(f"hydra/launcher/{name}.yaml").node["_target_"] == target


def test_without_a_method_of_submitit_its_launcher_is_as_it_is(monkeypatch):
    results = submitit.Job.results
    with launching._patience():
        assert submitit.Job.results is not results
    assert submitit.Job.results is results
    monkeypatch.delattr(submitit.Job, "results")
    with launching._patience():
        assert not hasattr(submitit.Job, "results")


def command(*arguments, gone=""):
    code = f"{gone}\nimport sys\nfrom fwexp.cli import main\nsys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "run", *arguments], capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


# Hydra looks the parser up when its application starts; ours is not the one that is looked up here.
GONE = "import hydra.main, hydra._internal.utils as utils; del utils.get_args_parser"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--cfg", "job", "solver=bcfw", "solver.sampling=gap"], 0),
        (["-m", "dataset=digits", "solver=bcfw", "max_passes=0.1,0.2", "results_dir={tmp}"], 0),
        (["lam=0.1", "--cfg", "job", "solver=wrong"], 2),
        (["hydra.callbacks.x=1", "lam=0.1"], 2),
        (["+hydra.callbacks.x={_target_: builtins.open}"], 2),
    ],
)
def test_without_a_name_commands_do_the_same(tmp_path, arguments, code):
    found, wanted = (
        command(*(word.format(tmp=tmp_path / name) if "{tmp}" in word else word for word in arguments), gone=gone)
        for name, gone in (("public", GONE), ("private", ""))
    )
    assert found[0] == wanted[0] == code, found
    assert [re.sub(r"\d+\.?\d*(e-?\d+)? s\b", "", text).replace("/public", "/private") for text in found[1:]] == [
        re.sub(r"\d+\.?\d*(e-?\d+)? s\b", "", text) for text in wanted[1:]
    ]


def test_without_a_name_configurations_are_the_same(monkeypatch):
    wanted = sweep.expand(SETTINGS)
    monkeypatch.setattr(hydra_internals, "are_available", lambda: False)
    assert sweep.expand(SETTINGS) == wanted


def test_the_parser_of_hydra_is_made_where_help_must_be_text(monkeypatch, capsys):
    """As argparse of Python 3.14 wants it; the help of a flag of Hydra below 1.4 is an object."""
    add = argparse._ActionsContainer.add_argument

    def check_help(self, action) -> None:
        if not isinstance(action.help, str | None):
            raise ValueError("badly formed help string")

    def add_checked(self, *names, **settings):
        action = add(self, *names, **settings)
        self._check_help(action)
        return action

    monkeypatch.setattr(argparse._ActionsContainer, "_check_help", check_help, raising=False)
    monkeypatch.setattr(argparse._ActionsContainer, "add_argument", add_checked)
    assert main(["run", "--cfg", "job", "lam=0.25"]) == 0
    assert "lam: 0.25" in capsys.readouterr().out
    monkeypatch.setenv("COMP_LINE", "fwexp run dataset=digi")
    assert main(["run", "-sc", "query=bash"]) == 0
    assert capsys.readouterr().out.split() == ["dataset=digits"]
    assert "_check_help" not in vars(argparse.ArgumentParser)

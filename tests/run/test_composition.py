"""Configurations are composed where that is needed, and compositions do not see what others made of them."""

import argparse

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from fwexp.cli import main
from fwexp.errors import OptionError
from fwexp.run import from_arguments
from fwexp.run.composition import BASE, Composition, composing
from fwexp.run.from_arguments import expand


@pytest.mark.parametrize("name", ["icml2013/fig1", "review/fig2"])
def test_an_experiment_of_one_task_is_composed_once(monkeypatch, name):
    composed, usual = [], Composition.compose

    def counted(self, overrides):
        composed.append(overrides)
        return usual(self, overrides)

    monkeypatch.setattr(Composition, "compose", counted)
    assert expand([f"+experiment={name}"])
    assert len(composed) == 1


def test_what_is_done_to_one_composition_is_not_seen_by_the_next():
    with composing() as composition:
        first = composition.compose(["+experiment=quickstart"])
        as_it_was = OmegaConf.to_container(first, resolve=False)
        first.lam, first.hydra.sweeper.grids[0].lam, first.dataset.name = 7.0, [1], "ocr"
        again = OmegaConf.to_container(composition.compose(["+experiment=quickstart"]), resolve=False)
        other = composition.compose(["+experiment=quickstart", "solver=ssg", "lam=0.5"])
    assert again == as_it_was
    assert (other.solver.name, other.lam) == ("ssg", 0.5)


def test_a_folder_of_an_argument_is_read_and_must_be_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "solver").mkdir(parents=True)
    (tmp_path / "mine" / "solver" / "own.yaml").write_text("name: bcfw\nsampling: perm\n")
    chosen = ["run", "--config-dir", "mine", "solver=own", "max_passes=0.1"]
    assert main(chosen) == 0
    assert main([*chosen, "--cfg", "job"]) == 0
    assert "sampling: perm" in capsys.readouterr().out
    assert main(["run", "-cd", "nothing"]) == 2
    assert capsys.readouterr().err == "fwexp: --config-dir must be a folder, got 'nothing'\n"
    assert main(chosen[:1] + chosen[3:]) == 2


def test_a_program_of_hydra_has_its_own_hydra_afterwards(tmp_path):
    """As in a function with ``@hydra.main``, which starts Hydra in the same way."""
    (tmp_path / "config.yaml").write_text("mine: 1\n")
    with initialize_config_dir(str(tmp_path), **BASE):
        own = GlobalHydra.instance().hydra
        configs = expand(["solver=fw", "lam=0.1,1", "max_passes=0.1", "gap_tol=0"])
        assert [config["lam"] for config in configs] == [0.1, 1.0]
        from_arguments.execute(configs[:1], results_dir=tmp_path / "results")
        with pytest.raises(OptionError, match="unknown key 'lamb'"):
            expand(["lamb=1"])
        with pytest.raises(OptionError, match=r"unknown key 'hydra\.lancher'"), composing() as composition:
            composition.compose(["hydra.lancher=x"])
        assert GlobalHydra.instance().hydra is own
        assert compose("config") == {"mine": 1}
    assert not GlobalHydra.instance().is_initialized()


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


def test_hydras_own_name_for_the_product_is_accepted(tmp_path, capsys):
    words = ["run", "-m", "solver=bcfw", "lam=1,2", "max_passes=0.1", f"results_dir={tmp_path}"]
    assert main([*words, "hydra/sweeper=basic"]) == 0
    assert main(words) == 0
    assert "2 runs: 2 stored, 0 to run" in capsys.readouterr().err

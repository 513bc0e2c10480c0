"""Configurations that are read once: compositions do not see what others made of them."""

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import OmegaConf

from fwexp.errors import OptionError
from fwexp.run import sweep
from fwexp.run.hydra_loader import Loader
from fwexp.run.sweep import expand, hydra_loader


def composed(loader, *overrides):
    return loader.load_configuration("config", list(overrides), run_mode=RunMode.MULTIRUN)


def test_a_file_is_read_once(monkeypatch):
    read, load_config = [], ConfigRepository.load_config

    def counted(self, config_path):
        read.append(config_path)
        return load_config(self, config_path)

    monkeypatch.setattr(ConfigRepository, "load_config", counted)
    with hydra_loader() as loader:
        for solver in ("bcfw", "fw", "bcfw"):
            composed(loader, f"solver={solver}", "+experiment=quickstart")
    assert "experiment/quickstart" in read
    assert len(read) == len(set(read))


def test_what_hydra_says_of_itself_is_merged_once(monkeypatch):
    loaded, load_single = [], ConfigLoaderImpl._load_single_config

    def counted(self, default, repo):
        loaded.append(default.config_path)
        return load_single(self, default, repo)

    monkeypatch.setattr(ConfigLoaderImpl, "_load_single_config", counted)
    with hydra_loader() as loader:
        launchers = [composed(loader, *words).hydra.launcher for words in ([], ["lam=1"], ["hydra/launcher=joblib"], [])]
    assert (loaded.count("hydra/config"), loaded.count("config")) == (2, 4)
    assert [launcher._target_.rpartition(".")[2] for launcher in launchers] == [
        "BasicLauncher", "BasicLauncher", "JoblibLauncher", "BasicLauncher",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["icml2013/fig1", "icml2016/fig3", "review/fig1", "review/fig2", "review/fig3", "review/fig4"])
def test_an_experiment_of_one_task_is_composed_once(monkeypatch, name):
    composed, load_configuration = [], Loader.load_configuration

    def counted(self, *arguments, **options):
        composed.append(arguments)
        return load_configuration(self, *arguments, **options)

    monkeypatch.setattr(Loader, "load_configuration", counted)
    assert expand([f"+experiment={name}"])
    assert len(composed) == 1


def test_what_is_done_to_one_composition_is_not_seen_by_the_next():
    with hydra_loader() as loader:
        first = composed(loader, "+experiment=quickstart")
        as_it_was = OmegaConf.to_container(first, resolve=False)
        first.lam, first.hydra.sweeper.grids[0].lam, first.dataset.name = 7.0, [1], "ocr"
        again = OmegaConf.to_container(composed(loader, "+experiment=quickstart"), resolve=False)
        other = composed(loader, "+experiment=quickstart", "solver=ssg", "lam=0.5")
    assert again == as_it_was
    assert (other.solver.name, other.lam) == ("ssg", 0.5)
    with hydra_loader() as loader:
        assert OmegaConf.to_container(composed(loader, "+experiment=quickstart"), resolve=False) == as_it_was


def test_folders_of_one_composition_are_not_those_of_the_next(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nlam: 0.25\n")
    there = f"hydra.searchpath=[file://{tmp_path}]"
    with hydra_loader() as loader:
        with pytest.raises(ConfigCompositionException):
            composed(loader, "+experiment=mine")
        assert composed(loader, there, "+experiment=mine").lam == 0.25
        with pytest.raises(ConfigCompositionException):
            composed(loader, "+experiment=mine")


def test_a_program_of_hydra_has_its_own_hydra_afterwards(tmp_path):
    """As in a function with ``@hydra.main``, which starts Hydra in the same way."""
    (tmp_path / "config.yaml").write_text("mine: 1\n")
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        own = GlobalHydra.instance().hydra
        configs = expand(["solver=fw", "lam=0.1,1", "max_passes=0.1", "gap_tol=0"])
        assert [config["lam"] for config in configs] == [0.1, 1.0]
        sweep.execute(configs[:1], results_dir=tmp_path / "results")
        with pytest.raises(OptionError, match="unknown key 'lamb'"):
            expand(["lamb=1"])
        with pytest.raises(OptionError, match=r"unknown key 'hydra\.lancher'"), hydra_loader() as loader:
            composed(loader, "hydra.lancher=x")
        assert GlobalHydra.instance().hydra is own
        assert compose("config") == {"mine": 1}
    assert not GlobalHydra.instance().is_initialized()


def test_what_hydra_says_of_itself_is_of_the_folder_that_is_chosen(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "hydra" / "help").mkdir(parents=True)
        (tmp_path / name / "hydra" / "help" / "mine.yaml").write_text(f"footer: {name}\n")
    with hydra_loader() as loader:
        for name in ("one", "two", "one"):
            chosen = composed(loader, f"hydra.searchpath=[file://{tmp_path / name}]", "hydra/help=mine")
            assert chosen.hydra.help.footer == name

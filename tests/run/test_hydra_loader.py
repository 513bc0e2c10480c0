"""Configurations that are read once: compositions do not see what others made of them."""

import pytest
from hydra._internal.config_repository import ConfigRepository
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import OmegaConf

from fwexp.run.sweep import hydra_loader


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

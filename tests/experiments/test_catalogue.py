import itertools
import subprocess
import sys

import pytest

from fwexp.config import conf_dir
from fwexp.errors import ParameterError
from fwexp.experiments import FIGURES
from fwexp.run import sweep

PRESETS = conf_dir() / "experiment"


def test_every_figure_has_a_preset_and_every_preset_a_figure():
    presets = {path.relative_to(PRESETS).with_suffix("").as_posix() for path in PRESETS.rglob("*.yaml")}
    assert presets == {figure.preset for figure in FIGURES.values()}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_know_their_names(name):
    assert FIGURES[name].name == name
    assert FIGURES[name].title


def test_an_unknown_figure_is_one_line_that_names_the_known_ones():
    with pytest.raises(ParameterError, match=r"^unknown figure 'icml2013/fig9'; accepted: icml2013/fig1, .*quickstart"):
        FIGURES.find("icml2013/fig9")
    assert "icml2013/fig9" not in FIGURES


def test_the_names_cost_no_heavy_import():
    code = "import sys, fwexp.experiments as e; list(e.FIGURES); print(*{'pandas', 'numba', 'hydra'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("path", sorted(PRESETS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_preset_fits_on_a_screen(path):
    assert len(path.read_text().splitlines()) <= 45


# (figure, data set, lams, seeds of a random method, passes)
EXPECTED = [
    ("quickstart", "digits", {0.1, 0.01, "1/n"}, 3, 50),
    ("icml2013/fig1", "ocr", {0.01, 0.001, "1/n"}, 10, 130),
]


@pytest.mark.parametrize(("name", "dataset", "lams", "seeds", "passes"), EXPECTED)
def test_a_preset_names_the_runs_of_its_figure(name, dataset, lams, seeds, passes):
    configs = sweep.expand([f"+experiment={FIGURES[name].preset}"])
    reference = [config for config in configs if config["solver"].get("accelerate")]
    drawn = [config for config in configs if config not in reference]
    assert {config["dataset"]["name"] for config in configs} == {dataset}
    assert len(reference) == len(lams)
    assert {config["lam"] for config in reference} == lams
    assert all(config["max_passes"] > 3 * passes for config in reference)
    assert {(c["max_passes"], c["gap_tol"], c["schedule"]) for c in drawn} == {(passes, 0, "default")}
    for solver, number in (("bcfw", seeds), ("ssg", seeds), ("fw", 1)):
        runs = [config for config in drawn if config["solver"]["name"] == solver]
        expected = set(itertools.product(lams, range(number)))
        assert {(config["lam"], config["seed"]) for config in runs} == expected
        assert len(runs) == len(expected)
        assert set(runs[0]["iterates"]) == {"last"} if solver == "fw" else {"last", "wavg"}


@pytest.mark.parametrize("name", FIGURES)
def test_the_smoke_preset_is_small_and_draws_the_same_curves(name):
    full, smoke = (sweep.expand([f"+experiment={FIGURES[name].preset}"], preset=preset) for preset in ("full", "smoke"))
    assert {config["max_passes"] for config in smoke} == {2}
    assert len(smoke) < len(full) or len(full) < 25

    def curves(configs):
        return {(str(config["dataset"]), str(config["solver"]), config["lam"]) for config in configs}

    assert curves(smoke) == curves(full)

import dataclasses
import re
import shutil

import pytest
from omegaconf import OmegaConf

from fwexp.data import DATASETS
from fwexp.errors import OptionError, ParameterError, UserError
from fwexp.methods import ALIASES, methods
from fwexp.options import without_later_defaults
from fwexp.run import command, composition, from_arguments, hydra_errors
from fwexp.run import config as config_module
from fwexp.run.config import EXECUTION_KEYS, canonical, conf_dir, execution_settings, quote, run_key
from fwexp.solvers import SOLVERS
from fwexp.tasks.training import Train

BASE = {"dataset": {"name": "ocr"}, "solver": {"name": "bcfw"}, "lam": 0.01, "seed": 3}


def changed(**changes):
    return BASE | changes


# -- the key: equal configurations share it, others do not


@pytest.mark.parametrize(
    "same",
    [
        {"lam": 0.01, "solver": {"name": "bcfw"}, "seed": 3, "dataset": {"name": "ocr"}},  # another order
        changed(dataset={"name": "ocr", "split": "ocr2"}, solver={"line_search": True, "sampling": "uniform", "name": "bcfw"}),
        changed(**{key: value for key, value in Train.reads.items() if key not in BASE}),  # the defaults, spelt out
        changed(max_passes=50.0),
        changed(iterates=["wavg", "last", "last"]),
        changed(results_dir="elsewhere", data_dir="/data", force=True),
    ],
)
def test_equal_configurations_have_one_key(same):
    assert run_key(same) == run_key(BASE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"lam": 1}, {"lam": 1.0}),
        ({"lam": "1/n"}, {"lam": " 1 / n"}),
        ({"gap_tol": 0}, {"gap_tol": -0.0}),
        ({"schedule": [1, 2]}, {"schedule": (1.0, 2.0)}),
        ({"solver": {"name": "fw"}, "seed": 0}, {"solver": {"name": "fw"}, "seed": 9}),  # it draws nothing
    ],
)
def test_values_are_cast_to_one_type(one, other):
    assert run_key(changed(**one)) == run_key(changed(**other))


# One departure from the defaults for every setting of a run: a new one has to be added here.
DEPARTURES = {
    "lam": 0.02,
    "seed": 4,
    "max_passes": 51,
    "gap_tol": 0.002,
    "time_limit": 60,
    "iterates": ["last"],
    "iterate": "last",
    "schedule": 2,
    "train_error": True,
    "check": True,
    "objective": "log",
    "temperature": 2.0,
}


def departed(name: str) -> dict:
    """Return the configuration that departs in one setting; a temperature needs an objective that has one."""
    more = {"objective": "softmax_margin"} if name == "temperature" else {}
    return changed(**{name: DEPARTURES[name]}, **more)


def test_every_setting_changes_the_key():
    assert DEPARTURES.keys() == set(Train.reads)
    keys = {name: run_key(departed(name)) for name in DEPARTURES}
    assert len({run_key(BASE), *keys.values()}) == len(Train.reads) + 1


KINDS = {
    "structured": BASE,
    "convex": {"dataset": {"name": "blocks"}, "solver": {"name": "pairwise"}},
    "saddle": {"dataset": {"name": "ball_game"}, "solver": {"name": "sp_fw"}},
}
EVERY = [("dataset", name) for name in DATASETS] + [("solver", name) for name in SOLVERS]


def with_one(group, name, **options):
    """Return a configuration with a data set or a solver, and others that fit."""
    (kind,) = [DATASETS[name].kind] if group == "dataset" else SOLVERS[name].kinds
    return KINDS[kind] | {group: {"name": name, **options}}


@pytest.mark.parametrize(("group", "name"), EVERY)
def test_every_option_with_choices_changes_the_key(group, name):
    options = {"dataset": DATASETS, "solver": SOLVERS}[group][name].Options
    base = run_key(with_one(group, name))
    others = []
    for field in dataclasses.fields(options):
        for choice in field.metadata.get("choices", ()):
            if choice != field.default:
                try:
                    others.append(run_key(with_one(group, name, **{field.name: choice})))
                except OptionError:
                    continue  # goes with other options only
    assert base not in others
    assert len(set(others)) == len(others)


def test_every_solver_and_data_set_has_keys_of_its_own():
    assert len({run_key(with_one(*each)) for each in EVERY}) == len(EVERY) - len(KINDS)  # each of KINDS is there twice


def test_an_option_that_is_added_later_keeps_the_keys_of_stored_runs(monkeypatch):
    solver = SOLVERS["bcfw"]
    before = run_key(BASE)

    @dataclasses.dataclass(frozen=True)
    class More(solver.Options):
        more: int = dataclasses.field(default=1, metadata={"added_later": True})

    monkeypatch.setattr(solver, "Options", More)
    assert run_key(BASE) == before
    assert run_key(changed(solver={"name": "bcfw", "more": 1})) == before
    assert run_key(changed(solver={"name": "bcfw", "more": 2})) != before

    @dataclasses.dataclass(frozen=True)
    class Another(solver.Options):
        another: int = 1

    monkeypatch.setattr(solver, "Options", Another)
    assert run_key(BASE) != before  # without the mark, the key would not say what was run


def test_configurations_that_no_record_can_hold_are_rejected():
    """Their runs would be stored, and then read as damaged."""
    message = "a configuration must fit into the records of a store, got one that has seed=9223372036854775808"
    with pytest.raises(ParameterError, match=message):
        canonical(changed(seed=2**63))
    assert canonical(changed(seed=2**63 - 1))["seed"] == 2**63 - 1


def test_the_canonical_form_is_plain_and_stays_as_it_is():
    form, options = canonical(changed(schedule=(1, 2), time_limit=9)), SOLVERS["bcfw"].Options
    assert form == canonical(form)
    assert form == {
        "dataset": {"name": "ocr", "split": "ocr2"},
        "solver": {"name": "bcfw", **without_later_defaults(dataclasses.asdict(options()), options)},
        "lam": 0.01,
        "seed": 3,
        "max_passes": 50.0,
        "gap_tol": 0.001,
        "time_limit": 9.0,
        "iterates": ["last", "wavg"],
        "schedule": [1.0, 2.0],
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": None}, "dataset must be chosen by its name, got None"),
        ({"solver": "bcfw"}, "solver must be chosen by its name, got 'bcfw'"),
        ({"solver": {"name": "fw"}, "seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"iterates": ["last", "best"]}, "unknown iterate 'best'; accepted"),
        ({"train_error": 1}, "train_error must be true or false, got 1"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(UserError, match=message):
        canonical(changed(**changes))


# -- conf/ and its schema


@pytest.mark.parametrize("group", [pytest.param("solver", marks=pytest.mark.slow), "dataset"])
def test_every_name_composes_and_no_other_is_offered(group):
    names = {"solver": {*SOLVERS, *methods(), *ALIASES}, "dataset": set(DATASETS)}[group]
    with composition.composing() as composed:
        assert set(composed.names(group)) == names == config_module.names(group)
        for name in names:
            called = name
            if group == "solver":
                called = methods()[name].solver if name in methods() else ALIASES[name]
            chosen = composed.compose([f"{group}={name}"])[group]
            assert chosen.name == called
            assert composed.part(group, name) in (None, OmegaConf.to_container(chosen))
        assert composed.part(group, {"solver": "bcfw_gap", "dataset": "ocr"}[group]) is not None


def test_every_data_set_has_a_file_which_says_what_it_is():
    files = {path.stem: path.read_text() for path in (conf_dir() / "dataset").glob("*.yaml")}
    assert set(files) == set(DATASETS)
    for name, text in files.items():
        first = text.splitlines()[0].removeprefix("# ").removesuffix(".")
        assert first.casefold() == DATASETS[name].title.casefold()
        stated = OmegaConf.to_container(OmegaConf.create(text))
        assert stated == {"name": name} | config_module._usual(name)


@pytest.mark.parametrize("text", ["it's", "a\\'b", "{x}", "1/n", "a,b", "null", "", 'say "so"', "x=y"])
def test_overrides_compose_to_what_they_came_from(text):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    value = {"key": [text, 1, 0.5, None, True, {"small": 1e-300}]}
    override = OverridesParser.create().parse_override(f"x={quote(value)}")
    assert override.value() == value


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Return a copy of conf/ that may be changed."""
    config_module.register_schema()
    folder = tmp_path / "conf"
    shutil.copytree(conf_dir(), folder)
    # Modules, not their names: one that was imported only now would keep the folder for good.
    for module in (config_module, composition, command, hydra_errors):
        monkeypatch.setattr(module, "conf_dir", lambda: folder)
    return folder


NEW = "experiment/new.yaml"  # whose package is added


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("config.yaml", "lamb: 1", r"conf/config.yaml: unknown key 'lamb' .did you mean 'lam'"),
        ("solver/bcfw.yaml", "samplng: perm", r"bcfw.yaml: unknown key 'solver.samplng' .did you mean 'solver.sampling'"),
        ("dataset/ocr.yaml", "splt: ocr", r"ocr.yaml: unknown key 'dataset.splt' .*; accepted: dataset.n, dataset.split"),
        ("experiment/quickstart.yaml", "max_passes: {", "quickstart.yaml"),
        (NEW, "solver: {smpling: perm}", "new.yaml: unknown key 'solver.smpling'"),
        (NEW, "hydra: {sweeper: {gridz: []}}", "hydra.sweeper.gridz"),
        (NEW, "hydra: {sweeper: {grids: [{lma: 1}]}}", "unknown key 'lma'"),
        (NEW, "hydra: {sweeper: {grids: 3}}", "must be a list of mappings"),
        (NEW, "hydra: {sweeper: {grids: [{results_dir: x}]}}", "cannot set results_dir"),
        (NEW, "defaults: [{override /hydra/launcher: joblib}]", "must choose no launcher, got joblib; give it as an argument"),
    ],
)
def test_a_typo_in_any_file_is_found(conf, file, line, message):
    path, (group, _, name) = conf / file, file.removesuffix(".yaml").partition("/")
    path.write_text((path.read_text() if path.exists() else "# @package _global_\n") + line + "\n")
    with pytest.raises(UserError, match=message):
        from_arguments.expand([f"{'+' * (group == 'experiment')}{group}={name}"] if name else [])


def test_a_file_may_name_a_setting_of_a_solver(conf):
    (conf / "solver" / "mine.yaml").write_text("name: bcfw\nsampling: perm\n")
    (form,) = from_arguments.expand(["solver=mine"])
    assert form["solver"] == canonical(changed(solver={"name": "bcfw", "sampling": "perm"}))["solver"]


# -- engine


def test_an_engine_is_part_of_a_run_and_its_address_is_not():
    engine = {"name": "dask", "workers": 3, "address": "tcp://here:8786"}
    config = changed(engine=engine)
    assert canonical(config)["engine"] == {"name": "dask", "workers": 3, "scheme": None}
    assert run_key(config) == run_key(changed(engine=engine | {"address": None})) != run_key(BASE)
    assert execution_settings(config)["address"] == "tcp://here:8786"
    assert execution_settings(BASE) == EXECUTION_KEYS
    assert "engine" not in canonical(changed(engine=None))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("dask", "engine must be dask or null, got 'dask'"),
        ({"name": "dask", "address": 3}, "engine.address must be the address of a Dask scheduler, got 3"),
        ({"name": "dask", "nodes": 3}, "unknown option 'nodes'; accepted: address, name, patience, scheme, workers"),
    ],
)
def test_wrong_engines_are_named(engine, message):
    with pytest.raises(UserError, match=re.escape(message)):
        canonical(changed(engine=engine))

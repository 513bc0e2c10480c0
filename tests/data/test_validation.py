"""The share of examples set aside for validation, of every data set of examples."""

import dataclasses
import json

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.data import DATASETS, Dataset
from fwexp.data.validation import NAMES, sample, split
from fwexp.errors import OptionError, ParameterError
from fwexp.options import STRUCTURED, option
from fwexp.run import runner
from fwexp.run.config import canonical
from fwexp.store.keys import key_of


def config(dataset, **settings):
    """Return a canonical configuration of a short run of bcfw."""
    return canonical({"dataset": dataset, "solver": {"name": "bcfw"}, "lam": 0.1, "max_passes": 2} | settings)


def digits(**options):
    """Return the part of a configuration that chooses the embedded data set."""
    return {"name": "digits"} | options


@pytest.fixture(scope="module")
def numbered():
    """Return a problem whose examples have their numbers as the only feature."""
    return fwexp.multiclass_problem(np.arange(1.0, 41.0)[:, None], np.arange(40) % 2)


def numbers(problem):
    """Return which examples of `numbered` a problem has."""
    return [int(problem.x.values[i, 0]) for i in range(problem.n)]


def test_a_seed_chooses_the_examples_and_larger_shares_contain_smaller_ones(numbered):
    train, aside = split(numbered, 0.25, 0, "numbers")
    assert (train.n, aside.n) == (30, 10)
    assert sorted(numbers(train) + numbers(aside)) == list(range(1, 41))
    assert all(part == sorted(part) for part in (numbers(train), numbers(aside)))  # the order of the file
    chosen = [numbers(split(numbered, 0.25, seed, "numbers")[1]) for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert set(chosen[0]) < set(numbers(split(numbered, 0.5, 0, "numbers")[1]))


@pytest.mark.parametrize(("share", "aside"), [(0.01, 0), (0.0124, 0), (0.99, 40)])
def test_no_part_is_empty(numbered, share, aside):
    with pytest.raises(ParameterError, match=r"^dataset mine: validation must be 0 for a problem without subset\(\), got 0\.2$"):
        split(object(), 0.2, 0, "mine")
    with pytest.raises(ParameterError) as error:
        split(numbered, share, 0, "numbers")
    found = f"got {share:g}, which sets {aside} of 40 aside"
    assert str(error.value) == f"dataset numbers: validation must leave an example in both parts, {found}"


@pytest.mark.parametrize("share", [1, -0.1, True, float("nan"), "much", None])
def test_a_share_is_a_number_below_1(share):
    with pytest.raises(ParameterError, match=r"^dataset digits: validation must be a number >= 0 and < 1, got "):
        fwexp.load_dataset("digits", validation=share)


def test_all_data_sets_of_examples_have_the_options_and_no_others():
    for name in DATASETS:
        fields = {field.name for field in dataclasses.fields(DATASETS[name].Options)}
        assert fields.issuperset(NAMES) == (DATASETS[name].kind == STRUCTURED), name
        assert fields.isdisjoint(NAMES) == (DATASETS[name].kind != STRUCTURED), name


def test_an_option_of_that_name_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Options:
        validation: str = option("some", lambda name, value: value)

    with pytest.raises(ParameterError, match=r"^its option 'validation' is called as one that every data set of examples has$"):
        Dataset("mine", "mine", "n = 1", (), print, Options)


def test_options_that_check_each_other_still_do():
    @dataclasses.dataclass(frozen=True)
    class Options:
        low: int = 0
        high: int = 1

        def __post_init__(self):
            if self.low > self.high:
                raise ParameterError("low must be at most high")

    cls = Dataset("mine", "mine", "n = 1", (), print, Options).Options
    assert cls(validation_seed=3).validation_seed == 0
    with pytest.raises(ParameterError, match="low must be at most high"):
        cls(low=2, validation=0.5)


def test_load_dataset_returns_the_share_between_training_and_test():
    train, validation, test = fwexp.load_dataset("digits", validation=0.2, validation_seed=1)
    whole, same = fwexp.load_dataset("digits")
    assert (train.n, validation.n, test.n, whole.n, same.n) == (800, 200, 500, 1000, 500)
    assert train.d == validation.d == whole.d
    assert np.bincount(validation.labels, minlength=10).sum() == 1600
    with pytest.raises(OptionError, match=r"^dataset lasso: unknown option 'validation'"):
        fwexp.load_dataset("lasso", validation=0.2)


def test_a_sample_has_n_examples_and_contains_the_smaller_samples():
    words = np.arange(1000) % 10 != 3
    before = np.zeros(1000, dtype=bool)
    for n in (1, 50, 400, 900):
        mask = sample(words, n, "ocr", "words")
        assert mask.sum() == n
        assert not (mask & ~words).any()
        assert not (before & ~mask).any()
        before = mask
    assert np.array_equal(before, words)
    assert np.flatnonzero(sample(words, 5, "ocr", "words")).tolist() == [40, 641, 791, 856, 887]  # stored runs have this one


# -- runs


def test_keys_are_those_of_before_without_a_share():
    plain = config(digits())
    assert config(digits(validation=0.0, validation_seed=5)) == config(digits(validation=0)) == plain
    assert not set(NAMES) & set(plain["dataset"])
    keys = [key_of(config(digits(**options))) for options in ({}, {"validation": 0.2}, {"validation": 0.2, "validation_seed": 1})]
    assert len(set(keys)) == 3
    assert config(digits(validation=0.2), seed=4)["dataset"] == config(digits(validation=0.2))["dataset"]


def test_a_run_logs_and_stores_the_error(letter_file, tmp_path):
    letter_file.write(tmp_path)
    given = config({"name": "ocr", "validation": 0.5}, train_error=True)
    outcome = runner.run(given, tmp_path / "results", tmp_path, verbose=False)
    run = store.read_run(outcome.path)
    train, validation, test = fwexp.load_dataset("ocr", data_dir=tmp_path, validation=0.5)
    for name, problem in (("train_error", train), ("validation_error", validation), ("test_error", test)):
        assert run.errors[name] == pytest.approx(fwexp.evaluate(problem, run.weights()).error, abs=1e-12)
    frame = store.load_results(tmp_path / "results")
    assert frame["validation_error"].notna().all()
    assert json.loads((run.path / "run.json").read_text())["config"]["dataset"] == given["dataset"]
    assert set(frame["dataset.validation"]) == {0.5}
    result = fwexp.solve(train, "bcfw", lam=0.1, max_passes=2)  # the same numbers without a look at the others
    assert result.primal == run.record["primal"]


# -- fwexp.solve


def test_solve_takes_a_validation_set(numbered):
    train, aside = split(numbered, 0.25, 0, "numbers")
    result = fwexp.solve(train, lam=0.1, validation=aside)
    assert set(result.errors) == {"validation_error"}
    assert result.trace["test_error"].isna().all()
    assert result.errors["validation_error"] in result.trace["validation_error"].tolist()
    for iterate in ("best", "last", "wavg"):
        result = fwexp.solve(train, "bcfw", lam=0.01, max_passes=3, validation=aside, iterate=iterate, gap_tol=0)
        assert result.errors["validation_error"] == pytest.approx(fwexp.evaluate(aside, result.w).error, abs=1e-12)
    other = fwexp.multiclass_problem(np.eye(3), [0, 1, 2])
    with pytest.raises(ParameterError, match=r"^validation "):
        fwexp.solve(train, lam=0.1, validation=other)
    with pytest.raises(ParameterError, match=r"^validation must come from a constructor"):
        fwexp.solve(train, lam=0.1, validation=0.2)

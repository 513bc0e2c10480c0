import numpy as np
import pytest

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.estimators import ChainCRF
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import auto, entropic_turns
from fwexp.solvers.auto import EARLY, Auto, best_options
from fwexp.solvers.lbfgs import LBFGS
from fwexp.testing import small_chains

RUN = {"lam": 0.01, "max_passes": 6, "gap_tol": 0}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"iterates": ["last", "wavg"]},
        {"iterate": "tavg"},
        {"step": "pairwise"},
        {"order": True},
        {"sampling": "uniform", "cache": False},
        {"sampling": "shrinking"},
    ],
    ids=str,
)
def test_auto_runs_what_it_says_that_it_chose(given):
    problem = small_chains()
    given = given | ({"order": np.resize(np.arange(problem.n), 6 * problem.n)} if "order" in given else {})
    ours = fwexp.solve(problem, "auto", **RUN, **given)
    asked = {name: value for name, value in given.items() if name in ("iterates", "iterate", "order")}
    chosen = {name: value for name, value in ours.options.items() if not (name == "sampling" and "order" in asked)}
    plain = fwexp.solve(problem, "bcfw", **RUN, **asked, **chosen)
    assert (ours.solver, plain.solver) == ("auto", "bcfw")
    np.testing.assert_array_equal(ours.w, plain.w)
    assert ours.trace.drop(columns="time").equals(plain.trace.drop(columns="time"))


def test_what_is_given_is_not_chosen():
    chosen = fwexp.solve(small_chains(), "auto", **RUN).options
    assert (chosen["step"], chosen["sampling"]) == ("corrective", "gap_perm")
    assert fwexp.solve(small_chains(), "auto", **RUN, step="away").options == chosen | {"step": "away"}


def test_auto_starts_from_bcfw_and_bcfw_from_auto():
    problem = small_chains()
    for first, then in [("auto", "bcfw"), ("bcfw", "auto")]:
        options = RUN | {"step": "corrective", "accelerate": False}  # then the dual rises with every step
        before = fwexp.solve(problem, first, **options)
        after = fwexp.solve(problem, then, **options, warm_start=before)
        assert after.dual >= before.dual - 1e-12


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ParameterError, match=r"solver auto has no iterate 'wavg' here; accepted: last"):
        fwexp.solve(small_chains(), "auto", **RUN, iterates=["wavg"], accelerate=True)
    with pytest.raises(OptionError, match=r"line_search=false"):
        fwexp.solve(small_chains(), "auto", **RUN, line_search=False)
    assert Auto.needs(Auto.Options()) == ()


@pytest.mark.parametrize(("words", "cached"), [(3, False), (41, True)])
def test_matchings_of_few_words_are_solved_without_a_cache(words, cached):
    problem = fwexp.matching_problem([np.ones((words, 2, 1))], [[(0, 1)]])
    options = best_options(problem, 0.1)
    assert ("cache" in options, options["sampling"]) == (cached, "gap_perm" if cached else "perm")
    assert options["step"] == "corrective"
    assert options["accelerate"]["early"] == EARLY


@pytest.mark.parametrize("cheap", [False, True])
def test_the_cache_depends_on_the_cost_of_the_oracle(monkeypatch, cheap):
    monkeypatch.setattr(auto, "cheap_oracle", lambda problem: cheap)
    assert ("cache" in best_options(small_chains(), 0.1)) == (not cheap)


@pytest.mark.parametrize(
    ("possible_states", "name", "precision"), [(True, "entropic_turns", "double"), (False, "block_entropic", "single")]
)
def test_taggers_of_pairs_that_occur_train_with_little_memory(possible_states, name, precision):
    X, y = [[["a"], ["b"], ["a"]]] * 3, [["A", "B", "A"]] * 3
    problem = ChainCRF(possible_states=possible_states).to_problem(X, y)
    method, options = Auto.choose(Auto.Options(), problem, 0.1, objective=make_objective("log"))
    assert (method.name, options.precision) == (name, precision)


def test_lbfgs_is_not_chosen_where_its_vectors_are_large(monkeypatch):
    problem = fwexp.chain_problem([np.eye(3)] * 4, [[0, 1, 2]] * 4)
    need = LBFGS.memory(problem, entropic_turns.RIVAL_OPTIONS, None)
    for most, name in ((need, "entropic_turns"), (need - 1, "block_entropic")):
        monkeypatch.setattr(auto, "MOST_MEMORY", most)
        assert auto.choose(problem, 0.1, None, make_objective("log"))[0].name == name

"""The checks for people who add their own: they accept what is right and reject what is broken, each for its reason."""

from functools import partial
from inspect import isfunction

import numpy as np
import pytest

import fwexp
from fwexp import testing
from fwexp.driver.iteration import Budget, Stop
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from fwexp.problems.enumerated import EnumeratedProblem
from fwexp.solvers import SOLVERS
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.fw import FW
from fwexp.solvers.ssg import SSG
from fwexp.testing import CheckFailed, check_problem, check_solver, problem_checks, small_chains, solver_checks
from tests import reference as ref
from tests.small_problems import functions, run_in_plain_python

# --- what is right --------------------------------------------------------------------------------------------------

CHAINS = small_chains()


def test_checks_have_names_and_can_be_chosen():
    names = [str(check) for check in problem_checks(CHAINS)]
    assert len(set(names)) == len(names) >= 10
    assert "oracle_finds_the_maximum" in names
    assert repr(next(iter(solver_checks("fw")))) == "Check(name='declares_what_it_is')"


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(ParameterError, match="problem must come from a constructor"):
        check_problem([1, 2])
    with pytest.raises(ParameterError, match="unknown solver 'bcwf'"):
        check_solver("bcwf")
    with pytest.raises(OptionError, match="unknown option 'steps'"):
        check_solver("bcfw", steps=1)
    with pytest.raises(CheckFailed, match="labels in y must be in"):
        check_problem(fwexp.chain_problem([np.eye(2)], [[0, -1]], 2))


def test_not_every_labeling_need_be_a_sequence():
    phi = {"cat": [1.0, 0.5], "dog": [0.0, 1.0]}
    check_problem(
        fwexp.CallbackProblem(
            ["cat", "dog"],
            features=lambda i, y: phi[y],
            loss=lambda i, y: float(y != ("cat", "dog")[i]),
            max_oracle=lambda i, w: max(phi, key=lambda y: (y != ("cat", "dog")[i]) + np.dot(phi[y], w)),
        )
    )


# --- broken functions -----------------------------------------------------------------------------------------------

X, Y = ref.random_chains(np.random.default_rng(0), 5, 3, 2, (1, 2, 3))
TINY = ref.tiny_chain(X, Y, 3)


def broken(**changes):
    """Return a problem given by functions, some of them replaced; these get (enumerated problem, i, y or w)."""
    problem = functions(TINY, X, 3)
    for name, change in changes.items():
        setattr(problem, name, lambda i, argument, change=change: change(TINY, i, argument))
    return problem


def labeling(tp, i, j):
    return tp.labelings[i][j]


def index(tp, i, y):
    return tp.labelings[i].index(y)


def greedy(tp, i, w):
    """Every position by itself."""
    unary, _ = ref.chain_potentials(X[i], w, 3, Y[i])
    return tuple(int(label) for label in unary.argmax(axis=1))


def impatient(tp, i, w):
    """Return an answer after a change of the given weights."""
    w *= 0.5
    return labeling(tp, i, tp.argmax(i, w))


class Forgetful:
    """Answers differently every time."""

    calls = 0

    def __call__(self, tp, i, w):
        self.calls += 1
        return labeling(tp, i, self.calls % len(tp.labelings[i]))


BROKEN_FUNCTIONS = {
    "truth costs something": (broken(loss=lambda tp, i, y: 0.5 + tp.loss[i][index(tp, i, y)]), "truth_costs_nothing"),
    "negative loss": (broken(loss=lambda tp, i, y: -tp.loss[i][index(tp, i, y)]), "must be a finite number >= 0"),
    "infinite loss": (broken(loss=lambda tp, i, y: 0.0 if y == tuple(Y[i]) else np.inf), "must be a finite number >= 0"),
    "oracle without loss": (broken(max_oracle=lambda tp, i, w: labeling(tp, i, tp.decode(i, w))), "oracle_finds_the_maximum"),
    "oracle that minimises": (broken(max_oracle=lambda tp, i, w: labeling(tp, i, tp.scores(i, w).argmin())), "oracle_"),
    "oracle for -w": (broken(max_oracle=lambda tp, i, w: labeling(tp, i, tp.argmax(i, -w))), "oracle_"),
    "oracle of another example": (broken(max_oracle=lambda tp, i, w: labeling(tp, i, 0)), "oracle_"),
    "greedy oracle": (broken(max_oracle=greedy), "oracle_finds_the_maximum"),
    "oracle that returns the truth": (broken(max_oracle=lambda tp, i, w: labeling(tp, i, tp.truth[i])), "oracle_"),
    "oracle that changes w": (broken(max_oracle=impatient), "oracle_returns_its_value"),
    "oracle that forgets": (broken(max_oracle=Forgetful()), "oracle"),
    "decoding with loss": (broken(decode=lambda tp, i, w: labeling(tp, i, tp.argmax(i, w))), "decoding_finds_the_maximum"),
    "decoding that minimises": (broken(decode=lambda tp, i, w: labeling(tp, i, (tp.psi[i] @ w).argmax())), "decoding_finds"),
    "features that are not finite": (broken(features=lambda tp, i, y: np.full(tp.d, np.nan)), "must be finite"),
    "features of two lengths": (broken(features=lambda tp, i, y: np.zeros(tp.d + y[0])), "must have length d = 21"),
}


@pytest.mark.parametrize("name", BROKEN_FUNCTIONS)
def test_broken_functions_are_rejected(name):
    problem, reason = BROKEN_FUNCTIONS[name]
    with pytest.raises(CheckFailed, match=reason) as error:
        check_problem(problem)
    assert "\n" not in str(error.value)


def test_checks_are_independent():
    """A broken prediction is found by the check of predictions, and by no other."""
    problem = BROKEN_FUNCTIONS["decoding with loss"][0]
    failed = []
    for check in problem_checks(problem):
        try:
            check()
        except CheckFailed:
            failed.append(str(check))
    assert failed == ["decoding_finds_the_maximum"]


def test_a_function_that_raises_fails_the_check_that_called_it():
    problem = broken(loss=lambda tp, i, y: [0.0][len(tp.labelings)])
    with pytest.raises(CheckFailed, match=r"^\w+: IndexError: list index out of range$") as failed:
        check_problem(problem)
    assert isinstance(failed.value.__cause__, IndexError)


# --- broken families ------------------------------------------------------------------------------------------------


def scaled(function, factor):
    """Return the function with its result multiplied."""
    return lambda *args: factor * function(*args)


def with_factor(function, place, factor):
    """Return the function with one of its arguments multiplied."""
    return lambda *args: function(*args[:place], factor * args[place], *args[place + 1 :])


def skipping(function):
    return lambda *args: None


def touching_theta(function):
    def max_oracle(problem, i, theta, y, scratch):
        value = function(problem, i, theta, y, scratch)
        theta[0] += 1.0
        return value

    return max_oracle


def always_the_first(function):
    def max_oracle(problem, i, theta, y, scratch):
        y[0] = problem.labels[i]
        return 0.0

    return max_oracle


BROKEN_FAMILIES = {
    "max_oracle value": ("max_oracle", lambda f: scaled(f, 1.5), "oracle_returns_its_value"),
    "max_oracle that gives the truth": ("max_oracle", always_the_first, "oracle_finds_the_maximum"),
    "max_oracle that changes theta": ("max_oracle", touching_theta, "oracles_leave_their_inputs_alone"),
    "loss": ("loss", lambda f: scaled(f, -1.0), "losses_are_nonnegative"),
    "from_public": ("from_public", lambda f: scaled(f, 2.0), "weights_survive_the_round_trip"),
    "to_public": ("to_public", lambda f: scaled(f, 2.0), "weights_survive_the_round_trip"),
    "joint_feature": ("joint_feature", lambda f: scaled(f, -1.0), "joint_features_give_psi"),
    "scatter_psi": ("scatter_psi", lambda f: with_factor(f, 3, -1.0), "joint_features_give_psi"),
    "scatter": ("scatter", lambda f: with_factor(f, 3, 2.0), "parts_have_the_inner_products_of_features"),
    "psi_score": ("psi_score", lambda f: scaled(f, -1.0), "parts_have"),
    "dot": ("dot", lambda f: scaled(f, 0.5), "parts_have"),
    "norm_sq": ("norm_sq", lambda f: scaled(f, 2.0), "parts_have"),
    "rescale": ("rescale", skipping, "parts_have"),
    "gram_scores": ("gram_scores", lambda f: lambda p, i, direction, theta: f(p, i, 2.0 * direction, theta), "parts_have"),
    "clear": ("clear", skipping, "parts_have"),
    "set_direction": ("set_direction", lambda f: lambda p, i, y, blocks, out: f(p, i, y, 0.0 * blocks, out), "blocks_move"),
    "add_to_block": ("add_to_block", lambda f: with_factor(f, 3, 0.5), "blocks_move_towards_corners"),
    "copy_blocks": ("copy_blocks", lambda f: lambda p, blocks: 0.0 * blocks, "blocks_move_towards_corners"),
    "scatter_block": ("scatter_block", lambda f: with_factor(f, 3, 2.0), "blocks_move_towards_corners"),
    "accumulate": ("accumulate", lambda f: with_factor(f, 3, 2.0), "sums_keep_what_is_added"),
    "accumulate_psi": ("accumulate_psi", skipping, "sums_keep_what_is_added"),
    "scatter_sum": ("scatter_sum", lambda f: with_factor(f, 2, -1.0), "sums_keep_what_is_added"),
    "radii_sq": ("radii_sq", lambda f: scaled(f, 0.5), "radii_bound_the_features"),
    "best_block": ("best_block", lambda f: lambda p, i, theta, c, *rest: f(p, i, theta, 2.0 * c, *rest), "best_blocks_have_no_gap"),
    "store_labeling": ("store_labeling", skipping, "labelings_are_stored"),
    "decode": ("decode", lambda f: lambda p, i, theta, y, scratch: f(p, i, -theta, y, scratch), "decoding_finds"),
}


def written_out():
    """Return the small chains again, output by output."""
    return fwexp.enumerated_problem(TINY.psi, TINY.loss)


@pytest.mark.parametrize("name", BROKEN_FAMILIES)
def test_broken_families_are_rejected(name, monkeypatch):
    run_in_plain_python(monkeypatch)  # each is broken in a function with machine code of its own
    function, change, reason = BROKEN_FAMILIES[name]
    implementations = getattr(protocol, function).implementations
    original = getattr(protocol, function).find(EnumeratedProblem)
    monkeypatch.setitem(implementations, EnumeratedProblem, change(original))
    with pytest.raises(CheckFailed, match=reason) as error:
        check_problem(written_out())
    assert "\n" not in str(error.value)


def test_missing_functions_are_named(monkeypatch):
    monkeypatch.delitem(protocol.joint_feature.implementations, EnumeratedProblem)
    with pytest.raises(CheckFailed, match="has_the_protocol: EnumeratedProblem does not register joint_feature"):
        check_problem(written_out())


def test_compiled_code_that_differs_from_python_is_rejected(monkeypatch):
    """Machine code of an earlier oracle, say: here the plain one changes after compiling."""
    problem = written_out()
    fwexp.evaluate(problem, np.zeros(problem.d))
    implementations = protocol.max_oracle.implementations
    original = implementations[EnumeratedProblem]

    def other(problem, i, theta, y, scratch):
        original(problem, i, theta, y, scratch)
        y[0] = problem.labels[i]
        return 0.0

    monkeypatch.setitem(implementations, EnumeratedProblem, other)
    checks = {str(check): check for check in problem_checks(problem)}
    with pytest.raises(CheckFailed, match="must be the same compiled and in plain Python"):
        checks["evaluation_agrees_with_single_calls"]()


# --- broken solvers -------------------------------------------------------------------------------------------------


def altered(base, changes):
    """Return a solver class with other attributes; functions get the usual method first, then its arguments."""

    def method(name, change):
        return lambda self, *args: change(partial(getattr(base, name), self), self, *args)

    return type("Altered", (base,), {name: method(name, one) if isfunction(one) else one for name, one in changes.items()})


def after(change):
    """Return a method that does what is usual, and then a change of the solver."""

    def method(usual, self, *args):
        result = usual(*args)
        change(self)
        return result

    return method


def point(change):
    """Return a method ``point`` whose w and dual are altered."""
    return lambda usual, self, iterate: usual(iterate)._replace(
        **dict(zip(("w", "dual"), change(self, *usual(iterate)[:2]), strict=True))
    )


def takes_no_steps(usual, self, budget):
    while self.oracle_calls + self.problem.n <= budget.calls and self.step < budget.steps:
        self.state.step += 1
        self.state.oracle_calls += self.problem.n
    return Stop(calls_needed=self.problem.n)


def is_changed_by_looks(usual, self, iterate):
    self.state.iterate.psi_sum[0] += 1e-9 * (self.step > 0)
    return usual(iterate)


def takes_w_over_as_it_is(usual, self, seed, iterates, order, warm_start):
    usual(seed, iterates, order, warm_start)
    if warm_start is not None:
        self.state.w = warm_start.state.w.copy()


def shares_arrays(usual, self, seed, iterates, order, warm_start):
    usual(seed, iterates, order, warm_start)
    if warm_start is not None:
        shared = warm_start.state.iterate
        self.state.iterate = self.state.iterate._replace(losses=shared.losses, dual=shared.dual)


def moves(change):
    """Return a method ``advance`` after which w is another one, except at the start."""
    return after(lambda self: setattr(self.state, "w", change(self.state.w) if self.step else self.state.w))


def averages(change):
    return after(lambda self: self.state.averages.update(change(self.state.averages)))


def counts_outside_its_state(usual, self, budget):
    before = self.step
    stop = usual(budget)
    self.taken = vars(self).get("taken", 0) + self.step - before
    return stop


def noisy(w):
    return w + 1e-12 * np.random.default_rng().normal(size=len(w))


TOO_HIGH = lambda self, w, dual: (w, dual + 0.2 * (self.step > 0))  # noqa: E731
BROKEN_SOLVERS = {
    "too high duals": (
        BCFW,
        {"point": point(TOO_HIGH), "exact_dual": lambda usual, self: usual() + 0.2 * (self.step > 0)},
        "dual_points_are_lower_bounds",
    ),
    "another dual from scratch": (
        BCFW,
        {"exact_dual": lambda usual, self: usual() - 1.0},
        "dual_points_are_lower_bounds: exact_dual",
    ),
    "no steps, but counts": (FW, {"advance": takes_no_steps}, "comes_near_the_optimum: P"),
    "away from corners": (FW, {"advance": moves(lambda w: -np.abs(w))}, "portions_do_not_matter"),
    "as many steps as it likes": (
        SSG,
        {"advance": lambda usual, self, budget: usual(Budget(budget.calls + 1, budget.steps + 1) if budget.calls else budget)},
        "keeps_its_bounds",
    ),
    "nothing in short portions": (
        SSG,
        {"advance": lambda usual, self, budget: usual(budget) if budget.calls - self.oracle_calls > 3 else Stop()},
        "keeps_its_bounds: advance must move",
    ),
    "changed by looks": (SSG, {"point": is_changed_by_looks}, "portions_do_not_matter"),
    "a step to compile": (SSG, {"compile": lambda usual, self: self.advance(Budget(1, 1))}, "starts_at_step_0"),
    "seed ignored": (
        BCFW,
        {"start": lambda usual, self, seed, *others: usual(0, *others)},
        "the_seed_decides: the seed must matter",
    ),
    "secret seed": (BCFW, {"stochastic": False}, "the_seed_decides: the seed must not matter"),
    "random numbers of its own": (FW, {"advance": moves(noisy)}, "portions_do_not_matter"),
    "order ignored": (
        BCFW,
        {"start": lambda usual, self, seed, iterates, order, first: usual(seed, iterates, None, first)},
        "follows_the_order",
    ),
    "order from its end": (
        BCFW,
        {
            "start": lambda usual, self, seed, iterates, order, first: usual(
                seed, iterates, None if order is None else self.problem.n - 1 - order, first
            )
        },
        "follows_the_order: the first step",
    ),
    "wavg is avg": (FW, {"_average": averages(lambda of: {"wavg": of["avg"]})}, "averages_are_averages: wavg"),
    "b'a of tavg": (
        FW,
        {"_average": averages(lambda of: {"tavg": (of["tavg"][0], 0.5 * of["tavg"][1])})},
        "averages_are_averages: b'a of tavg",
    ),
    "writes into the problem": (
        FW,
        {"advance": after(lambda self: np.add.at(self.problem.gram, 0, 1.0))},
        "leaves_the_problem_alone",
    ),
    "warm start ignored": (FW, {"start": lambda usual, self, *given: usual(*given[:3], None)}, "starts_from_a_result"),
    "w as it is at another lam": (FW, {"start": takes_w_over_as_it_is}, "starts_from_a_result"),
    "more than its state": (
        FW,
        {
            "advance": counts_outside_its_state,
            "point": point(lambda self, w, dual: (w * (1.0 + 1e-12 * vars(self).get("taken", 0)), dual)),
        },
        "continues_from_its_state",
    ),
    "shared arrays": (BCFW, {"start": shares_arrays}, "starts_from_a_result: a warm start must not change"),
    "no name": (FW, {"name": "no name"}, "declares_what_it_is: name must be an identifier, got 'no name'"),
    "unknown iterate": (
        FW,
        {"iterates": ("last", "best")},
        "declares_what_it_is: iterates must be among last, wavg, tavg, avg",
    ),
    "unknown tier": (
        FW,
        {"needs": classmethod(lambda cls, options: ("sets", "teleportation"))},
        "declares_what_it_is: needs must return tiers, accepted: sets, .*; got 'teleportation'",
    ),
    "needs as they were before there were tiers": (
        FW,
        {"needs": ("max_oracle",)},
        r"declares_what_it_is: needs must be a function of the options that returns names of tiers, got \('max_oracle',\)",
    ),
    "no dual": (SSG, {"has_dual": True}, "dual_points_are_lower_bounds"),
    "other steps on compiled problems": (
        SSG,
        {"point": point(lambda self, w, dual: (w * (1.001 if isinstance(self.problem, tuple) else 1.0), dual))},
        "runs_in_plain_python",
    ),
}


@pytest.mark.parametrize("name", BROKEN_SOLVERS)
def test_broken_solvers_are_rejected(name):
    base, changes, reason = BROKEN_SOLVERS[name]
    with pytest.raises(CheckFailed, match=reason) as error:
        check_solver(altered(base, changes), small_chains(seed=1))
    assert "\n" not in str(error.value)


def test_a_class_need_not_be_registered():
    class Mine(SSG):
        """A solver of my own."""

        name = "mine"

    check_solver(Mine)
    assert "mine" not in SOLVERS


def test_default_problem_is_what_it_says():
    assert (CHAINS.n, CHAINS.num_states) == (6, 3)
    assert testing.small_chains(seed=1).labels.tolist() != CHAINS.labels.tolist()

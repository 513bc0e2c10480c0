"""A script as users write it, which is not run: mypy and pyright check it strictly in ``make lint``.

The comments that ignore an error are tests, too: both report those that ignore nothing.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import fwexp
from fwexp.convex import Bilinear, L1Ball, LeastSquares, Line, Minimum, NuclearBall, SaddlePoint, Simplex, minimize, saddle_point
from fwexp.estimators import ChainSVM, MulticlassSVM, StructuredSVM
from fwexp.testing import check_problem, check_solver
from fwexp.types import Problem, Row, SetOfExamples


def errors(predictions: Any) -> dict[str, float]:
    return {"errors": float(len(predictions))}


def is_enough(row: Row) -> bool:
    return bool(row["gap"] < 0.1)


def short(line: Line) -> float:
    return line.slope / float(line.d @ line.d)


def own_function(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    return float(x @ x), 2 * x


def halves(problem: SetOfExamples) -> tuple[SetOfExamples, SetOfExamples]:
    return problem[: problem.n // 2], problem.subset(range(problem.n // 2, len(problem)))


class OwnFamily:
    n, d = 3, 2


train, test = fwexp.load_dataset("ocr", data_dir="data", split="small")
fewer, validation, _ = fwexp.load_dataset("ocr", validation=0.2)
fwexp.solve(fewer, lam=0.1, validation=validation)
first, second = halves(train)
result = fwexp.solve(first, "bcfw", lam="1/n", test=test, metrics=errors, callback=is_enough, sampling="perm")
again = fwexp.solve(first, lam=0.01, iterates=["last", "wavg"], iterate="wavg", schedule=[1, 2, 4], warm_start=result)
assert_type(result, fwexp.Result)
assert_type(again.gap, float)
assert_type(fwexp.predict(test, result), list[Any])
assert_type(fwexp.evaluate(test, again.w).error, float)
assert_type(fwexp.max_oracle(train, 0, result), tuple[Any, float])
chains = fwexp.chain_problem([np.eye(3)], [[0, 1, 1]], costs=[[0, 1], [2, 0]], nonnegative=slice(3), loss="errors")
assert_type(fwexp.weighted_problem(chains, [1.0])[:1], SetOfExamples)
assert_type(fwexp.load(result.save("model.npz")).w, NDArray[np.float64])
fwexp.solve(OwnFamily(), lam=1)
functions = fwexp.CallbackProblem(
    [0, 1], features=lambda i, y: np.zeros(2), loss=lambda i, y: float(y != i), max_oracle=lambda i, w: 1 - i
)
check_problem(functions)
check_solver("ssg", problem=chains, lam="1/n")

tagger = ChainSVM(1e-3, tol=0.1, features="auto", iterate="wavg").fit([[{"word": "a"}]], [["D"]], sample_weight=[1.0])
assert_type(tagger, ChainSVM)
assert_type(tagger.predict([[{"word": "a"}]]), list[list[Any]])
assert_type(tagger.result_, fwexp.Result)
assert_type(ChainSVM.load(tagger.save("tagger.npz")), ChainSVM)
assert_type(MulticlassSVM(C=1.0, costs=np.eye(2)).fit(np.eye(2), [0, 1]).predict(np.eye(2)), NDArray[Any])
StructuredSVM(object(), lam="1/n")

ball = NuclearBall(2, 2, radius=2.0).shaped(2, 2)
minimum = minimize(LeastSquares(np.eye(4), [1, 2, 3, 4]), ball, method="frank_wolfe", callback=is_enough, step=short)
assert_type(minimum, Minimum)
assert_type(minimize(own_function, L1Ball(3), x0=[0, 0, 1]).x, NDArray[np.float64])
assert_type(Simplex(3).project(minimum.x), NDArray[np.float64])
assert_type(L1Ball(3).diameter, float)
assert_type(saddle_point(Bilinear([[0, 1], [1, 0]], Simplex(2), Simplex(2))), SaddlePoint)

# What is wrong:
fwexp.slove(train, lam=0.1)  # type: ignore[attr-defined]
fwexp.solve([[1.0]], lam=0.1)  # type: ignore[arg-type]
fwexp.solve(train, lam=[0.1], bad=1)  # type: ignore[arg-type]
fwexp.solve(train, 0.1)  # type: ignore[arg-type]
fwexp.solve(train, lam=0.1, iterate="average")  # type: ignore[arg-type]
fwexp.solve(train, lam=0.1, test="test")  # type: ignore[arg-type]
fwexp.solve(train, lam=0.1, schedule="always")  # type: ignore[arg-type]
fwexp.solve(train, lam=0.1, callback=lambda: True)  # type: ignore[arg-type,misc]
fwexp.regularization_path(train, 0.1)  # type: ignore[call-arg]
fwexp.chain_problem([], [], loss="hinge")  # type: ignore[arg-type]
fwexp.load_dataset()  # type: ignore[call-overload]
assert result.weights  # type: ignore[attr-defined]
assert result._rows  # type: ignore[attr-defined]
assert result._repr_html_()  # type: ignore[attr-defined]
ChainSVM(lamb=0.1)  # type: ignore[call-arg]
ChainSVM(lam=0.1, max_passes="many")  # type: ignore[arg-type]
minimize(own_function, "simplex")  # type: ignore[arg-type]
minimize(own_function, Simplex(3), gap_tol="small")  # type: ignore[arg-type]
L1Ball("3")  # type: ignore[arg-type]
accepted: Problem = result  # type: ignore[assignment]

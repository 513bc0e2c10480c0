"""Who is compared with whom, on which problem, and how: in turns, round by round.

Where tools minimise the same function, their time to a relative suboptimality is measured: (P(w) - D)/D, with P our objective
at the weights that they return, and D a lower bound of its minimum from a long run of ours. Other tools get the loosest
tolerance with which they are there, which is known only afterwards; ours stops by its certificate alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import fwexp
from benchmarks.peers import tools
from benchmarks.peers.tools import Trained
from benchmarks.peers.validated import SEED, SHARE, choose
from fwexp.data.validation import split

OURS = f"fwexp auto ({fwexp.__version__})"
TOLERANCES = tuple(10.0 ** np.arange(0.0, -6.5, -0.5))


@dataclass(frozen=True)
class Contender:
    """A tool that gets more exact with its setting."""

    tool: str
    train: Callable[[float], Trained]  # from a setting
    settings: Sequence[float] = ()  # from loose to tight; empty for ours, whose setting is the gap to reach
    setting: str = "gap_tol"


@dataclass(frozen=True)
class SameObjective:
    """Tools that minimise the same function; ours is the first."""

    problem: str
    certify: object
    lam: float
    contenders: Sequence[Contender]
    targets: Sequence[float] = (1e-2, 1e-3, 1e-4)

    def measure(self, rounds: int) -> list[dict]:
        """Return a row for each target and tool."""
        bound = self.lower_bound()
        by_tool = {contender.tool: contender for contender in self.contenders}
        keys = [(target, tool) for target in self.targets for tool in by_tool]
        chosen = {(target, tool): self.choose(by_tool[tool], target, bound) for target, tool in keys}
        trainings = {key: partial(by_tool[key[1]].train, choice[0]) for key, choice in chosen.items() if choice}
        times = in_turns(trainings, rounds)
        ours, rows = self.contenders[0].tool, []
        for (target, tool), choice in chosen.items():
            row = {"kind": "same objective", "problem": self.problem, "target": target, "tool": tool}
            row |= {"ours": tool == ours, "rounds": rounds}
            if choice:
                setting, reached, calls = choice
                row |= {"setting": f"{by_tool[tool].setting}={setting:.2g}", "suboptimality": reached, "calls": calls}
                row |= spread(times[target, tool], times.get((target, ours)))
            else:
                row |= {"setting": "none reaches it"}
            rows.append(row)
        return rows

    def lower_bound(self) -> float:
        """Return D, a hundred times closer to the minimum than the tightest target asks for."""
        rough = fwexp.solve(self.certify, lam=self.lam, gap_tol=1e-2, max_passes=100_000)
        tol = 1e-2 * min(self.targets) * rough.dual
        return fwexp.solve(self.certify, lam=self.lam, gap_tol=tol, max_passes=100_000).dual

    def suboptimality(self, w: np.ndarray, bound: float) -> float:
        """Return (P(w) - D)/D."""
        value = fwexp.evaluate(self.certify, w)
        return (0.5 * self.lam * value.norm_sq + value.hinge - bound) / bound

    def choose(self, contender: Contender, target: float, bound: float) -> tuple[float, float, float] | None:
        """Return the loosest setting that reaches a target, the suboptimality there and the oracle calls; None if none does."""
        for setting in contender.settings or (target * bound,):
            trained = contender.train(setting)
            reached = self.suboptimality(trained.w, bound)
            if reached <= target:
                return setting, reached, trained.calls
        return None


@dataclass(frozen=True)
class SameTask:
    """Tools with objectives of their own that learn to predict the same: trainings of ours, and of the others."""

    problem: str
    ours: Mapping[str, Callable[[], Trained]]
    theirs: Mapping[tuple[str, str], Callable[[], Trained]]

    def measure(self, rounds: int) -> list[dict]:
        """Return a row for each tool and setting."""
        trainings = {(OURS, setting): train for setting, train in self.ours.items()} | dict(self.theirs)
        times = in_turns(trainings, rounds)
        return [
            {"kind": "same task", "problem": self.problem, "tool": tool, "setting": setting, "ours": tool == OURS, "rounds": rounds}
            | {"test_error": trained[-1].test_error}
            | spread(trained)
            for (tool, setting), trained in times.items()
        ]


def in_turns(trainings: Mapping, rounds: int) -> dict:
    """Train everything once per round; return the results by the same keys."""
    trained = {key: [] for key in trainings}
    for _ in range(rounds):
        for key, train in trainings.items():
            trained[key].append(train())
    return trained


def spread(trained: Sequence[Trained], base: Sequence[Trained] | None = None) -> dict:
    """Return median, least and most seconds, and their ratios to ``base``, round by round."""
    values = {"seconds": np.array([training.seconds for training in trained])}
    if base:
        values["times"] = values["seconds"] / [training.seconds for training in base]
    return {
        f"{name}{suffix}": float(pick(measured))
        for name, measured in values.items()
        for suffix, pick in (("", np.median), ("_least", np.min), ("_most", np.max))
    }


def liblinear(data_dir=None) -> list[SameObjective]:
    """Return linear SVMs of several classes and of two, against LIBLINEAR."""
    tool = tools.called("LinearSVC", "sklearn")
    X, y = tools.module("sklearn.datasets").load_digits(return_X_y=True)
    X = X / 16.0
    letters, _ = fwexp.load_dataset("ocr", data_dir=data_dir)
    pixels, names = tools.inputs(letters), letters.labels
    words, topics = tools.bags_of_words()
    return [
        linear("Crammer-Singer, digits of scikit-learn", X, y, 20.0 / len(y), tool, tools.liblinear),
        linear("two classes, hinge, digits of scikit-learn", X, y % 2, 40.0 / len(y), tool, tools.liblinear_binary),
        linear("Crammer-Singer, single letters of OCR", pixels, names, 1e-3, tool, tools.liblinear, targets=(1e-2, 1e-3)),
        linear(
            "Crammer-Singer, synthetic bags of words", words, topics, 1.0 / len(topics), tool, tools.liblinear, targets=(1e-2, 1e-3)
        ),
    ]


def linear(name: str, X, y, lam: float, tool: str, fit: Callable, **options) -> SameObjective:
    """Return the comparison of ours and a LIBLINEAR on one problem."""
    problem = fwexp.multiclass_problem(X, y)
    described = f"{name}: n {problem.n}, d {problem.d}, lam {lam:.3g}"
    mine = Contender(OURS, lambda gap: tools.ours(problem, lam, gap))
    theirs = Contender(tool, lambda tol: fit(X, y, lam, tol), TOLERANCES, "tol")
    return SameObjective(described, problem, lam, (mine, theirs), **options)


def dlib(data_dir=None) -> list[SameObjective]:
    """Return the same with an oracle in Python, against dlib."""
    tool = tools.called("solve_structural_svm_problem", "dlib")
    X, y = tools.module("sklearn.datasets").load_digits(return_X_y=True)
    return [python_oracle("digits of scikit-learn", X / 16.0, y, 20.0 / len(y), tool)]


def python_oracle(name: str, X, y, lam: float, tool: str, targets: Sequence[float] = (1e-1, 1e-2, 1e-3)) -> SameObjective:
    """Return the comparison of ours and dlib, both with the same functions in Python."""
    oracle = tools.PythonOracle(X, y, int(y.max()) + 1)
    problem = fwexp.multiclass_problem(X, y)
    described = f"Crammer-Singer by an oracle in Python, {name}: n {problem.n}, d {problem.d}, lam {lam:.3g}"
    mine = Contender(OURS, lambda gap: tools.ours_in_python(oracle, lam, gap))
    theirs = Contender(tool, lambda epsilon: tools.dlib(oracle, lam, epsilon), TOLERANCES, "epsilon")
    return SameObjective(described, problem, lam, (mine, theirs), targets)


PARTS = ("part", "validation", "train", "test")  # of a data set
OBJECTIVES = {"SVM": "hinge", "CRF": "log", "softmax-margin": "softmax_margin"}


def crfsuite(data_dir=None) -> list[SameTask]:
    """Return sequence labelling, against conditional random fields and averaged perceptrons."""
    train, test = fwexp.load_dataset("ocr", data_dir=data_dir)
    return [labelling(f"ocr: n {train.n}, d {train.d}", train, test)]


def labelling(name: str, train, test, gap_tol: float = 1e-2, iterations: int = 100) -> SameTask:
    """Return the comparison of ours and CRFsuite, each at the lam that validation picks; CRFsuite's c2 is lam n / 2."""
    tool = tools.called("CRFsuite", "pycrfsuite")
    part, validation = split(train, SHARE, SEED, name)
    data = {which: tools.Sequences.of(problem) for which, problem in zip(PARTS, (part, validation, train, test), strict=True)}
    limit = tools.ALL_PAIRS | {"max_iterations": iterations}

    def theirs_at(lam: float, learn: str, judge: str) -> Trained:
        c2 = 0.5 * lam * len(data[learn].items)
        return tools.crfsuite(data[learn], data[judge], "lbfgs", limit | {"c2": c2})

    mine, start = {}, 2.0 / part.n  # c2 = 1
    for title, objective in OBJECTIVES.items():
        at = partial(tools.ours, gap_tol=gap_tol, objective=objective)
        lam, _ = choose(lambda lam, at=at: at(part, lam, test=validation).test_error, start)
        mine[f"{title}, lam={lam:.2g}, gap {gap_tol:g}"] = partial(at, train, lam, test=test)
    lam, _ = choose(lambda lam: theirs_at(lam, "part", "validation").test_error, start)
    said = f"CRF by L-BFGS, {iterations} iterations, lam={lam:.2g} (c2={0.5 * lam * train.n:.2g})"
    theirs = {(tool, said): partial(theirs_at, lam, "train", "test")}
    theirs[tool, "averaged perceptron"] = partial(tools.crfsuite, data["train"], data["test"], "ap", limit)
    return SameTask(name, mine, theirs)


CONTESTS = {"liblinear": (liblinear, ("sklearn",)), "dlib": (dlib, ("dlib", "sklearn")), "crfsuite": (crfsuite, ("pycrfsuite",))}
"""By what ``--only`` takes: from the data folder to comparisons, and the modules that they need."""

"""Every function of the protocol of everything that is around a problem, against its definition.

The definition of an example is its labelings, all of them, with L_i(y) and psi_i(y) = phi(x_i, y_i) - phi(x_i, y), which
tests/problems/definitions.py writes out; weights c_i make them c_i L_i and c_i psi_i. `EXPECTED` says what every function must
return then, `AROUND` how to build every wrapper. Both are compared with what is registered: a function or a class that is new
fails until it stands here. That the tests see errors is tested too: what is not passed on as it is, is, once.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster

import fwexp
from fwexp import distributed as fwexp_distributed
from fwexp.distributed.worker import Answer
from fwexp.errors import ParameterError
from fwexp.jit.compilation import dispatched
from fwexp.problems import protocol, tiers
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.features import DenseFeatures
from fwexp.problems.full_pairs import FullPairsProblem
from fwexp.problems.kernel_features import Kernel, kernelised
from fwexp.problems.weighted import Weighted, WeightedFunctions, share
from tests.problems.definitions import IN_PYTHON, build

FORMS = (
    *("dense chain", "chain that counts", "cut chain with costs", "dense classes", "classes with slack", "outputs"),
    *("dense matchings", "dense graphs", "dense graphs of three labels", "graphs of three labels without edges"),
    *("forests that count", "forests of three labels that count", *IN_PYTHON),
)
FAMILIES = {form: build(form, 63) for form in FORMS}  # each has two labels at least, and no more than 81 labelings
FAMILIES["poses"] = build("poses", 63, nonnegative=[])


def weights_of(name):
    """Return weights of mean 1, as `weighted_problem` has them; one of them is 0."""
    weights = np.array([2.0, 0.0, 0.5, 1.5])[: FAMILIES[name].problem.n]
    return weights / weights.mean()


def some(name):
    """Return some of the examples, one of them twice."""
    return np.array([3, 0, 2, 0]) % FAMILIES[name].problem.n


def test_every_family_is_there():
    assert {type(defined.problem) for defined in FAMILIES.values()} - {FullPairsProblem} == set(tiers.families())


@cache
def definition(name: str, indices: tuple, c: tuple) -> "Definition":
    return Definition(name, indices, c)


class Definition:
    """All labelings of every example, with losses and psi, and the scores of labelings as ``decode`` compares them."""

    def __init__(self, name: str, indices, c) -> None:
        defined = FAMILIES[name]
        self.base, self.indices, self.n, self.c = defined.problem, indices, len(indices), np.asarray(c)[list(indices)]
        self.labelings = [defined.labelings[i] for i in indices]
        self.bounded = protocol.to_public(self.base, np.isin(np.arange(self.base.num_weights), self.base.nonnegative) * 1.0) > 0.0
        of_all = [[c_i * values for values in defined.of_all(i)] for i, c_i in zip(indices, self.c, strict=True)]
        self.losses, self.psi = zip(*of_all)
        self.phi = [np.array([defined.phi(i, y) for y in defined.labelings[i]]) for i in indices]


class Case:
    """A problem with something around it, its definition, and how labelings and weights look to it."""

    def __init__(self, problem, name: str, indices=None, c=None) -> None:
        n = FAMILIES[name].problem.n
        indices, c = range(n) if indices is None else indices, np.ones(n) if c is None else c
        self.problem, self.name, self.d = problem, name, definition(name, tuple(indices), tuple(c))
        self.work = protocol.workspace(problem)
        self._raw: dict = {}

    def raw(self, i: int, k: int):
        """Return labeling k of example i as the oracle writes it."""
        if (i, k) not in self._raw:
            self._raw[i, k] = protocol.as_labeling(self.problem, i, self.d.labelings[i][k])
        return self._raw[i, k]

    def number(self, i: int, y) -> int:
        """Return the number of a labeling that a function wrote."""
        y = np.asarray(protocol.public_labeling(self.problem, i, y)).tolist()
        return [np.asarray(other).tolist() for other in self.d.labelings[i]].index(y)

    def public(self, w: np.ndarray) -> np.ndarray:
        return protocol.to_public(self.problem, w)

    def internal(self, w: np.ndarray) -> np.ndarray:
        return protocol.from_public(self.problem, w)

    # --- what tests have in common ---

    @property
    def examples(self):
        return range(self.d.n)

    def pairs(self):
        return ((i, k) for i in self.examples for k in range(len(self.d.losses[i])))

    def weights(self, seed: int = 0) -> np.ndarray:
        """Return a public w that is allowed."""
        w = np.random.default_rng(seed).normal(size=self.d.psi[0].shape[1])
        return np.where(self.d.bounded, np.abs(w), w)

    def theta(self, i: int, w: np.ndarray):
        protocol.scores(self.problem, i, self.internal(w), self.work.theta)
        return self.work.theta

    def parts(self, i: int, k: int, c: float = 1.0):
        direction = self.work.direction
        protocol.clear(self.problem, i, direction)
        protocol.add_psi(self.problem, i, self.raw(i, k), c, direction)
        protocol.close(self.problem, i, direction)
        return direction

    def scattered(self, function, *args) -> np.ndarray:
        """Return what a function adds to weights."""
        w = protocol.new_weights(self.problem)
        function(self.problem, *args, w)
        return self.public(w)

    def image(self, i: int, direction) -> np.ndarray:
        return self.scattered(protocol.scatter, i, direction, 1.0)

    def stored(self, i: int):
        """Return storage of all labelings of an example, and where they are."""
        ptr = protocol.labeling_ptr(self.problem)
        length, count = int(ptr[i + 1] - ptr[i]), len(self.d.losses[i])
        storage = protocol.new_storage(self.problem, length * count)
        for k in range(count):
            for t in range(length):
                storage[k * length + t] = self.raw(i, k)[t]
        return storage, np.arange(count) * length

    def values(self, i: int, w: np.ndarray) -> np.ndarray:
        """Return L_i(y) - <w, psi_i(y)> of all labelings."""
        return self.d.losses[i] - self.d.psi[i] @ w


def same(got, wanted) -> None:
    """Compare numbers; numpy's function, which takes long, has the message."""
    if np.shape(got) != np.shape(wanted) or not (np.abs(np.subtract(got, wanted)) <= 1e-9 + 1e-9 * np.abs(wanted)).all():
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


# --- what is around problems ------------------------------------------------------------------------------------------


class Kernelised(Case):
    """Weights are coefficients of the training inputs, of which w is a combination."""

    def __init__(self, problem, name, **of_definition) -> None:
        super().__init__(problem, name, **of_definition)
        base = self.d.base
        self._p, self._K = base.num_features, getattr(base, "num_states", None) or base.num_classes

    @property
    def _rows(self) -> np.ndarray:
        return protocol.original(self.problem).x.base.values

    def public(self, w):
        coefficients = super().public(w).reshape(-1, self._K)
        return np.vstack((self._rows.T @ coefficients[: len(self._rows)], coefficients[len(self._rows) :])).ravel()

    def internal(self, w):
        w = np.reshape(w, (-1, self._K))
        return super().internal(np.vstack((np.linalg.pinv(self._rows.T) @ w[: self._p], w[self._p :])).ravel())

    def weights(self, seed=0):
        return np.random.default_rng(seed).normal(size=self.d.psi[0].shape[1])


class Viewed(Case):
    """The problem as kernels see it that call no oracle: a labeling is the number of a row."""

    def __init__(self, view, name, **of_definition) -> None:
        self._view, self._rows, truth = view, {}, FAMILIES[name].problem.y
        for i, labelings in enumerate(FAMILIES[name].labelings):
            for k, y in enumerate(labelings):
                self._rows[i, k] = view.pack([*truth[:i], y, *truth[i + 1 :]], i, i + 1)[i]
        super().__init__(view.problem, name, **of_definition)

    def raw(self, i, k):
        return np.array([self._rows[i, k]])


class Spread(Case):
    """Examples that workers have: a labeling is its loss and its psi."""

    def raw(self, i, k):
        return [Answer(self.d.losses[i][k], self.d.psi[i][k])]

    def number(self, i, y):
        found = (abs(self.d.losses[i] - y[0].loss) < 1e-9) & (abs(self.d.psi[i] - y[0].psi) < 1e-9).all(axis=1)
        return int(np.flatnonzero(found)[0])


def around(name, c=None):
    """Return the problem itself, or with weights."""
    return FAMILIES[name].problem if c is None else fwexp.weighted_problem(FAMILIES[name].problem, c)


def linear(name, client):
    return Kernelised(kernelised(around(name), around(name), Kernel(0, 0, 0.0, 0.0)), name)


def view(name, client, c=None):
    return Viewed(protocol.kernel_view(around(name, c)), name, c=c)


def spread(name, client, c=None):
    return Spread(fwexp_distributed.shard(around(name, c), client, 2), name, c=c)


def case(name, client, c=None):
    return Case(around(name, c), name, c=c)


def subset(name, client):
    return Case(around(name).subset(some(name)), name, indices=some(name))


def subset_of_weights(name, client):
    c, chosen = weights_of(name), some(name)
    return Case(around(name, c).subset(chosen), name, indices=chosen, c=c / c[chosen].mean())


def share_of_weights(name, client):
    c, chosen = weights_of(name), some(name)
    return Case(share(around(name, c), chosen), name, indices=chosen, c=c)


def with_weights(build):
    return lambda name, client: build(name, client, weights_of(name))


OF_FUNCTIONS = [name for name, defined in FAMILIES.items() if not isinstance(defined.problem, tuple)]
FEW = ("dense chain", "classes with slack", "dense graphs", "functions", "pairs that count")  # for two wrappers, tested alone too
SPREAD = ("outputs", "functions")
AROUND = {  # how each wrapper is built, and around which families
    "nothing": (case, FAMILIES),
    "weights": (with_weights(case), FAMILIES),
    "a subset": (subset, FAMILIES),
    "a share of weights": (share_of_weights, FEW),
    "a subset of weights": (subset_of_weights, FEW),
    "a kernel": (linear, ("dense chain", "dense classes", "classes with slack")),
    "a view": (view, OF_FUNCTIONS),
    "a view of weights": (with_weights(view), OF_FUNCTIONS),
    "workers": (spread, SPREAD),
    "workers with weights": (with_weights(spread), SPREAD),
}
NOT_FOR = {  # wrappers, by how their names begin: functions that are not called with them, or that say something else there
    "a kernel": ("order_of_weights", "joint_feature", "oracle_operations", "curvatures", "unevenness"),
    "a view": (
        *("max_oracle", "decode", "loss", "as_labeling", "public_labeling", "joint_feature", "maximise_block", "kernel_view"),
        *("new_blocks", "copy_blocks", "divide_blocks", "has_room", "set_direction", "add_to_block", "scatter_block", "dot"),
        *("scatter_psi", "ask_oracle", "approach"),
        *("new_sums", "accumulate", "accumulate_psi", "scatter_sum"),
        *("costly_oracle", "forget", "ask_ahead", "counted_positions", "example"),
    ),
    "workers": (
        *(
            "all_labelings",
            "has_best_block",
            "best_block",
            "maximise_block",
            "loss_augmented_scores",
            "expectation_oracle",
            "expectation_scratch",
            "distance",
            "example_weight",
            "set_dense",
        ),
        *("decode", "joint_feature", "kernel_view", "ask_ahead", "forget", "costly_block", "counted_positions"),
        *("curvatures", "unevenness"),
    ),
}


@pytest.fixture(scope="module")
def client():
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def classes_around():
    """Return all classes of the package that register a function of the protocol, and are no families."""
    for package in ("fwexp.problems", "fwexp.distributed", "fwexp.solvers"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
            importlib.import_module(module.name)
    registered = {cls for name in tiers.functions() for cls in getattr(protocol, name).implementations}
    return {cls for cls in registered if cls.__module__.startswith("fwexp.")} - set(tiers.families())


def test_every_wrapper_is_there(client):
    built = {type(build(name, client).problem) for build, names in AROUND.values() for name in names}
    assert classes_around() <= {base for cls in built for base in cls.__mro__}
    assert {Weighted, WeightedFunctions} <= built


# --- what every function must return ----------------------------------------------------------------------------------


def radii_sq(case):
    radii = protocol.radii_sq(case.problem)
    assert len(radii) == case.d.n
    for i in case.examples:
        assert radii[i] >= (case.d.psi[i] ** 2).sum(axis=1).max() * (1 - 1e-9)


def workspace(case):
    assert isinstance(protocol.workspace(case.problem), protocol.Workspace)
    assert protocol.workspace(case.problem).direction is not protocol.workspace(case.problem).direction


def rescale(case):
    w = case.weights()
    for i, k in case.pairs():
        protocol.rescale(case.problem, i, -2.0, case.theta(i, w))
        same(protocol.psi_score(case.problem, i, case.raw(i, k), case.work.theta), -2.0 * case.d.psi[i][k] @ w)


def prefetch(case):
    for i in case.examples:
        protocol.prefetch_example(case.problem, i)


def operations(case):
    """They decide whether threads pay; problems that do not know them say 0."""
    assert 0.0 <= protocol.oracle_operations(case.problem) < np.inf


def as_of_the_problem(name):
    def check(case):
        function = getattr(protocol, name)
        assert function(case.problem) == function(case.d.base)

    return check


def scales_of_features(case):
    known = protocol.curvatures(case.problem)
    assert known is None or (known.shape == (case.problem.num_weights,) and known.min() >= 0.0 < known.max() < np.inf)
    assert protocol.unevenness(case.problem) >= 1.0


def example(case):
    assert type(protocol.example(case.problem)) is type(case.d.base)


def counted_positions(case):
    """In these losses every error costs 1, or the size of its node: where all is wrong, they are the positions."""
    own = [FAMILIES[case.name].of_all(i)[0] for i in case.d.indices]
    counts = "count" in case.name or "costs" in case.name
    positions = np.array([losses.max() if counts else 1.0 for losses in own])
    if "costs" in case.name:
        positions = np.array([len(of_one[0]) for of_one in case.d.labelings])
    same(protocol.counted_positions(case.problem), case.d.c * positions)
    w = case.weights()
    value = Evaluator(case.problem)(case.internal(w))
    if protocol.exact_oracle(case.problem):
        same(value.hinge, np.mean([case.values(i, w).max() for i in case.examples]))
        errors = [losses[scores.argmax()] for losses, scores in zip(own, (phi @ w for phi in case.d.phi))]
        same(value.error, case.d.c @ errors / (case.d.c @ positions))


def num_positions(case):
    found = [protocol.num_positions(case.problem, i) for i in case.examples]
    assert found == [protocol.num_positions(case.d.base, i) for i in case.d.indices]


def loss_weight(case):
    for i, k in case.pairs():
        assert protocol.loss_weight(case.problem, i, case.raw(i, k)) == 1.0


def forget(case):
    calls = getattr(case.d.base, "calls", None)
    for _ in range(2):
        protocol.forget(case.problem)
        before = calls and calls["loss"]
        loss(case)
        assert calls is None or calls["loss"] - before >= len({y for of_one in case.d.labelings for y in of_one})


def ask_ahead(case):
    calls, w = getattr(case.d.base, "calls", None), case.internal(case.weights())
    if calls is not None:
        case.d.base.n_jobs = protocol.original(case.problem).n_jobs = 2
    with joblib.parallel_config(backend="threading"):
        protocol.ask_ahead(case.problem, 0, case.d.n, w, True, False)
    before = calls and calls["max_oracle"]
    max_oracle(case, asked=[case.weights()])
    assert calls is None or calls["max_oracle"] == before


def kernel_view(case):
    view = protocol.kernel_view(case.problem)
    ptr = protocol.labeling_ptr(case.problem)
    for i, k in case.pairs():
        labelings = protocol.new_labelings(case.problem)
        for j in case.examples:
            protocol.store_labeling(case.problem, j, case.raw(j, k if j == i else 0), labelings)
        packed = view.pack(labelings, i, i + 1)
        storage, w = view.pack_storage(labelings, lambda: np.repeat(case.examples, np.diff(ptr))), case.weights()
        seen = view.problem
        work = protocol.workspace(seen)
        out = np.empty(1)
        protocol.scores(seen, i, case.internal(w), work.theta)
        same(protocol.psi_score(seen, i, protocol.stored_labeling(seen, i, packed), work.theta), case.d.psi[i][k] @ w)
        protocol.score_labelings(seen, i, storage, ptr[i : i + 1], case.internal(w), work, out)
        same(out, case.d.psi[i][k : k + 1] @ w)
    assert not view.too_large


def labelings_are_kept(case):
    labelings = protocol.new_labelings(case.problem)
    for i, k in case.pairs():
        protocol.store_labeling(case.problem, i, case.raw(i, k), labelings)
        kept = protocol.stored_labeling(case.problem, i, labelings)
        same(protocol.psi_score(case.problem, i, kept, case.theta(i, case.weights())), case.d.psi[i][k] @ case.weights())


def true_labeling(case):
    for i in case.examples:
        protocol.true_labeling(case.problem, i, case.work.y)
        score = protocol.psi_score(case.problem, i, case.work.y, case.theta(i, case.weights()))
        same(score, 0.0)
        if not isinstance(case, Viewed):
            assert protocol.loss(case.problem, i, case.work.y) == 0.0


def blocks_follow_corners(case):
    problem, blocks = case.problem, protocol.new_blocks(case.problem)
    rows, w, rng = {i: np.zeros_like(case.weights()) for i in case.examples}, case.weights(), np.random.default_rng(0)
    for i, k in case.pairs():
        if not protocol.has_room(problem, i, blocks):
            blocks = protocol.copy_blocks(problem, blocks)
        direction, wanted, gamma = case.work.direction, case.d.psi[i][k] - rows[i], rng.random()
        protocol.set_direction(problem, i, case.raw(i, k), blocks, direction)
        same(case.image(i, direction), wanted)
        same(protocol.dot(problem, i, direction, case.theta(i, w)), wanted @ w)
        protocol.set_direction(problem, i, case.raw(i, k), blocks, direction)
        same(protocol.norm_sq(problem, i, direction), wanted @ wanted)
        protocol.add_to_block(problem, i, direction, gamma, blocks)
        rows[i] = rows[i] + gamma * wanted
    copy, divided = protocol.copy_blocks(problem, blocks), protocol.divide_blocks(problem, blocks, 2)
    for i in case.examples:
        for here in (blocks, copy, divided):
            same(case.scattered(protocol.scatter_block, i, here, 2.0), 2.0 * rows[i])
    same(case.public(protocol.blocks_to_weights(problem, blocks, 0.5)), 0.5 * sum(rows.values()))


def vectors_of_parts(case):
    for i, k in case.pairs():
        psi, w = case.d.psi[i][k], case.weights()
        same(case.image(i, case.parts(i, k, 3.0)), 3.0 * psi)
        same(protocol.norm_sq(case.problem, i, case.parts(i, k, 3.0)), 9.0 * psi @ psi)
        if not isinstance(case, Viewed):
            same(protocol.dot(case.problem, i, case.parts(i, k, 3.0), case.theta(i, w)), 3.0 * psi @ w)
        for other in {0, k, len(case.d.losses[i]) - 1}:
            protocol.gram_scores(case.problem, i, case.parts(i, k, 3.0), case.work.image)
            product = protocol.psi_score(case.problem, i, case.raw(i, other), case.work.image)
            same(product, 3.0 * case.d.psi[i][other] @ psi)


def psi(case):
    for i, k in case.pairs():
        if not isinstance(case, Viewed):
            same(case.scattered(protocol.scatter_psi, i, case.raw(i, k), 2.0), 2.0 * case.d.psi[i][k])
        score = protocol.psi_score(case.problem, i, case.raw(i, k), case.theta(i, case.weights()))
        same(score, case.d.psi[i][k] @ case.weights())


def sums(case):
    (total,) = protocol.new_sums(case.problem, 1)
    wanted = np.zeros_like(case.weights())
    for i, k in case.pairs():
        protocol.accumulate(case.problem, i, case.parts(i, k), 2.0 + k, total)
        protocol.accumulate_psi(case.problem, i, case.raw(i, k), -1.0, total)
        wanted += (1.0 + k) * case.d.psi[i][k]
    same(case.scattered(protocol.scatter_sum, total, 0.5), 0.5 * wanted)


def all_labelings(case):
    for i in case.examples:
        found = [case.number(i, y) for y in protocol.all_labelings(case.problem, i, 100)]
        assert sorted(found) == list(range(len(case.d.losses[i])))
        with pytest.raises(ParameterError):
            protocol.all_labelings(case.problem, i, len(found) - 1)


def blocks_are_maximised(case, moves=False):
    """From the block of one labeling: afterwards no labeling is better than the block, so that it is the best one."""
    problem, work, c = case.problem, case.work, 0.7
    if not has(problem, ["has_best_block"]) or not protocol.has_best_block(problem):
        return
    for i, k in case.pairs():
        blocks, w = protocol.new_blocks(problem), case.weights()
        protocol.set_direction(problem, i, case.raw(i, k), blocks, work.direction)
        protocol.add_to_block(problem, i, work.direction, 1.0, blocks)
        psi, ell, theta = case.d.psi[i][k], case.d.losses[i][k], case.theta(i, w)
        if moves:
            gap, best = protocol.maximise_block(problem, i, theta, c, ell, blocks, work)
            same(gap, case.values(i, w).max() - (ell - psi @ w))
        else:
            best = protocol.best_block(problem, i, theta, c, blocks, work.direction, work.scratch)
            protocol.add_to_block(problem, i, work.direction, 1.0, blocks)
        there = case.scattered(protocol.scatter_block, i, blocks, 1.0)
        same(case.values(i, w + c * (there - psi)).max(), best - there @ (w + c * (there - psi)))


def distributions_rise(case):
    """From the truth to the best distribution: gaps are those of the values of all labelings, and the dual never falls."""
    problem, c, cost, temperature, first = case.problem, 0.7, 0.5, 0.8, case.weights()
    if not protocol.has_distributions(problem):
        return
    for i in case.examples:
        tau, ell, dual, gap = temperature * protocol.example_weight(problem, i), 0.0, 0.0, 0.0
        means, mean = np.zeros(problem.part_ptr[-1]), np.zeros_like(first)
        for _ in range(30 * (tau > 0.0)):
            w, before = first + c * mean, ell
            gap, ell = protocol.raise_distribution(problem, i, case.theta(i, w), c, ell, cost, temperature, means, case.work)
            value = tau * np.logaddexp.reduce((cost * case.d.losses[i] - case.d.psi[i] @ w) / tau)
            same(gap, value - (before - mean @ w))
            mean = mean + case.image(i, case.work.direction) if gap > 0.0 else mean
            before, dual = dual, ell - mean @ first - 0.5 * c * mean @ mean
            assert dual >= before - 1e-12
        assert gap < 1e-9


def example_weight(case):
    same([protocol.example_weight(case.problem, i) for i in case.examples], case.d.c)


def expectations(case):
    """Those of the distribution in proportion to exp(c H_i(y)); the log-partition is that of the same potentials."""
    problem, w, c = case.problem, case.weights(), 0.6
    base, scratch = case.d.base, protocol.expectation_scratch(problem)
    if not tiers.has(base, "expectations"):  # graphs with cycles
        return
    for i in range(case.d.n):
        potentials, mean = np.zeros_like(case.work.theta), np.zeros_like(case.work.theta)
        protocol.loss_augmented_scores(problem, i, case.theta(i, w), c, 1.0, potentials)
        given = potentials.copy()
        log_z, mean_loss, entropy = protocol.expectation_oracle(problem, i, potentials, mean, scratch)
        shares = np.exp(c * case.values(i, w))
        shares /= shares.sum()
        same(mean_loss, shares @ case.d.losses[i])
        same(entropy, -shares @ np.log(shares))
        protocol.set_dense(problem, i, mean, case.work.direction)
        same(case.image(i, case.work.direction), shares @ case.d.psi[i])
        # From the distribution at the truth, whose parts are 0, to this one.
        true = np.argmin(case.d.losses[i] + np.abs(case.d.psi[i]).sum(axis=1))
        assert 0.0 <= protocol.distance(problem, i, case.work.direction) <= 2.0 * (1.0 - shares[true]) + 1e-12
        again = protocol.expectation_oracle(base, case.d.indices[i], given, mean, protocol.expectation_scratch(base))
        same(log_z, again[0])


def with_inputs(case):
    if isinstance(case, Kernelised):
        return
    inputs = protocol.original(case.problem)
    changed = DenseFeatures(2.0 * inputs.x.values)
    problem = protocol.with_inputs(case.problem, changed, inputs.num_features)
    assert type(problem) is type(case.problem)
    other, part = Case(problem, case.name), inputs.num_features * (getattr(inputs, "num_states", None) or inputs.num_classes)
    other.d = case.d
    for i, k in case.pairs():
        wanted = case.d.psi[i][k].copy()
        wanted[:part] *= 2.0
        same(other.scattered(protocol.scatter_psi, i, other.raw(i, k), 1.0), wanted)
        same(protocol.norm_sq(problem, i, other.parts(i, k)), wanted @ wanted)
        same(protocol.loss(problem, i, other.raw(i, k)), case.d.losses[i][k])


def inner(case):
    u, v = case.weights(1), case.weights(2)
    same(protocol.inner(case.problem, case.internal(u), case.internal(v)), u @ v)


def max_oracle(case, asked=None):
    for w in asked or [np.zeros_like(case.weights()), case.weights(), case.weights(3) / 10, -case.weights()]:
        if (w < case.weights()).any() and len(case.d.base.nonnegative):
            w = np.abs(w)
        for i in case.examples:
            value = protocol.max_oracle(case.problem, i, case.theta(i, w), case.work.y, case.work.scratch)
            values = case.values(i, w)
            if protocol.exact_oracle(case.problem):
                same(value, values.max())
            same(value, values[case.number(i, case.work.y)])


def steps_of_bcfw(case):
    """Several functions in one call."""
    problem, work, w = case.problem, case.work, case.weights(3) / 10
    blocks = protocol.copy_blocks(problem, protocol.new_blocks(problem))
    for i in case.examples:
        value = protocol.ask_oracle(problem, i, case.internal(w), work)
        k = case.number(i, work.y)
        if protocol.exact_oracle(problem):
            same(value, case.values(i, w).max())
        loss_y, slope, length_sq = protocol.approach(problem, i, work.y, work.theta, blocks, work.direction)
        psi = case.image(i, work.direction)  # from the truth, where blocks begin
        same(psi, case.d.psi[i][k])
        same([loss_y, slope, length_sq], [case.d.losses[i][k], psi @ w, psi @ psi])


def decode(case):
    for i in case.examples:
        w = case.weights(4)
        protocol.decode(case.problem, i, case.theta(i, w), case.work.y, case.work.scratch)
        scores = case.d.phi[i] @ w
        if protocol.exact_oracle(case.problem):
            same(scores[case.number(i, case.work.y)], scores.max())
        else:
            assert scores[case.number(i, case.work.y)] >= scores[0] - 1e-9


def loss(case):
    for i, k in case.pairs():
        same(protocol.loss(case.problem, i, case.raw(i, k)), case.d.losses[i][k])


def labelings_in_both_forms(case):
    for i, k in case.pairs():
        found = case.number(i, case.raw(i, k))
        alike = isinstance(case, Spread) and (case.d.psi[i][found] == case.d.psi[i][k]).all()  # except for their numbers
        assert found == k or alike


def joint_feature(case):
    for i, k in case.pairs():
        same(protocol.joint_feature(case.problem, i, case.raw(i, k)).toarray()[0], case.d.c[i] * case.d.phi[i][k])


def labelings_are_told_apart(case):
    for i in case.examples:
        storage, places = case.stored(i)
        differ = np.abs(case.d.psi[i][:, None] - case.d.psi[i]).max(axis=2) + np.abs(case.d.losses[i][:, None] - case.d.losses[i])
        for k in range(len(places)):
            told = [protocol.same_labeling(case.problem, i, case.raw(i, k), storage, place) for place in places]
            # of workers only those of which a step can tell the difference
            assert told == ([bool(x == 0.0) for x in differ[k]] if isinstance(case, Spread) else [a == k for a in range(len(told))])
            assert protocol.find_labeling(case.problem, i, case.raw(i, k), storage, places) == told.index(True)
            assert protocol.find_labeling(case.problem, i, case.raw(i, k), storage, places[:0]) == -1


def sets_of_labelings(case):
    for i in case.examples:
        (storage, places), w, work = case.stored(i), case.weights(), case.work
        c, out = np.arange(1.0, len(places) + 1), np.empty(len(places))
        protocol.score_labelings(case.problem, i, storage, places, case.internal(w), work, out)
        same(out, case.d.psi[i] @ w)
        protocol.complete_scores(case.problem, i, case.internal(w), work)
        same([protocol.psi_score(case.problem, i, case.raw(i, k), work.theta) for k in range(len(places))], case.d.psi[i] @ w)
        protocol.psi_scores(case.problem, i, storage, places, work.theta, out)
        same(out, case.d.psi[i] @ w)
        protocol.set_psi(case.problem, i, case.raw(i, 0), work.direction)
        same(case.image(i, work.direction), case.d.psi[i][0])
        protocol.set_labelings(case.problem, i, storage, places, c, work.direction)
        same(case.image(i, work.direction), c @ case.d.psi[i])
        weights = protocol.new_weights(case.problem)
        protocol.scatter_labelings(case.problem, i, storage, places, c, 0.5, work.direction, weights)
        same(case.public(weights), 0.5 * c @ case.d.psi[i])


def weights_in_both_forms(case):
    w = case.weights()
    same(case.public(case.internal(w)), w)
    own = protocol.to_public(case.problem, case.internal(w))
    same(protocol.to_public(case.problem, protocol.from_public(case.problem, own)), own)


def check_weights(case):
    w, bounded = case.weights(), len(case.d.base.nonnegative) > 0
    protocol.check_weights(case.problem, w)
    if bounded:
        with pytest.raises(ParameterError, match="w must be >= 0"):
            protocol.check_weights(case.problem, -np.abs(w))


EXPECTED = {  # of every function of the protocol
    "radii_sq": radii_sq,
    "workspace": workspace,
    "rescale": rescale,
    "prefetch_example": prefetch,
    "oracle_operations": operations,
    **{
        name: as_of_the_problem(name)
        for name in (
            "costly_oracle",
            "cheap_oracle",
            "exact_oracle",
            "has_best_block",
            "has_marginals",
            "has_distributions",
            "costly_block",
        )
    },
    "order_of_weights": as_of_the_problem("order_of_weights"),
    **dict.fromkeys(("curvatures", "unevenness"), scales_of_features),
    "example": example,
    "counted_positions": counted_positions,
    "num_positions": num_positions,
    "loss_weight": loss_weight,
    "forget": forget,
    "ask_ahead": ask_ahead,
    "kernel_view": kernel_view,
    "true_labeling": true_labeling,
    **dict.fromkeys(("new_labelings", "store_labeling", "stored_labeling"), labelings_are_kept),
    **dict.fromkeys(
        ("new_blocks", "copy_blocks", "divide_blocks", "has_room", "set_direction", "add_to_block"), blocks_follow_corners
    ),
    "scatter_block": blocks_follow_corners,
    **dict.fromkeys(("clear", "close", "add_psi", "dot", "norm_sq", "scatter", "gram_scores"), vectors_of_parts),
    **dict.fromkeys(("scatter_psi", "psi_score", "scores"), psi),
    **dict.fromkeys(("new_sums", "accumulate", "accumulate_psi", "scatter_sum"), sums),
    "all_labelings": all_labelings,
    "best_block": blocks_are_maximised,
    "maximise_block": lambda case: blocks_are_maximised(case, moves=True),
    "raise_distribution": distributions_rise,
    **dict.fromkeys(("loss_augmented_scores", "expectation_oracle", "expectation_scratch", "distance", "set_dense"), expectations),
    "example_weight": example_weight,
    "with_inputs": with_inputs,
    "inner": inner,
    "max_oracle": max_oracle,
    **dict.fromkeys(("ask_oracle", "approach"), steps_of_bcfw),
    "decode": decode,
    "loss": loss,
    **dict.fromkeys(("as_labeling", "public_labeling"), labelings_in_both_forms),
    "joint_feature": joint_feature,
    **dict.fromkeys(("labeling_ptr", "new_storage", "same_labeling", "find_labeling"), labelings_are_told_apart),
    **dict.fromkeys(("add_labelings", "scatter_labelings", "score_labelings", "complete_scores"), sets_of_labelings),
    **dict.fromkeys(("psi_scores", "set_psi", "set_labelings"), sets_of_labelings),
    **dict.fromkeys(("to_public", "from_public"), weights_in_both_forms),
    "check_weights": check_weights,
}


def test_every_function_has_an_expectation():
    assert set(EXPECTED) == set(tiers.functions())


def of_one_example(problem, i, theta, c):
    """Take an example, and a factor as the fourth argument."""


def of_all_examples(problem, c):
    """Take all examples."""


@pytest.mark.parametrize(
    ("declare", "stub"),
    [
        (protocol.degree, of_one_example),
        (protocol.degree(), of_one_example),
        (protocol.degree(3), of_one_example),
        (protocol.degree("c"), of_all_examples),
        (protocol.degree("c"), lambda problem, i, c: None),
    ],
)
def test_functions_without_a_degree_are_refused(declare, stub):
    with pytest.raises(
        TypeError, match=r"must declare its degree in c_i: @degree\(0\), \(1\), \(2\), \(\"c\"\), \(\"composed\"\) or \(by=...\)$"
    ):
        declare(stub)


def test_functions_of_the_protocol_are_not_declared_otherwise():
    module = ModuleType("protocol")
    module.of_one_example = dispatched(of_one_example)
    with pytest.raises(TypeError, match=r"of_one_example must declare its degree in c_i: @degree of .*, not @dispatched"):
        tiers.functions(module)


def has(problem, names) -> bool:
    """Whether a family has functions."""
    return not any(set(names) & set(tiers.lacking(problem, tier)) for tier in tiers.TIERS)


CHECKS: dict = {}  # the functions that each looks at
for each, check in EXPECTED.items():
    CHECKS.setdefault(check, []).append(each)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("check", [pytest.param(check, id=" ".join(names)) for check, names in CHECKS.items()])
def test_every_function_of_every_wrapper_is_as_defined(check, around, client):
    build, families = AROUND[around]
    left_out = {name for kind, names in NOT_FOR.items() if around.startswith(kind) for name in names}
    functions = [name for name in CHECKS[check] if name not in left_out]
    for name in families if functions else ():
        case = build(name, client)
        if has(case.d.base, functions):
            check(case)


# --- that these tests see errors --------------------------------------------------------------------------------------

OWN = [  # functions of which examples with weights do not just pass on what the problem itself returns
    name for name in tiers.functions() if getattr(protocol, name).degree not in (0, "composed")
]


@pytest.mark.parametrize("function", OWN)
def test_a_function_that_forgets_the_weights_is_seen(function, monkeypatch):
    own = getattr(protocol, function)
    monkeypatch.setitem(own.implementations, protocol.WithWeights, lambda problem, *args: own(problem.unweighted, *args))
    seen = []
    for name in FAMILIES:
        if has(around(name), [function]):
            try:
                EXPECTED[function](case(name, None, weights_of(name)))
            except AssertionError:
                seen.append(name)
    assert seen

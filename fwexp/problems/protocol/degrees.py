"""Weights of examples: how the weight c_i of an example enters the functions of the protocol.

c_i H_i(w) = max_y c_i L_i(y) - <w, c_i psi_i(y)>, so a problem whose examples have weights is the one with losses c_i L_i and
features c_i psi_i: what all solvers make of it follows. With psi_i(y) = F_i' p_i(y), the weight is put on F_i'. Vectors of parts,
part scores theta and labelings are those of the problem itself, and functions on them alone have degree 0.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fwexp.jit.compilation import dispatched

if TYPE_CHECKING:
    F = TypeVar("F", bound=Callable[..., Any])

    class Declared(Protocol):
        """A function of the protocol, with which a family registers its implementation."""

        def __call__(self, problem: Any, *args: Any) -> Any: ...

        def register(self, family: type, /) -> Callable[[F], F]: ...


class WithWeights:
    """The base of problems around another one, ``unweighted``, whose examples have weights ``c``, float64 (n,)."""

    __slots__ = ()


def degree(
    power: int | str | None = None, *, by: Callable[..., Any] | None = None, tier: str | None = None, **options: Any
) -> "Callable[[Callable[..., Any]], Declared]":
    """Declare a function of the protocol, and its degree in c_i; ``options`` are those of `dispatched`.

    Functions that are not for plain Python alone, as their docstrings say, are entries: methods call them in compiled code.

    Parameters
    ----------
    power : {0, 1, 2, "c", "composed"}
        The power of c_i in what the function returns, for an example i or for all of them; "c" if it returns nothing and c_i
        is a factor of its fourth argument; "composed" if it only calls other functions of the problem: several in one call, which
        is what methods pay for.
    by : callable, optional
        Instead, ``by(function)`` returns the implementation for problems with weights.
    tier : str, optional
        The tier that the function belongs to, by whose name solvers ask for it.
    """
    if callable(power):
        return degree()(power)

    def declare(stub: Callable) -> Callable:
        names = stub.__code__.co_varnames[: stub.__code__.co_argcount]
        form = by or (OF_EXAMPLE if "i" in names else OF_ALL).get(power)
        if power == "composed":
            form, options["default"], options["composed"] = (lambda function: stub), (), True
        if form is None or (power == "c" and names[3:4] != ("c",)):
            raise TypeError(
                f'{stub.__name__} must declare its degree in c_i: @degree(0), (1), (2), ("c"), ("composed") or (by=...)'
            )
        function = dispatched(stub, **{"entry": "(plain Python" not in stub.__doc__} | options)
        function.degree, function.tier = by or power, tier
        function.register(WithWeights)(form(function))
        return function

    return declare


def _unchanged(function):
    def of_degree_0(problem, *args):
        return function(problem.unweighted, *args)

    return of_degree_0


def _times_weight(function):
    def of_degree_1(problem, i, *args):
        return problem.c[i] * function(problem.unweighted, i, *args)

    return of_degree_1


def _times_square(function):
    def of_degree_2(problem, i, *args):
        return problem.c[i] ** 2 * function(problem.unweighted, i, *args)

    return of_degree_2


def _times_weights(function):
    def of_degree_1(problem):
        return problem.c * function(problem.unweighted)

    return of_degree_1


def _times_squares(function):
    def of_degree_2(problem):
        return problem.c**2 * function(problem.unweighted)

    return of_degree_2


def _by_factor(function):
    def of_degree_c(problem, i, argument, c, *args):
        function(problem.unweighted, i, argument, c * problem.c[i], *args)

    return of_degree_c


OF_ALL = {0: _unchanged, 1: _times_weights, 2: _times_squares}  # functions of all examples, by degree
OF_EXAMPLE = {0: _unchanged, 1: _times_weight, 2: _times_square, "c": _by_factor}

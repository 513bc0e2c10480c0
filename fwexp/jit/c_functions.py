"""C functions: oracles on arrays, and what the families have for the protocol, which methods call through a table of addresses.

Both sides of a call know the form of a function by the names of its parameters: numbers, arrays of one dimension (an address and a
length), and addresses of rows or of places that hold a vector of the family. A function is compiled when it is called first; until
then there is a stub in the table, which Python runs. A C function cannot raise: what would be raised is kept until the kernel ends.
"""

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import types

from fwexp.jit import addresses, texts

INTS = ("i", "t", "u", "start", "end", "label", "width", "num_classes")
REALS = ("c", "cost", "factor", "mean_loss", "temperature")
ADDRESSES = ("problem", "direction", "blocks", "work", "x", "z")
LABELS = ("y", "storage", "labelings")  # arrays of the family's own type
INT_ARRAYS = ("places",)
RETURNS = {None: "none", float: "float64", int: "int64", bool: "int64"}
C_TYPES = {"none": None, "int64": ctypes.c_int64, "float64": ctypes.c_double}


class Signature(NamedTuple):
    """The form of a C function."""

    names: tuple[str, ...]  # of the parameters
    returned: str  # "none", "int64" or "float64"
    results: int = 0  # how many numbers it returns in an array, which is the last argument
    is_truth: bool = False  # whether what it returns is true or false

    @classmethod
    def of(cls, stub: Callable) -> "Signature":
        """Return the form that a function is declared with."""
        names, returned = stub.__code__.co_varnames[: stub.__code__.co_argcount], stub.__annotations__.get("return")
        if getattr(returned, "__origin__", None) is tuple:
            return cls(names, "none", len(returned.__args__))
        return cls(names, RETURNS[returned], is_truth=returned is bool)

    @property
    def wanted(self) -> tuple:
        """The forms of what callers pass, see `addresses.caller`."""
        return tuple(map(_form, self.names)) + (("float64", 1),) * (self.results > 0)


def _flat(wanted: tuple) -> list[str]:
    """Return the types of the parameters in C."""
    return [part for form in wanted for part in ([form] if isinstance(form, str) else ["int64"] * (1 + form[1]))]


def in_numba(wanted: tuple, returned: str):
    """Return the type of a function in numba."""
    return getattr(types, returned)(*(getattr(types, part) for part in _flat(wanted)))


def in_ctypes(wanted: tuple, returned: str):
    """Return the type of a function in ctypes."""
    return ctypes.CFUNCTYPE(C_TYPES[returned], *(C_TYPES[part] for part in _flat(wanted)))


def _form(name: str):
    if name in INTS or name in ADDRESSES:
        return "int64"
    if name in REALS:
        return "float64"
    return (None if name in LABELS else "int64" if name in INT_ARRAYS else "float64"), 1


class Named:
    """A C function that other code calls by a name, after it was loaded; ``link`` returns its text, and what loads its callees."""

    def __init__(self, wanted: tuple, returned: str, link: Callable[[], tuple[texts.Text, Callable[[], None]]]) -> None:
        self.wanted, self.returned, self._link = wanted, returned, link
        self._compiled = None

    @cached_property
    def _linked(self) -> tuple[texts.Text, Callable[[], None]]:
        return self._link()

    @property
    def text(self) -> texts.Text:
        """The text that numba gets."""
        return self._linked[0]

    @property
    def caller(self) -> Callable:
        """The function that calls it in linked code."""
        return addresses.caller(self.wanted, self.returned, self.text.key)

    def load(self) -> int:
        """Return the address of the function, compiled and known by its name from now on."""
        if self._compiled is None:
            with texts.compilation():
                if self._compiled is None:
                    text, load_called = self._linked
                    load_called()
                    compiled = texts.compiled_c_function(text, in_numba(self.wanted, self.returned))
                    addresses.name_code(text.key, compiled.address)
                    self._compiled = compiled
                    self._is_compiled()
        return self._compiled.address

    def _is_compiled(self) -> None:
        """Note that the address is known."""

    def in_ctypes(self):
        """Return the type of the function in ctypes."""
        return in_ctypes(self.wanted, self.returned)


class Entry(Named):
    """A function of the protocol, as methods call it for a family: compiled when it is called first."""

    def __init__(self, signature: Signature, link: Callable) -> None:
        super().__init__(signature.wanted, signature.returned, link)
        self._places: list[tuple[np.ndarray, int]] = []
        self._stub = self._failure = None

    def write_to(self, table: np.ndarray, place: int) -> None:
        """Write the address to a place of a table, now and whenever it changes."""
        if self._compiled is not None:
            table[place] = self._compiled.address
            return
        if self._stub is None:
            self._stub = self.in_ctypes()(self._call_first)
        self._places.append((table, place))
        table[place] = ctypes.cast(self._stub, ctypes.c_void_p).value

    def _is_compiled(self) -> None:
        for table, place in self._places:
            table[place] = self._compiled.address
        self._places.clear()

    def _call_first(self, *args):
        try:
            if self._failure is not None:
                raise self._failure.with_traceback(None)  # otherwise the former ones would be in it
            return self.in_ctypes()(self.load())(*args)
        except BaseException as error:
            self._failure = error
            keep(error)
            return 0


# --- what is raised in C functions ------------------------------------------------------------------------------------

_kept = threading.local()


def keep(error: BaseException) -> None:
    """Keep an exception of a C function until the kernel of this thread has ended."""
    if getattr(_kept, "first", None) is None:
        _kept.first = error


def run(function: Callable, *args):
    """Return what compiled code returns; what its C functions raise meanwhile is raised after it."""
    if sys.unraisablehook is not _hear:
        _listen()
    outside, _kept.is_running = getattr(_kept, "is_running", False), True
    try:
        result = function(*args)
    finally:
        _kept.is_running = outside
    error, _kept.first = getattr(_kept, "first", None), None
    if error is not None:
        raise error
    return result


_otherwise = sys.__unraisablehook__


def _hear(unraisable) -> None:
    """Keep what numba's C functions raise, with the name of the part of numba that compiled them."""
    ours = isinstance(unraisable.object, str) and unraisable.object.startswith("<numba.core.cpu.CPUContext")
    if ours and getattr(_kept, "is_running", False):
        keep(unraisable.exc_value)
        return
    again, _kept.is_told = getattr(_kept, "is_told", False), True
    try:  # The other one may call this one, which it found here.
        (sys.__unraisablehook__ if again else _otherwise)(unraisable)
    finally:
        _kept.is_told = again


def _listen() -> None:
    """Hear what cannot be raised: others, such as pytest, take this place, too."""
    global _otherwise
    _otherwise, sys.unraisablehook = sys.unraisablehook, _hear

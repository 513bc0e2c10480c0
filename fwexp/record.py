"""Records: trees of arrays and numbers that can be saved and compared, and that carry all that a solver changes.

A record is a dataclass or a NamedTuple whose fields are arrays, numbers, text, booleans, None, random generators, and
tuples, lists, dicts and records of these. ``to_arrays`` writes one as a flat dict of arrays for ``numpy.savez``, without
pickle; ``from_arrays`` builds an equal one, in another process too. Only classes of modules that are imported already are
ever built, so a file cannot make anything run.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from fwexp.errors import ParameterError

TREE = "tree"  # the array that holds the shape of the record as JSON
PLAIN = (bool, int, float, str, type(None))
GENERATORS = ("PCG64", "PCG64DXSM")  # bit generators whose state is numbers alone
LINE = 64  # bytes; arrays start at such an address, so that they are cut into vectors alike wherever they are restored


def to_arrays(record) -> dict[str, np.ndarray]:
    """Return ``record`` as a dict of arrays of its own, which do not change when the record does."""
    arrays: dict[str, np.ndarray] = {}
    tree = _flatten(record, "record", arrays)
    return {TREE: np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8), **arrays}


def from_arrays(arrays: Mapping[str, np.ndarray]):
    """Return the record that `to_arrays` wrote, with arrays of its own."""
    try:
        return _build(json.loads(bytes(arrays[TREE])), arrays)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ParameterError(f"the arrays must be those of a record, got {type(error).__name__}: {error}") from error


def copy(record):
    """Return an equal record that shares no array with this one."""
    return from_arrays(to_arrays(record))


def same(a, b) -> bool:
    """Return whether two records are equal, bit for bit."""
    first, second = to_arrays(a), to_arrays(b)
    return first.keys() == second.keys() and all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in ((first[name], second[name]) for name in first)
    )


def _flatten(value, where: str, arrays: dict[str, np.ndarray]):
    """Return the JSON node of ``value``: plain values as they are, all others as ``[kind, ...]``."""
    if isinstance(value, float) and not isinstance(value, np.floating):
        return ["float", value.hex()]
    if isinstance(value, PLAIN) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise ParameterError(f"{where} must hold numbers to be saved, got an array of objects")
        name = str(len(arrays))
        arrays[name] = np.array(value)
        return ["array" if isinstance(value, np.ndarray) else "scalar", name]
    if isinstance(value, np.random.Generator) and value.bit_generator.state["bit_generator"] in GENERATORS:
        return ["generator", value.bit_generator.state]
    if isinstance(value, dict):
        pairs = [(_flatten(k, f"a key of {where}", arrays), _flatten(v, f"{where}[{k!r}]", arrays)) for k, v in value.items()]
        return ["dict", pairs]
    if fields := _fields(type(value)):
        nodes = {name: _flatten(getattr(value, name), f"{where}.{name}", arrays) for name in fields}
        return ["record", type(value).__module__, type(value).__qualname__, nodes]
    if type(value) in (list, tuple):
        return [type(value).__name__, [_flatten(item, f"{where}[{k}]", arrays) for k, item in enumerate(value)]]
    raise ParameterError(f"{where} must be an array, number, text or a record of these to be saved, got {type(value).__name__}")


def _build(node, arrays: Mapping[str, np.ndarray]):
    if not isinstance(node, list):
        return node
    kind, *rest = node
    match kind:
        case "float":
            return float.fromhex(rest[0])
        case "array":
            return aligned(arrays[rest[0]])
        case "scalar":
            return arrays[rest[0]][()]
        case "generator":
            generator = np.random.Generator(getattr(np.random, _bit_generator(rest[0]))())
            generator.bit_generator.state = rest[0]
            return generator
        case "dict":
            return {_build(key, arrays): _build(item, arrays) for key, item in rest[0]}
        case "list":
            return [_build(item, arrays) for item in rest[0]]
        case "tuple":
            return tuple(_build(item, arrays) for item in rest[0])
        case "record":
            cls = _class(*rest[:2])
            return _make(cls, {name: _build(item, arrays) for name, item in rest[2].items()})
    raise ValueError(f"unknown kind {kind!r}")


def aligned(array: np.ndarray) -> np.ndarray:
    """Return a copy of an array that starts at a cache line."""
    room = np.empty(array.nbytes + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _bit_generator(state) -> str:
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise ValueError(f"unknown bit generator {name!r}")
    return name


def _fields(cls: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or NamedTuple, else nothing."""
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return getattr(cls, "_fields", ()) if issubclass(cls, tuple) else ()


def _class(module: str, name: str) -> type:
    cls: Any = sys.modules.get(module)
    for word in name.split("."):
        cls = getattr(cls, word, None)
    if not (isinstance(cls, type) and _fields(cls)):
        raise ValueError(f"{module}.{name} is no record that is known here")
    return cls


def _make(cls: type, values: dict):
    if issubclass(cls, tuple):
        return cls(**values)
    if set(values) != set(_fields(cls)):
        raise ValueError(f"{cls.__qualname__} has other fields")
    made = object.__new__(cls)  # as it was, without the effects of a constructor
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made

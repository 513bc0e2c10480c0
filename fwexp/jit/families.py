"""Families of problems, as methods see them: the functions of the protocol as C functions, for problems of one kind."""

from collections.abc import Callable, Iterable

from fwexp.jit import c_functions, kinds, texts
from fwexp.jit.c_functions import Entry
from fwexp.jit.linked_calls import Calls, linked_c_function
from fwexp.jit.texts import Text


class Family:
    """The functions of the protocol for problems of a kind, as C functions that methods call."""

    def __init__(self, cls: type, own: dict[str, kinds.Kind]) -> None:
        self._cls, self._kinds, self._entries, self.is_old = cls, own, {}, False
        self._dtypes = {name: own[name].dtype for name in c_functions.LABELS if name in own}

    def check(self, given: Iterable[tuple[str, kinds.Kind]]) -> None:
        """Refuse arguments that are not of the types that problems of this kind have; C functions could not tell."""
        for name, kind in given:
            own = self._kinds.get(name)
            if name in ("direction", "blocks", *c_functions.LABELS) and own is not None and _form_of(kind) != _form_of(own):
                raise TypeError(f"{name} must be what {self._cls.__name__} has, {_form_of(own)}, got {_form_of(kind)}")
            if isinstance(kind, kinds.Row) and name != "problem":
                self.check((field, inner) for field, (_, inner) in kind.fields.items())

    def entry(self, function: Callable) -> Entry:
        """Return a function of the protocol."""
        if function not in self._entries:
            if (target := function.find(self._cls)) is None:
                raise TypeError(f"{function.__name__} is not available for {self._cls.__name__}")
            self._entries[function] = Entry(function.signature, lambda: self._link(function, target))
        return self._entries[function]

    def _link(self, function: Callable, target: Callable) -> tuple[Text, Callable[[], None]]:
        """Return the text of a function of the protocol. One that calls others is short, unless steps of the family are."""
        calls_others = target is function.composed and not getattr(self._cls, "small", False)
        calls, signature = Calls(self.entry if calls_others else None), function.signature
        given = [self._kinds.get(name) for name in signature.names]
        if calls_others:
            own = ("direction", "blocks")
            given = [kinds.erased(name) if name in own else kind for name, kind in zip(signature.names, given, strict=True)]
        name = f"{function.__name__}_{self._cls.__name__}"
        return linked_c_function(calls, name, target, signature, given, self._dtypes, function.fastmath), calls.load


_families: dict[tuple[kinds.Kind, ...], Family] = {}
_describe: Callable = lambda problem: {}  # noqa: E731


def describes_families(function: Callable) -> Callable:
    """State what returns, for a problem, a value of every type that is its family's own, by the names of parameters."""
    global _describe
    _describe = function
    return function


def _kind_of(value) -> kinds.Kind:
    return kinds.Packed(value).kind if isinstance(value, tuple) else kinds.array(value.dtype.name, value.ndim)


def _form_of(kind: kinds.Kind):
    """Return the type of a value, whether or not an array is empty."""
    return f"an array of {kind.dtype}, {kind.ndim} dimensions" if isinstance(kind, kinds.Array) else getattr(kind, "cls", kind)


def family_of(problem, row: kinds.Packed) -> Family:
    """Return the functions of the protocol for a problem; which types its vectors and labelings have may depend on the problem."""
    own = {name: _kind_of(value) for name, value in _describe(problem).items()} | {"problem": row.kind}
    key = tuple(own.values())
    with texts.compilation():
        return _families.setdefault(key, Family(type(problem), own))


def forget() -> None:
    """Forget all families: a function that is registered late may take part in them."""
    for family in _families.values():
        family.is_old = True
    _families.clear()

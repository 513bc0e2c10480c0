"""Which functions of the protocol a problem family has to register, and for what: one table, of the protocol's files.

Every family registers the ``required`` ones; all solvers but those that declare more run on them. What a family does not
register is derived (``labelings``, ``dense_parts``), provided that it has the fields and functions from which it follows.
"""

from functools import cache

from fwexp.problems import protocol
from fwexp.problems.protocol import bounds, enumeration, exact, expectations, kernels, required, sets

REQUIRED = "required"


@cache
def functions(module=protocol) -> tuple[str, ...]:
    """Return the names of all functions of the protocol, or of those in one of its files."""
    return tuple(name for name, value in vars(module).items() if hasattr(value, "implementations"))


# By the names of their files, in which the functions of a tier, and no others, are declared.
TIERS: dict[str, tuple[str, ...]] = {
    module.__name__.rpartition(".")[2]: functions(module)
    for module in (required, sets, expectations, kernels, bounds, enumeration, exact)
}

UNDERIVED = ("inner",)  # the default is that of weights of features, which is not enough for a tier
AROUND = ("fwexp.problems.weighted", "fwexp.problems.timed")  # problems of any family, with something around them
FIELDS = ("part_ptr", "label_ptr", "labels")  # of a family, those that some derived functions read


def functions_of(tier: str) -> tuple[str, ...]:
    """Return the functions of a tier; to the required ones belong those of no tier, which are all derived as a rule."""
    if tier != REQUIRED:
        return TIERS[tier]
    others = {name for names in TIERS.values() for name in names}
    return (*TIERS[tier], *(name for name in functions() if name not in others))


def missing(family, tier: str) -> list[str]:
    """Return the functions of a tier that a family neither registers nor derives.

    Parameters
    ----------
    family : problem or type
        A problem, or the class of a family whose fields are those of a ``NamedTuple``.
    tier : str
    """
    if isinstance(family, tuple):  # whose fields are those of its class
        family = type(protocol.original(family))
    if not isinstance(family, type):
        return _unavailable(family, tier)
    return list(_missing(family, tier, tuple(map(len, _implementations()))))


def _unavailable(family, tier: str) -> list[str]:
    return [name for name in functions_of(tier) if not _available(family, name)]


@cache
def _implementations() -> tuple[dict, ...]:
    return tuple(getattr(protocol, name).implementations for name in functions())


@cache
def _missing(family: type, tier: str, implementations: tuple[int, ...]) -> list[str]:
    """The same, as long as there are as many implementations of each function."""
    return _unavailable(family, tier)


def _available(family, name: str) -> bool:
    function = getattr(protocol, name)
    family = family if isinstance(family, type) else protocol.original(family)  # weights of examples need nothing more
    implementation = function.find(family if isinstance(family, type) else type(family))
    if implementation is None or implementation is not function.implementations.get(object):
        return implementation is not None
    names = implementation.__code__.co_names
    known = all(hasattr(family, field) for field in FIELDS if field in names)
    return known and name not in UNDERIVED and all(_available(family, other) for other in functions() if other in names)


def families() -> list[type]:
    """Return the classes of the package's own families, which have an oracle."""
    package = __name__.partition(".")[0]
    classes = [cls for cls in protocol.scores.implementations if cls.__module__.partition(".")[0] == package]
    return [cls for cls in classes if cls.__module__ not in AROUND and protocol.max_oracle.find(cls)]


def tiers_of(family) -> tuple[str, ...]:
    """Return the tiers that a family has."""
    return tuple(tier for tier in TIERS if not missing(family, tier))

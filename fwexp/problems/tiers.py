"""Tiers: the functions of the protocol that a problem family has to register, by purpose.

Every family registers the ``required`` functions, with which most solvers run. The class of a family states its other tiers in
its attribute ``tiers``, and `fwexp.testing.check_problem` compares the statement with the functions. Functions that a family
does not register have defaults where they are declared, if the family has the fields that these read.
"""

from functools import cache

from fwexp.problems import protocol

REQUIRED = "required"


@cache
def functions(module=protocol) -> tuple[str, ...]:
    """Return the names of all functions of the protocol, or of another module."""
    found = {name: value for name, value in vars(module).items() if hasattr(value, "implementations")}
    for name, function in found.items():
        if not hasattr(function, "degree"):
            raise TypeError(f"{name} must declare its degree in c_i: @degree of fwexp.problems.protocol, not @dispatched")
    return tuple(found)


TIERS: dict[str, tuple[str, ...]] = {
    tier: tuple(name for name in functions() if getattr(protocol, name).tier == tier)
    for tier in (REQUIRED, "sets", "expectations", "kernels", "bounds", "enumeration", "exact")
}

UNDERIVED = ("inner",)  # the default is for weights of features, which is not enough for a tier


def functions_of(tier: str) -> tuple[str, ...]:
    """Return the functions of a tier; functions of no tier, which all have defaults, belong to the required ones."""
    if tier != REQUIRED:
        return TIERS[tier]
    others = {name for names in TIERS.values() for name in names}
    return (*TIERS[tier], *(name for name in functions() if name not in others))


def stated(family) -> tuple[str, ...]:
    """Return the tiers that a family states, beyond the required one; ``family`` is a problem or its class."""
    return getattr(_unweighted(family), "tiers", ())


def lacking(family, tier: str) -> list[str]:
    """Return the functions of a tier that a family neither registers nor has by default; ``family`` as in `stated`."""
    family = _unweighted(family)
    return [name for name in functions_of(tier) if not _available(family, name)]


def has(family, tier: str) -> bool:
    """Return whether a family has a tier: it states the tier, unless all have to have it, and lacks none of its functions."""
    # A problem may have no expectations although others of its family do (`has_marginals`).
    if not (tier == REQUIRED or tier in stated(family)) or lacking(family, tier):
        return False
    return tier != "expectations" or isinstance(family, type) or protocol.has_marginals(protocol.original(family))


def _unweighted(family):
    return family if isinstance(family, type) else protocol.original(family)  # weights of examples need nothing more


def _available(family, name: str) -> bool:
    function = getattr(protocol, name)
    implementation = function.find(family if isinstance(family, type) else type(family))
    if implementation is None or implementation is not function.implementations.get(object):
        return implementation is not None
    return name not in UNDERIVED and all(hasattr(family, field) for field in function.reads)


def families() -> list[type]:
    """Return the classes of the package's own families, which state their tiers."""
    registered = [cls for base in protocol.scores.implementations for cls in (base, *base.__subclasses__())]
    ours = [cls for cls in registered if cls.__module__.startswith(f"{__package__}.")]
    return [cls for cls in ours if isinstance(vars(cls).get("tiers"), tuple)]


def tiers_of(family) -> tuple[str, ...]:
    """Return the tiers that a family has; ``family`` as in `stated`."""
    return tuple(tier for tier in TIERS if has(family, tier))

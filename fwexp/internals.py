"""Names of other packages that are not public: whether they exist, so that their callers can do without."""

import importlib
from collections.abc import Iterable


def missing(names: Iterable[str]) -> tuple[str, ...]:
    """Return those names that do not exist: of attributes of modules, or of classes in modules, as dotted names."""
    return tuple(name for name in names if not _exists(name))


def _exists(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False

"""Mistakes of users. The command line prints such an error as one line and exits with code 2."""

import contextlib
import difflib
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType


class UserError(Exception):
    """A mistake of the user; the message is one line that names the bad value and the accepted ones."""

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines()))


class ParameterError(UserError, ValueError):
    """A value that a parameter does not accept."""


class OptionError(UserError, TypeError):
    """An option, key or combination of options that does not exist."""


class WarmStartError(OptionError):
    """A result from which a run cannot start, because the run keeps other dual variables."""


class DataError(UserError, ValueError):
    """A data file that is missing or damaged."""


class CertificateError(UserError, RuntimeError):
    """A certificate that cannot be true: a dual objective above the primal, because an oracle breaks its promise."""


class MissingPackage(UserError, ImportError):
    """A package of an extra that is not installed."""


class RunsFailed(Exception):
    """Runs failed although their configurations are valid; the other runs have finished. Exit code 1."""


class WorkersLost(RuntimeError):
    """No worker of a cluster is left to answer; the saved state of the run stays."""


def exit_code(name: str, main: Callable[[], int]) -> int:
    """Run the main function of a program and return its exit code; print a `UserError` as one line that begins with the name."""
    try:
        return main()
    except UserError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 2


def see(page: str) -> str:
    """Return the end of a message that a page of the documentation explains, named from docs/, as the site has no address yet."""
    return f"; see docs/{page}.md"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def shown(value: object) -> str:
    """Return the repr of a bad value for a message, cut where it is long."""
    return _SHORT.repr(value)


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn, and name the line outside of the package that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("fwexp", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# The extras, with the modules of their packages that are asked for, and the packages that are called otherwise.
EXTRAS = {
    "experiments": ("hydra", "matplotlib", "omegaconf", "PIL", "pyarrow", "tqdm"),
    "images": ("h5py", "skimage"),
    "estimators": ("joblib", "sklearn"),
    "optuna": ("optuna",),
    "dask": ("distributed",),
    "report": ("jinja2", "plotly"),
}
CALLED = {
    "distributed": "dask.distributed",
    "hydra": "hydra-core",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}


@contextlib.contextmanager
def needing(what: str) -> Iterator[None]:
    """Raise `MissingPackage`, which names the extra, if an import inside finds no package; ``what`` is like "superpixels need"."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        for extra, modules in EXTRAS.items():
            if name in modules:
                raise MissingPackage(f"{what} {CALLED.get(name, name)}, which is not installed: {install(extra)}") from None
        raise


def install(extra: str = "") -> str:
    """Return how fwexp is installed, again or with an extra: it is on no index."""
    if not extra:
        return "`make venv` in the checkout, or `pip install --force-reinstall` with the file of a release"
    return f"`pip install '.[{extra}]'` in the checkout (`make venv-dev` there installs all extras)"


class Stopped(Exception):
    """An evaluation was given up, because there is no time for it."""


MOST_NAMES = 10  # that a message lists
LISTS = {
    "solver": "fwexp solvers",
    "method": "fwexp solvers",
    "dataset": "fwexp data",
    "solver or dataset or task": "fwexp options",
    "figure": "fwexp figure",
    "command": "fwexp --help",
    "key": "fwexp run --help",
    "experiment": "fwexp run --help",
    "filter": "fwexp ls --help",
}


def unknown(kind: str, value: object, accepted: Iterable[str], others: Iterable[str] = (), here: str = "") -> str:
    """Return the message for a name that is not in ``accepted``; it suggests one that serves ``here``, or the closest match."""
    names = sorted(accepted)
    text = value if isinstance(value, str) and len(value) <= _SHORT.maxstring else shown(value)
    longer = [name for name in names if text and name.startswith(text)]
    close = longer if len(longer) == 1 else difflib.get_close_matches(text, [*names, *others], n=1)
    hint = f" (here it is {here})" if here else f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown {kind} {text!r}{hint}; accepted: {listed(names, kind, text)}"


def listed(names: Sequence[str], kind: str = "", near: str = "") -> str:
    """Return the names for a message: all of them, or the ten that are most like ``near`` and the command that lists all."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    chosen = difflib.get_close_matches(near, names, n=MOST_NAMES, cutoff=0) if near else names[:MOST_NAMES]
    more = f"`{LISTS[kind]}` lists all" if kind in LISTS else f"{len(names)} in all"
    return f"{', '.join(sorted(chosen))}, ... ({more})"

"""What a user can get wrong. The command line prints such an error as one line and exits with code 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what the user asked for; the message is one line that names the bad value and the accepted ones."""


class ParameterError(UserError, ValueError):
    """A value outside what a parameter accepts."""


class OptionError(UserError, TypeError):
    """An option, key or combination of options that does not exist."""


class DataError(UserError, ValueError):
    """A data file that is missing or damaged."""


class CertificateError(UserError, RuntimeError):
    """A certificate that cannot be: a dual objective above the primal, because an oracle does not do what it promises."""


class RunsFailed(Exception):
    """Runs failed, through nobody's mistake in asking for them; the others have finished. Exit code 1."""


def unknown(kind: str, value: object, accepted: Iterable[str]) -> str:
    """Return the message for a name that is not in ``accepted``, with the closest match as a suggestion."""
    names = sorted(accepted)
    close = difflib.get_close_matches(str(value), names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown {kind} {str(value)!r}; accepted: {', '.join(names)}{hint}"

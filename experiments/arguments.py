"""What follows ``fwexp figure``, ``claims``, ``report`` and ``compare``: words, flags, and ``key=value``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fwexp import _folders
from fwexp.errors import OptionError, ParameterError, unknown


class Arguments(NamedTuple):
    """What was given."""

    words: list[str]
    flags: dict[str, str]  # with their values, "" for those that take none
    keys: dict[str, str | None]


def parse(
    command: str,
    args: Sequence[str],
    *,
    switches: Sequence[str] = (),
    flags: Mapping[str, Sequence[str]] | None = None,
    keys: Sequence[str] = (),
    in_words: str = "",
) -> Arguments:
    """Take the arguments of a command apart.

    Parameters
    ----------
    command : str
        Its name, for messages.
    args : sequence of str
        What follows it.
    switches : sequence of str
        Flags without a value.
    flags : mapping
        Flags with a value, and what a value may be, as far as that can be listed.
    keys : sequence of str
        What may stand before ``=``; those of folders are checked.
    in_words : str
        Signs of which one before ``=`` makes an argument a word.

    Returns
    -------
    Arguments

    Raises
    ------
    UserError
        A flag or key that the command does not have, or one without a value or with another than it may have.
    """
    given, flags, rest = Arguments([], {}, {}), flags or {}, iter(args)
    for arg in rest:
        name, equals, value = arg.partition("=")
        if arg in switches:
            given.flags[arg] = ""
        elif name in flags:
            given.flags[name] = value if equals else next(rest, "")
            if not given.flags[name]:
                accepted = f"; accepted: {', '.join(flags[name])}" if flags[name] else ""
                raise ParameterError(f"{name} needs a value{accepted}")
            if flags[name] and given.flags[name] not in flags[name]:
                raise ParameterError(unknown(name.strip("-"), given.flags[name], flags[name]))
        elif arg.startswith("-"):
            raise OptionError(unknown(f"flag of fwexp {command}", name, (*switches, *flags)))
        elif not equals or (name not in keys and any(sign in name for sign in in_words)):
            given.words.append(arg)
        elif name not in keys:
            raise OptionError(unknown(f"key of fwexp {command}", name, keys))
        elif not value:
            raise ParameterError(f"{name} must not be empty")
        else:
            given.keys[name] = _folders.folder_argument(name, value) if name in _folders.FOLDER_KEYS else value
    return given

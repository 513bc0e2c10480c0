"""The arguments of a command: words, flags and ``key=value``, parsed alike for all commands except Hydra's ``run``."""

# ruff: noqa: T201

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.options import name_here

ANY = "KEY=VALUE"


class Arguments(NamedTuple):
    """The parsed arguments."""

    words: list[str]
    flags: dict[str, str]  # with their values, "" for those that take none
    keys: dict[str, str | None]

    @property
    def folders(self) -> tuple[Path, Path]:
        """The store, and the folder for what a command draws or decides from it: ``out``, by default the store."""
        results_dir = folders.check_folder("results_dir", self.keys.get("results_dir", "results"))
        return results_dir, folders.check_folder("out", self.keys["out"]) if "out" in self.keys else results_dir


def command(
    name: str, usage: str, *, words: float = 0, offers: Callable[[], Iterable[str]] = tuple, **accepted
) -> Callable[[Callable[[Arguments], int]], Callable]:
    """Make a command of a function of its arguments, which `parse` reads; ``offers`` returns words to complete."""

    def decorate(run: Callable[[Arguments], int]) -> Callable[[Sequence[str]], int]:
        @functools.wraps(run)
        def main(args: Sequence[str]) -> int:
            if "-h" in args or "--help" in args:
                print(usage, end="")
                return 0
            given = parse(name, args, **accepted)
            if given.words and not words:
                raise OptionError(unknown(f"argument of {name}", given.words[0], _names(**accepted)))
            if len(given.words) > words:
                raise OptionError(f"{name} takes at most {words} name, got {' '.join(given.words)}")
            return run(given)

        main.completions = lambda: [*offers(), *(name for name in _names(**accepted) if name != ANY)]
        return main

    return decorate


def parse(
    name: str,
    args: Sequence[str],
    *,
    switches: Sequence[str] = (),
    flags: Mapping[str, Sequence[str]] | None = None,
    keys: Iterable[str] | None = (),
    in_words: str = "",
    folder_keys: Sequence[str] = folders.FOLDER_KEYS,
) -> Arguments:
    """Parse the arguments of a command; one of the signs ``in_words`` before ``=`` makes an argument a word."""
    # Flags and keys may have lists of accepted values; a key that ends in a dot stands for all that begin with it, None for any.
    given, flags, rest = Arguments([], {}, {}), flags or {}, iter(args)
    known = None if keys is None else (*folder_keys, *keys)
    for arg in rest:
        key, equals, value = arg.partition("=")
        if arg in switches:
            given.flags[arg] = ""
        elif key in flags:
            given.flags[key] = value if equals else next(rest, "")
            _check_flag(key, given.flags[key], flags[key])
        elif key in switches:
            raise OptionError(f"{key} takes no value, got {arg!r}")
        elif arg.startswith("-"):
            here = name_here(key, known or ())
            raise OptionError(unknown(f"flag of {name}", key, _names(switches, flags, keys, folder_keys), here=here))
        elif not equals or (key not in (known or ()) and any(sign in key for sign in in_words)):
            given.words.append(arg)
        elif known is not None and key not in known and not key.startswith(tuple(name for name in known if name.endswith("."))):
            raise OptionError(unknown(f"key of {name}", key, known or ["none"], here=name_here(key, [*known, *flags, *switches])))
        elif not value:
            raise ParameterError(f"{key} must not be empty")
        elif isinstance(keys, Mapping) and keys.get(key) and value not in keys[key]:
            raise ParameterError(unknown(f"value of {key}", value, keys[key]))
        else:
            given.keys[key] = folders.folder_argument(key, value) if key in folders.FOLDER_KEYS else value
    return given


def _check_flag(name: str, value: str, values: Sequence[str]) -> None:
    if not value:
        raise ParameterError(f"{name} needs a value" + (f"; accepted: {', '.join(values)}" if values else ""))
    if values and value not in values:
        raise ParameterError(unknown(name.strip("-"), value, values))


def _names(switches=(), flags=(), keys: Iterable[str] | None = (), folder_keys=folders.FOLDER_KEYS, **_) -> list[str]:
    """Return all accepted arguments."""
    known = (*folder_keys, *(keys or ()))
    return [*switches, *flags, *(key if key.endswith(".") else f"{key}=" for key in known), *[ANY] * (keys is None)]

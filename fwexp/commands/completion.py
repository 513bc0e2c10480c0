"""Tab completion in bash: ``eval "$(fwexp run -sc install=bash)"``.

The flag and its words are Hydra's, and so are the completions of the overrides that ``fwexp run`` and ``fwexp select`` take; the
others are ours.
"""

# ruff: noqa: T201

import contextlib
import io
import os
import pkgutil
import re
from collections.abc import Iterable, Mapping

from fwexp.errors import OptionError, UserError

INSTALL = """\
_fwexp_completion() {
    local IFS=$' \\t\\n' line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=($(COMP_LINE="$line" COMP_POINT="$COMP_POINT" "${COMP_WORDS[0]}" run -sc query=bash 2>/dev/null))
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _fwexp_completion fwexp
"""
UNINSTALL = "complete -r fwexp\nunset -f _fwexp_completion\n"
HOW = """eval "$(fwexp run -sc install=bash)" turns it on in bash, and in zsh after autoload -U bashcompinit; bashcompinit"""


def is_asked_for(argument: str) -> bool:
    """Return whether an argument is Hydra's flag for completion; the long flag may be abbreviated."""
    return argument == "-sc" or (argument.startswith("--s") and "--shell-completion".startswith(argument))


def main(arguments: list[str], commands: Mapping) -> int:
    """Run the arguments after ``--shell-completion``, such as ``install=bash``, given the places of ``commands`` by name."""
    match arguments:
        case ["install=bash"]:
            print(INSTALL, end="")
        case ["uninstall=bash"]:
            print(UNINSTALL, end="")
        case ["query=bash"]:
            _query(os.environ.get("COMP_LINE", ""), commands)
        case _:
            given = " ".join(arguments) or "nothing"
            raise OptionError(f"--shell-completion takes install=bash, uninstall=bash or query=bash, got {given}: {HOW}")
    return 0


def _query(line: str, commands: Mapping) -> None:
    """Print the completions of the last word of a command line, which is empty after a space."""
    *before, word = re.split(r"\s+", line.lstrip())
    if before[1:2] == ["run"]:
        _query_hydra(before[2:], word)
    elif before[1:2] == ["select"] and word[:1] not in ("", "-"):
        _query_hydra(["-m", *(one for one in before[2:] if "=" in one and not one.startswith("-"))], word)
    else:
        print(" ".join(sorted(name for name in _words(before, commands) if name.startswith(word))))


def _words(before: list[str], commands: Mapping) -> Iterable[str]:
    """Return the possible next words."""
    if len(before) < 2:
        return [*commands, "--help", "--version"] if before else ()
    return pkgutil.resolve_name(commands[before[1]]).completions() if before[1] in commands else ()


def _query_hydra(before: list[str], word: str) -> None:
    """Print Hydra's completions of a word of ``fwexp run`` that fit the words before; none if Hydra cannot read these."""
    from hydra.core.plugins import Plugins
    from hydra.plugins.completion_plugin import CompletionPlugin

    from fwexp.run import catalogues
    from fwexp.run.command import TAKE_VALUES, is_sweep, split, unchecked_help
    from fwexp.run.composition import CONFIG_NAME, composing

    (bash,) = (plugin for plugin in Plugins.instance().discover(CompletionPlugin) if plugin.provides() == "bash")
    with contextlib.suppress(UserError, SystemExit), composing() as composition:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            flags, overrides = split([*before, word] if word else before)
            if not {flag for flag in flags if flag.startswith("-")} <= {"-m", "--multirun", *TAKE_VALUES}:
                return
            os.environ["COMP_LINE"] = " ".join(["fwexp", *["-m"] * is_sweep(flags), *overrides, *([] if word else [""])])
            with unchecked_help():
                bash(composition.loader).query(CONFIG_NAME)
        print(*_values(word, before) or catalogues.that_fit(printed.getvalue().split(), before))


def _values(word: str, before: list[str]) -> list[str]:
    """Return the possible values of ``group.option=``, if the group is chosen before; Hydra offers the value that is set."""
    from fwexp.commands.option_help import offered

    key, equals, _ = word.partition("=")
    group, _, path = key.partition(".")
    chosen = [name for other in before for start, _, name in [other.partition("=")] if start == group]
    if not (equals and path and chosen):
        return []
    start = max(word.rfind("="), word.rfind(",")) + 1
    return [word[:start] + value for value in offered(group, chosen[-1], path) if value.startswith(word[start:])]

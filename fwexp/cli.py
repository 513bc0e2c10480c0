"""The command ``fwexp``. Nothing heavy is imported before a subcommand needs it."""

# ruff: noqa: T201

import contextlib
import os
import sys
from collections.abc import Callable, Sequence

from fwexp import completion
from fwexp.errors import OptionError, RunsFailed, UserError, unknown

USAGE = """\
usage: fwexp COMMAND [ARGUMENT ...]

Frank-Wolfe methods for structural SVMs.

  run       one run, or with -m a sweep        fwexp run solver=bcfw dataset=ocr lam=0.01 seed=0
                                               fwexp run -m solver=bcfw,ssg dataset=ocr lam=0.01,1/n
  figure    what is missing of its runs,       fwexp figure icml2013/fig1 [--dry-run] [--preset smoke]
            then a figure; a list of figures   fwexp figure
  ls        what is stored                     fwexp ls solver=bcfw lam=0.01
  data      the data sets                      fwexp data [list|fetch|verify]

  -h, --help     this text; fwexp COMMAND --help says more
  --version      the version
  -sc, --shell-completion install=bash      completion by the tab key: eval "$(fwexp -sc install=bash)"

In all commands results_dir=DIR is the folder of results (default: results) and data_dir=DIR that of the data (default: the
folder that FWEXP_DATA names, else ~/.cache/fwexp). Exit codes: 0; 1 if a run failed; 2 for wrong arguments; 130 if interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except UserError as error:
        return _complain(error, 2)
    except RunsFailed as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # Who read our output has seen enough, as in `fwexp ls | head`; Python would complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if argv else 2
    name, *arguments = argv
    if "--version" in argv:
        from fwexp import __version__

        print(f"fwexp {__version__}")
        return 0
    if name in ("-sc", "--shell-completion"):
        return completion.main(arguments, COMMANDS)
    if name not in COMMANDS:
        raise OptionError(unknown("command", name, COMMANDS))
    return COMMANDS[name](arguments)


def _run(arguments: list[str]) -> int:
    if any(completion.is_asked_for(argument) for argument in arguments):
        return completion.main([argument for argument in arguments if not completion.is_asked_for(argument)], COMMANDS)
    from fwexp.run.command import main

    return main(arguments)


def _figure(arguments: list[str]) -> int:
    from fwexp.experiments.commands import main

    return main(arguments)


def _data(arguments: list[str]) -> int:
    from fwexp.data.commands import main

    return main(arguments)


def _ls(arguments: list[str]) -> int:
    from fwexp.run.listing import main

    return main(arguments)


COMMANDS: dict[str, Callable[[list[str]], int]] = {"run": _run, "figure": _figure, "ls": _ls, "data": _data}


def _complain(message: object, code: int) -> int:
    with contextlib.suppress(BrokenPipeError):
        print(f"fwexp: {' '.join(str(message).split())}", file=sys.stderr)
    return code

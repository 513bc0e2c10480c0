"""The command ``fwexp``. Nothing heavy is imported before a subcommand needs it."""

# ruff: noqa: T201

import atexit
import contextlib
import gc
import os
import pkgutil
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence

from fwexp import plugin_files
from fwexp.commands import completion
from fwexp.driver.clock import on_interrupt
from fwexp.errors import OptionError, RunsFailed, UserError, needing, unknown

atexit.register(gc.freeze)  # freed at exit all the same; to collect it once more takes 0.3 s after some commands

ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]  # of kill, ssh, Slurm

USAGE = """\
usage: fwexp COMMAND [ARGUMENT ...]

Train structural SVMs by Frank-Wolfe methods, and reproduce the papers' figures.

Run and inspect
  run        Run one configuration, or a sweep with -m     fwexp run solver=bcfw dataset=ocr lam=0.01 seed=0
                                                           fwexp run -m solver=bcfw,ssg dataset=ocr lam=0.01,1/n
  ls         List stored runs                              fwexp ls solver=bcfw lam=0.01
  select     Choose lam by validation                      fwexp select dataset=ocr lam=0.1,0.01 seed=0,1,2
  compare    Compare stored runs of methods                fwexp compare bcfw auto --dataset ocr
Reproduce the papers
  figure     Run and draw a figure, or list all figures    fwexp figure icml2013/fig1 [--dry-run] [--preset smoke]
  claims     Check the papers' claims against stored runs  fwexp claims [B13] [--run] [--strict]
  report     Write figures, claims and runs as HTML pages  fwexp report
  reproduce  Run everything that the papers need           fwexp reproduce [--dry-run]
Train a tagger
  tag        Train a tagger, or label sentences            fwexp tag train.txt --test test.txt --save tagger.npz
Look up
  solvers    List solvers and methods, or describe one     fwexp solvers [bcpfw_gap]
  options    List options of solvers, data sets and tasks  fwexp options ocr
  data       List, download or check the data sets         fwexp data [list|fetch|verify|prepare]
  doctor     Check the installation                        fwexp doctor

  -h, --help     print this text; `fwexp COMMAND --help` describes a command
  --version      print the version
  --plugin FILE  load your solver, data set, figure or claim from a file, for any command
                 (FWEXP_PLUGINS=FILE:FILE loads several)
  -sc, --shell-completion install=bash
                 print a script that completes words with the tab key: eval "$(fwexp -sc install=bash)"

All commands take results_dir=DIR, the folder of results (default: results), and data_dir=DIR, the folder of the data (default: the
folder in FWEXP_DATA, otherwise ~/.cache/fwexp). Exit codes: 0 for success, 1 if a run failed, 2 for wrong arguments,
130 if interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        try:
            return _code(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it, as in `fwexp ls | head`
        _drop_output()
        return 0
    except OSError as error:
        reason = error.strerror or error
        if _drop_output():
            return _complain(f"cannot write to standard output: {reason}", 2)
        return _complain(f"{error.filename}: {reason}" if error.filename else f"cannot write: {reason}", 2)


def _code(argv: list[str]) -> int:
    with _interrupts() as heard, on_interrupt("raise"), _brief_warnings():
        try:
            return _dispatch(argv)
        except KeyboardInterrupt:
            return _complain("interrupted", 130)
        except Exception as error:
            if heard:  # a library made another error of the interrupt
                return _complain("interrupted", 130)
            if isinstance(error, UserError | RunsFailed):
                return _complain(error, 2 if isinstance(error, UserError) else 1)
            raise


@contextlib.contextmanager
def _brief_warnings() -> Iterator[None]:
    """Print a warning, such as of a damaged run, in one line, without a place in the sources."""
    usual, warnings.formatwarning = warnings.formatwarning, lambda message, *_, **__: f"fwexp: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = usual


@contextlib.contextmanager
def _interrupts() -> Iterator[list]:
    """Yield a list that has an entry for every Ctrl-C that was raised."""
    heard: list = []

    def raise_interrupt(*_) -> None:
        heard.append(True)
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield heard
        return
    signal.signal(signal.SIGINT, raise_interrupt)
    # What ends a process otherwise ends it as Ctrl-C does, so that what it has computed is kept. One that is ignored stays so.
    endings = [each for each in ENDINGS if signal.getsignal(each) is signal.SIG_DFL]
    for each in endings:
        signal.signal(each, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield heard
    finally:
        for each in endings:
            signal.signal(each, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is raise_interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_streams() -> None:
    """Open closed standard streams on the null device, so that later files do not take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)  # opened under the lowest number that is free
            os.set_inheritable(stream.fileno(), True)  # as open streams are: workers need them
            setattr(sys, name, stream)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="surrogateescape")  # names of files may be any bytes


def _drop_output() -> bool:
    """Drop unwritten output, about which Python would complain when it exits; return whether there was any."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _dispatch(argv: list[str]) -> int:
    files, argv = plugin_files.taken_from(argv)
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
    if not __debug__:
        raise OptionError("fwexp reads Python's assertions and docstrings: unset PYTHONOPTIMIZE, and leave out -O")
    from fwexp.jit.threads import num_threads

    num_threads()  # else a bad OMP_NUM_THREADS would be found in the middle of a run
    gc.set_threshold(50_000, 20, 20)  # imported modules stay, and are collected less often
    if name == "run" and any(completion.is_asked_for(argument) for argument in arguments):  # as of any command of Hydra
        return completion.main([argument for argument in arguments if not completion.is_asked_for(argument)], COMMANDS)
    with needing(f"fwexp {name} needs"), plugin_files.using(files):
        return pkgutil.resolve_name(COMMANDS[name])(arguments)


COMMANDS = {  # imported when they are called
    "run": "fwexp.run.command:main",
    "figure": "fwexp.commands.figure:main",
    "claims": "fwexp.commands.claims:main",
    "report": "fwexp.commands.report:main",
    "reproduce": "fwexp.commands.reproduce:main",
    "select": "fwexp.commands.select:main",
    "compare": "fwexp.commands.compare:main",
    "ls": "fwexp.commands.ls:main",
    "solvers": "fwexp.commands.option_help:solvers_main",
    "options": "fwexp.commands.option_help:main",
    "tag": "fwexp.commands.tag:main",
    "data": "fwexp.commands.data:main",
    "doctor": "fwexp.commands.doctor:main",
}


def _complain(message: object, code: int) -> int:
    with contextlib.suppress(OSError):  # the reader has gone
        print(f"fwexp: {' '.join(str(message).split())}", file=sys.stderr)
    return code

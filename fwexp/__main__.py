"""The command ``fwexp``, also as ``python -m fwexp``."""

import signal
import sys


def main() -> int:
    """Run the command line and return the exit code; Ctrl-C while its modules are imported ends the process without a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fwexp import cli

    signal.signal(signal.SIGINT, usual)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())

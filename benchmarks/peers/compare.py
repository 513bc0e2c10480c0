"""``python -m benchmarks.peers.compare``."""

import sys

from benchmarks.peers import contests
from benchmarks.yardstick import pin
from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError, exit_code
from fwexp.files import folders

USAGE = """\
usage: python -m benchmarks.peers.compare [--only liblinear|dlib|crfsuite] [--rounds N] [results_dir=DIR] [data_dir=DIR]

Train the same problems with fwexp and with other tools, alternately and on one core, and write DIR/peers/NAME.md, .csv and .json.
The other tools come with the extra peers, which make venv installs.

  --only NAME     compare with this tool only, and write only its files
  --rounds N      number of times that everything is trained (default: 5)
"""
ACCEPTED = {"--only": tuple(contests.CONTESTS), "--rounds": ()}


@command("python -m benchmarks.peers.compare", USAGE, flags=ACCEPTED)
def main(given: Arguments) -> int:
    """Compare, print the tables, and write them; return the exit code."""
    from benchmarks.peers.peer_table import frame, markdown
    from benchmarks.peers.tools import module
    from fwexp.papers.figure_files import TABLE, check_writable, save_figure
    from fwexp.papers.origin import Origin
    from fwexp.store.provenance import provenance

    _, flags, keys = given
    rounds = _rounds(flags.get("--rounds", "5"))
    results_dir = folders.check_folder("results_dir", keys.get("results_dir", "results"))
    pin()
    known = contests.CONTESTS
    chosen = [flags["--only"]] if "--only" in flags else list(known)
    for name in chosen:
        check_writable(results_dir / "peers" / name, TABLE)
    for needed in {needed for name in chosen for needed in known[name][1]}:
        module(needed)
    data = {name: known[name][0](keys.get("data_dir")) for name in chosen}
    for name, group in data.items():
        rows = []
        for contest in group:
            print(contest.problem, file=sys.stderr)
            rows += contest.measure(rounds)
        numbers, origin = frame(rows), Origin(f"peers/{name}", f"fwexp compared with {name}")
        text = f"{markdown(numbers)} {origin.software}, on {provenance()['cpu']}.\n"
        print(text)
        for path in save_figure(text, numbers, results_dir / "peers" / name, origin):
            print(path)
    return 0


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(f"--rounds must be an integer >= 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))

"""The aligner eflomal (Östling and Tiedemann 2016), if it is installed: a separate program that is called, never imported.

It is licensed under the GPL and built from source by ``pip install eflomal``, which needs a C compiler. It draws samples
without a fixed seed, so each run makes other links; they are kept with the parsed data.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fwexp.data.alignment.bitext import Pairs
from fwexp.data.data_files import read_lines
from fwexp.errors import DataError

PROGRAM = "eflomal-align"


def align(pairs: Pairs) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the links of both directions as `fwexp.data.alignment.hmm.align` does."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise DataError(f"aligner eflomal needs the program {PROGRAM}, which is not on the PATH; pip install eflomal, or use hmm")
    with tempfile.TemporaryDirectory() as folder:
        paths = {option: Path(folder) / option for option in ("source", "target", "forward-links", "reverse-links")}
        for side, option in enumerate(("source", "target")):
            paths[option].write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
        command = [program, *(word for option, path in paths.items() for word in (f"--{option}", str(path)))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join(done.stderr.split())[-200:]
            raise DataError(f"{PROGRAM} failed with exit code {done.returncode}: {said}")
        lengths = [(len(e), len(f)) for e, f in pairs]
        return tuple(read_links(paths[option], lengths) for option in ("forward-links", "reverse-links"))


def read_links(path: Path, lengths: list[tuple[int, int]]) -> list[np.ndarray]:
    """Read alignments, one sentence pair per line: links ``i-j`` of positions from 0 with spaces between."""
    links = []
    for number, line in read_lines(path):
        if number > len(lengths):
            raise DataError(f"{path}, line {number}: expected {len(lengths)} lines, one per sentence pair")
        pairs = []
        for word in line.split():
            link = re.fullmatch(rb"(\d+)-(\d+)", word)
            if link is None:
                raise DataError(f"{path}, line {number}: link is {ascii(word)[1:]}, expected two positions such as '0-2'")
            position = tuple(map(int, link.groups()))
            if not (position[0] < lengths[number - 1][0] and position[1] < lengths[number - 1][1]):
                size = " x ".join(map(str, lengths[number - 1]))
                raise DataError(f"{path}, line {number}: link {ascii(word)[1:]} is out of range, the sentences have {size} words")
            pairs.append(position)
        links.append(np.array(pairs, dtype=np.int64).reshape(-1, 2))
    if len(links) < len(lengths):
        raise DataError(f"{path}: {len(links)} lines, expected {len(lengths)}, one per sentence pair")
    return links

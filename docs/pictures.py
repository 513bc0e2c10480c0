"""Draw the pictures of the site: those of tutorials, by the tutorials' own commands, and those on the home page."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

sys.path.insert(1, str(Path(__file__).parent.parent))

from tests.pages import follow

SHOWN = re.compile(r"\]\((?:\.\./)*generated/tutorials/(\S+?)\)")


def draw(source: Path, folder: Path) -> None:
    """Draw all of them into ``folder``."""
    folder.mkdir()
    for page in sorted((source / "tutorials").glob("*.md")):
        names = SHOWN.findall(page.read_text(encoding="utf-8"))
        if names:
            with tempfile.TemporaryDirectory() as work:
                follow(page, Path(work), until=names)
                for name in names:
                    shutil.copy(next(Path(work).rglob(name)), folder / name)
    _card(folder)


def _card(folder: Path) -> None:
    """Draw a sentence with its tags."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(4.8, 2.7))
    ax.set(xlim=(-0.6, 2.6), ylim=(-0.2, 1.6))
    ax.axis("off")
    for k, (word, tag) in enumerate((("the", "DET"), ("dog", "NOUN"), ("barks", "VERB"))):
        ax.text(k, 0.25, word, ha="center", va="center", fontsize=17, style="italic")
        box = {"boxstyle": "round,pad=0.35", "facecolor": "#cfe3f5", "edgecolor": "#0072b2"}
        ax.text(k, 1.15, tag, ha="center", va="center", fontsize=14, bbox=box)
        ax.plot([k, k], [0.45, 0.85], color="#888888")
        if k:
            ax.plot([k - 0.6, k - 0.4], [1.15, 1.15], color="#0072b2")
    fig.savefig(folder / "card-sentence.png", dpi=120)
    plt.close(fig)

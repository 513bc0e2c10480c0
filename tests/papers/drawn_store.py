"""A store without runs that has files of figures, as one commit drew them, and what is published of it."""

import contextlib
import functools
import io

import pytest
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.peers import peer_table as peers
from fwexp.experiments import FIGURES
from fwexp.papers import figure_files as files
from fwexp.papers import origin
from fwexp.papers.claims import of_paper, verdict_records
from fwexp.papers.figure_files import save_figure
from fwexp.papers.origin import Origin
from fwexp.run import from_arguments
from fwexp.store.provenance import provenance
from tests.pages import ROOT
from tests.plots.synthetic_results import make_results
from tools import departures, publish

NAMES = ("quickstart", "icml2013/table1")
CLAIMS = {id: of_paper("L")[id] for id in ("L-2", "L-3", "L-5")}
COMMIT = "c" * 40


def picture():
    """Return a PNG of many colours."""
    made = io.BytesIO()
    Image.effect_noise((1500, 100), 64).convert("RGB").save(made, "PNG")
    return made.getvalue()


def published_verdicts():
    """Return the published records of all claims."""
    records = [verdict_records.read(path) for path in (ROOT / "results" / "published" / "claims").glob("*.json")]
    return {id: record for of_paper in records for id, record in of_paper.items()}


@contextlib.contextmanager
def computed_as_published():
    """Take verdicts that need no runs from the published ones: tests/papers/test_claims.py computes them, and compares."""
    known, decide, fields = published_verdicts(), verdict_records.decide, ("verdict", "why", *verdict_records.NOTHING)

    def decided(claim, runs):
        if claim.needs or claim.id not in known:
            return decide(claim, runs)
        return {name: known[claim.id][name] for name in fields}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict_records, "decide", decided)
        yield


@contextlib.contextmanager
def in_a_checkout():
    """Draw in a checkout without changes, regardless of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(origin, "provenance", lambda: provenance() | {"git": {"commit": COMMIT, "dirty": False}})
        yield


@functools.cache
def frame_of(name):
    return FIGURES.find(name).data(make_results(from_arguments.expand([f"+experiment={name}"], preset="smoke")))


def draw(results, name, commit=COMMIT, **more):
    """Save a made-up figure or table of full runs that a commit made."""
    found, frame = FIGURES.find(name), frame_of(name)
    runs = {key: {"commit": commit, "created": "2026-01-01"} for key in set(" ".join(frame["keys"]).split())}
    drawn = "| method |\n| --- |\n" if found.is_table else Figure()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_drawn", lambda *_: [picture(), b"svg"])
        return save_figure(
            drawn, frame, results / "figures" / name, Origin(name, more.pop("title", found.title), "full", runs), **more
        )


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Return a store without runs that has the files of a figure, a table and a comparison, and what `publish` writes of it."""
    results, folder = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("published") / "there"
    with in_a_checkout(), computed_as_published(), pytest.MonkeyPatch.context() as patch:
        for name in NAMES:
            draw(results, name)
        save_figure("| a |", peers.frame([{"kind": "same task"}]), results / "peers/dlib", Origin("peers/dlib"))
        patch.setattr(publish, "all_claims", lambda: CLAIMS)
        patch.setattr(departures, "_configs", lambda name: [])  # which takes seconds; tests/papers/test_departures.py has them
        before = sorted(results.rglob("*"))
        written = publish.publish(results, folder)
    assert written == sorted(path for path in folder.rglob("*") if path.is_file())
    assert sorted(results.rglob("*")) == before
    return results, folder


@pytest.fixture
def drawn(folders):
    """Return the store, which tests must not change, in a checkout without changes."""
    with in_a_checkout(), computed_as_published():
        yield folders[0]


@pytest.fixture
def published(drawn, folders):
    """Return the published folder, which tests must not change."""
    return folders[1]

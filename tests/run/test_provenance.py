import json
import subprocess
from importlib import metadata

import pytest

from fwexp.run.provenance import git_state, provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "one")
    return tmp_path


def test_the_commit_and_whether_it_was_changed(checkout):
    state = git_state(checkout)
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    (checkout / "file").write_text("b")
    assert git_state(checkout) == state | {"dirty": True}


def test_a_checkout_around_the_package_is_not_its_source(checkout):
    (checkout / "site-packages").mkdir()
    assert git_state(checkout / "site-packages") is None


def test_no_checkout(tmp_path):
    assert git_state(tmp_path) is None


def test_facts_are_plain_data():
    facts = provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["versions"]["numba"] == metadata.version("numba")
    assert facts["threads"] >= 1
    assert facts["cpu"]

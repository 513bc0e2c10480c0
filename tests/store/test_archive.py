"""Archives of runs from elsewhere: what is not as it was written is refused, in words, before any of it is kept."""

import io
import tarfile

import pytest

from fwexp import store
from fwexp.errors import ParameterError
from fwexp.store import archive
from tools.archive_runs import write


@pytest.fixture
def path(tmp_path, config, make_result):
    store.save(make_result(), config, tmp_path / "store")
    write(store.find_runs(tmp_path / "store"), tmp_path / "runs.tar.xz")
    return tmp_path / "runs.tar.xz"


def members(path):
    with tarfile.open(path) as packed:
        return [(entry.name, packed.extractfile(entry).read()) for entry in packed]


def pack(path, contents):
    with tarfile.open(path, "w:xz") as packed:
        for name, content in contents:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))


def check_refused(path, reason, tmp_path):
    with pytest.raises(
        ParameterError,
        match=rf"archive must hold runs with their checksums, got .* \(.*{reason}",
    ):
        archive.restore(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_archive_restores_its_runs(path, tmp_path):
    (run,) = store.find_runs(tmp_path / "store")
    assert archive.restore(path, tmp_path / "new") == [run.key]
    assert len(store.load_results(tmp_path / "new")) == len(store.load_results(tmp_path / "store"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda old: [*old, ("../x", b"")], "../x is not as it was written"),
        (lambda old: [*old[:-1], (old[-1][0], b"other")], "runs/.* is not as it was written"),
        (lambda old: old[:-1], "runs/.* is not as it was written"),
        (lambda old: old[1:], "its SHA256SUMS or a record are not as fwexp writes them"),
        (lambda old: [(old[0][0], b"nonsense"), *old[1:]], "its SHA256SUMS or a record are not as fwexp writes them"),
    ],
)
def test_other_members_than_its_sums_name_are_refused(path, tmp_path, change, reason):
    pack(path, change(members(path)))
    check_refused(path, reason, tmp_path)

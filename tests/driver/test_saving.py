"""Results in files, pickles and copies: all of the result, none of the data, and nothing that could run."""

import copy
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.files import npz
from tests.small_problems import chain
from tests.store.test_locks import GONE

N, P, K = 400, 100, 3


@pytest.fixture(scope="module")
def train():
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=N)
    return fwexp.multiclass_problem(rng.normal(size=(N, P)) + 3 * np.eye(P)[y], y)


@pytest.fixture(scope="module")
def result(train):
    return fwexp.solve(
        train, lam=np.float64(0.01), max_passes=5, seed=np.int64(3), test=train, metrics=lambda y: {"a/../b": 1, "sh": 0.5}
    )


@pytest.fixture
def path(result, tmp_path):
    return result.save(tmp_path / "model.npz")


def check_equal(one, other):
    assert one.w.tobytes() == other.w.tobytes()
    for name in ("primal", "dual", "gap", "status", "reason", "iterate", "solver", "options", "lam", "seed", "structure", "lost"):
        a, b = getattr(one, name), getattr(other, name)
        assert type(a) is type(b), name
        assert a == b or (a != a and b != b), name
    assert json.dumps(one.errors) == json.dumps(other.errors)  # with NaN
    pd.testing.assert_frame_equal(one.trace, other.trace)
    assert repr(one) == repr(other)


@pytest.mark.parametrize("name", ["model.npz", "model", "größe mit leerzeichen"])
@pytest.mark.parametrize("as_text", [True, False])
def test_what_is_saved_is_loaded(train, result, tmp_path, name, as_text):
    path = tmp_path / name
    assert result.save(str(path) if as_text else path) == path
    assert [file.name for file in tmp_path.iterdir()] == [name]
    loaded = fwexp.load(str(path) if as_text else path)
    check_equal(loaded, result)
    assert loaded.errors.keys() == {"test_error"}
    assert loaded.state is None
    X = train.x.values[:7]
    assert loaded.predict(X) == result.predict(X) == fwexp.predict(X, loaded)
    assert fwexp.evaluate(train, loaded) == fwexp.evaluate(train, result)
    loaded.w[0] += 1.0  # an array like any other


def test_results_of_all_kinds_are_saved(tmp_path):
    for form, solver, options in [
        ("dense", "ssg", {"iterates": ["last", "avg"]}),  # dual and gap are NaN
        ("dense", "bcfw", {"cache": {"F": 0.5}, "sampling": "gap", "refresh": 2, "accelerate": {"kap": 2}}),
        ("functions", "fw", {}),
        ("binary", "fw", {}),
        ("csr", "fw", {}),
        ("dense", "one_slack", {}),
    ]:
        _, problem = chain(form, 0)
        result = fwexp.solve(problem, solver, lam=0.5, max_passes=3, **options)
        loaded = fwexp.load(result.save(tmp_path / "result"))
        check_equal(loaded, result)
        assert [list(y) for y in loaded.predict(problem)] == [list(y) for y in result.predict(problem)]


def test_files_hold_no_data_and_no_pickle(path, result):
    assert path.stat().st_size < 40 * result.trace.size + result.w.nbytes + 10_000 < N * P * 8
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].item())
        assert sum(file[name].size for name in file.files if name.startswith("trace_")) == result.trace.size
    assert header["versions"]["fwexp"] == fwexp.__version__
    assert header["structure"] == {"family": "MulticlassProblem", "d": P * K, "num_classes": K, "num_features": P}


@pytest.mark.parametrize("again", [lambda r: pickle.loads(pickle.dumps(r)), copy.copy, copy.deepcopy])
def test_pickles_and_copies_hold_no_data(train, result, again):
    other = again(result)
    check_equal(other, result)
    assert other.state is None
    assert result.state is not None
    assert len(pickle.dumps(result)) < 40 * result.trace.size + result.w.nbytes + 10_000 < N * P * 8
    assert other.predict(train) == result.predict(train)
    with pytest.raises(ParameterError, match=r"warm_start must be .* loaded, unpickled or copied, which has no dual variables"):
        fwexp.solve(train, lam=0.01, warm_start=other)


def test_results_of_users_functions_can_be_pickled():
    result = fwexp.solve(chain("functions", 0)[1], "fw", lam=1.0, max_passes=1)
    check_equal(pickle.loads(pickle.dumps(result)), result)


def test_kernel_results_say_that_they_need_the_training_inputs(tmp_path):
    train = fwexp.multiclass_problem(np.eye(3), [0, 1, 2])
    result = fwexp.solve(train, "kernel_bcfw", lam=1.0, max_passes=1)
    with pytest.raises(ParameterError, match="results of kernel_bcfw predict with the training inputs, which files do not have"):
        result.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError, match="results of kernel_bcfw predict with the training inputs, which copies do not have"):
        copy.copy(result).predict(train)


def test_an_interrupted_save_leaves_the_old_file(path, result, monkeypatch):
    before = path.read_bytes()

    def fail(file, arrays, most):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(npz, "write", fail)
    with pytest.raises(KeyboardInterrupt):
        result.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_links_stay_links(result, tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "model")
    assert result.save(link) == tmp_path / "folder" / "model"
    assert link.is_symlink()
    check_equal(fwexp.load(link), result)


@pytest.mark.parametrize("where", ["missing/model.npz", "file/model.npz", "folder", "a\0b", ""])
def test_files_that_cannot_be_written_are_named_on_one_line(result, tmp_path, where):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for call in (result.save, fwexp.load):
        with pytest.raises(ParameterError, match="path must be a "):
            call(str(tmp_path / where) if where else where)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def with_header(path, **changes):
    content = members(path)
    header = json.loads(np.load(io.BytesIO(content["header.npy"])).item())
    for name, value in changes.items():
        if value is None:
            del header[name]
        else:
            header[name] = value
    write(path, content | {"header.npy": npy(np.array(json.dumps(header)))})


class Bomb:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was executed",)


def huge(shape, descr="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


DAMAGE = {
    "text": lambda p: p.write_text("hello\nworld"),
    "empty": lambda p: p.write_bytes(b""),
    "half": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
    "pickle": lambda p: p.write_bytes(pickle.dumps(Bomb())),
    "other npz": lambda p: np.savez(p, v=np.zeros(3)),
    "npy": lambda p: p.write_bytes(npy(np.zeros(3))),
    "pickled header": lambda p: write(p, members(p) | {"header.npy": npy(np.array(Bomb(), dtype=object), allow_pickle=True)}),
    "pickled weights": lambda p: write(p, members(p) | {"w.npy": npy(np.array([Bomb()], dtype=object), allow_pickle=True)}),
    "pickled trace": lambda p: write(p, members(p) | {"trace_0.npy": npy(np.array([Bomb()], dtype=object), allow_pickle=True)}),
    "zip bomb": lambda p: write(p, {"w.npy": huge((10**8,)) + bytes(8 * 10**6)}, zipfile.ZIP_DEFLATED),
    "huge shape": lambda p: write(p, members(p) | {"w.npy": huge((10**15,))}),
    "negative shape": lambda p: write(p, members(p) | {"w.npy": huge((-1,)) + bytes(8)}),
    "code in a header": lambda p: write(p, members(p) | {"w.npy": b"\x93NUMPY\x01\x00\x10\x00__import__('os')"}),
    "nested header": lambda p: write(p, members(p) | {"header.npy": npy(np.array("[" * 100_000))}),
    "weights too short": lambda p: write(p, members(p) | {"w.npy": npy(np.zeros(2))}),
    "weights of float32": lambda p: write(p, members(p) | {"w.npy": npy(np.zeros(P * K, np.float32))}),
    "trace too short": lambda p: write(p, members(p) | {"trace_1.npy": npy(np.zeros(1))}),
    "trace missing": lambda p: write(p, {name: content for name, content in members(p).items() if name != "trace_1.npy"}),
    "weights missing": lambda p: write(p, {name: content for name, content in members(p).items() if name != "w.npy"}),
    "no JSON": lambda p: write(p, members(p) | {"header.npy": npy(np.array("w = 1"))}),
    "a list": lambda p: write(p, members(p) | {"header.npy": npy(np.array("[]"))}),
    "format": lambda p: with_header(p, format="fwexp result 99"),
    "no status": lambda p: with_header(p, status=None),
    "unknown status": lambda p: with_header(p, status="superb"),
    "solver a number": lambda p: with_header(p, solver=3),
    "gap a text": lambda p: with_header(p, gap="0"),
    "seed a flag": lambda p: with_header(p, seed=True),
    "further entries": lambda p: with_header(p, state=1),
    "no family": lambda p: with_header(p, structure={"d": P * K}),
    "no d": lambda p: with_header(p, structure={"family": "ChainProblem"}),
    "sizes are texts": lambda p: with_header(p, structure={"family": "ChainProblem", "d": P * K, "num_states": "3"}),
    "a name twice": lambda p: with_header(p, columns=["iterate"] * 15),
    "columns a text": lambda p: with_header(p, columns="abc"),
    "no columns": lambda p: with_header(p, columns=[]),
}


def test_the_weights_of_a_stored_run_say_how_they_are_read(tmp_path, result):
    np.savez(tmp_path / "model.npz", w=result.w)
    with pytest.raises(ParameterError, match=r"the weights w of a stored run alone: numpy.load\(path\)\['w'\] returns them"):
        fwexp.load(tmp_path / "model.npz")


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_and_hostile_files_are_refused_on_one_line(path, damage):
    DAMAGE[damage](path)
    with pytest.raises(
        ParameterError, match=r"path must be a file of Result.save, got '.*model.npz', which is damaged or"
    ) as error:
        fwexp.load(path)
    assert isinstance(error.value, ValueError)


def test_a_flipped_byte_is_found_or_harmless(path, result):
    content = path.read_bytes()
    refused = 0
    for place in np.random.default_rng(0).integers(len(content), size=300):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            check_equal(fwexp.load(path), result)
        except ParameterError:
            refused += 1
    assert refused > 200


def test_what_a_killed_process_left_is_removed_and_what_is_saved_reaches_the_disk(result, tmp_path, monkeypatch):
    (tmp_path / f".model.npz.{GONE}.0123456789ab").touch()
    kept, flushed = tmp_path / ".model.npz.mine", []
    kept.touch()
    monkeypatch.setattr(os, "fsync", flushed.append)
    path = result.save(tmp_path / "model.npz")
    assert sorted(tmp_path.iterdir()) == [kept, path]
    assert len(flushed) == 2  # the file and its name

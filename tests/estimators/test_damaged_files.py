"""A damaged file of an estimator is one error, raised when it is loaded."""

import json
import tracemalloc

import numpy as np
import pytest

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, GraphSVM, MultiLabelSVM, StructuredSVM
from tests.estimators.cases import EVERY, answers, data_of, held, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OTHERS = [None, True, -1, 10**9, 0.5, float("nan"), "", "auto", [], [[]], ["a"], {}, {"dict": []}, {"object": "f"}, {"tuple": [1]}]
OTHERS += [{"array": ["a"], "dtype": "<U1"}, {"array": [], "dtype": "<f8"}, {"array": [1, 1], "dtype": "<i8"}, {"template": "x"}]
OTHERS += [{"array": [[1.0]], "dtype": "<f8"}, {"array": ["a"], "dtype": "V9"}, {"slice": [0, 1]}, {"slice": 3}]
KINDS = [(cls, {}) for cls in EVERY]
KINDS += [(ChainSVM, {"transition_features": ["word"], "class_weight": "balanced", "constraints": [("a", "b")]})]
KINDS += [(GraphSVM, {"pairwise": "full", "contrast": True}), (MultiLabelSVM, {"pairwise": "full", "class_weight": "balanced"})]


def places(value, path=()):
    """Yield the paths of all values within JSON."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def damaged(record, rng):
    """Return a copy of a record, one value of which is another one, missing, or twice there."""
    record = json.loads(json.dumps(record))
    paths = [path for path in places(record) if path and path[0] in ("params", "learned")]
    path = paths[rng.integers(len(paths))]
    parent = record
    for key in path[:-1]:
        parent = parent[key]
    if (how := rng.integers(6)) == 0:
        del parent[path[-1]]
    elif how == 1 and isinstance(parent, list):
        parent.append(parent[path[-1]])
    else:
        parent[path[-1]] = OTHERS[rng.integers(len(OTHERS))]
    return record


def written(path, record):
    """Write a record over the one in a file."""
    with np.load(path) as found:
        arrays = dict(found)
    header = json.loads(arrays["header"].item()) | {"estimator": record}
    np.savez(path, **arrays | {"header": np.array(json.dumps(header))})


def saved(cls, parameters, path):
    """Return (the data of a saved estimator, the record in its file, parameters that the file does not hold)."""
    X, y = data_of(cls, n=6)
    model = new(cls, **parameters).fit(X, y)
    model.save(path)
    return X, model._record(), held(cls)


@pytest.mark.parametrize(("cls", "parameters"), KINDS, ids=lambda value: getattr(value, "__name__", None))
def test_any_damage_is_one_error_of_load(cls, parameters, tmp_path):
    path, rng, rejected = tmp_path / "model.npz", np.random.default_rng(0), 0
    X, record, given = saved(cls, parameters, path)
    for _ in range(40):
        written(path, damaged(record, rng))
        try:
            model = cls.load(path, **given)
        except (ParameterError, OptionError):
            rejected += 1
            continue
        try:
            assert len(answers(model, X[:2])[0]) == 2
        except ParameterError:  # Graphs of a user may have the features that images have not.
            assert cls is GraphSVM
    assert rejected or cls is StructuredSVM


def test_a_long_type_of_text_takes_no_memory(tmp_path):
    path = tmp_path / "model.npz"
    _, record, _ = saved(ChainSVM, {}, path)
    record["learned"]["classes"] = {"array": ["a", "b", "c"], "dtype": "<U500000000"}
    written(path, record)
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=r"^path must be a file of ChainSVM.save, got one that is damaged \(.*\)$"):
            ChainSVM.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()


def test_other_files_are_named(tmp_path):
    path, of_result = tmp_path / "model.npz", tmp_path / "result.npz"
    saved(ChainCRF, {}, path)
    fwexp.load(path).save(of_result)
    for other, got in (
        (path, "that of 'ChainCRF'; use ChainCRF.load$"),
        (of_result, "that of a Result$"),
        (tmp_path / "none.npz", "'"),
        (__file__, "'"),
    ):
        with pytest.raises(ParameterError, match=rf"^path must be a file of ChainSVM\.save, got {got}"):
            ChainSVM.load(other)

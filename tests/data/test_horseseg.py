"""The loader of HorseSeg on files of the published layout, written here; and graphs of its size that are drawn."""

import hashlib

import h5py
import numpy as np
import pytest
import scipy.io

import fwexp
from fwexp.data import DATASETS, load_dataset, synthetic_horseseg
from fwexp.errors import DataError, ParameterError

P, Q = 4, 2


def images(seed, count):
    """Patterns and labels, as MATLAB shows their arrays: features in columns, nodes from 0."""
    rng = np.random.default_rng(seed)
    patterns, labels = [], []
    for _ in range(count):
        nodes = int(rng.integers(2, 6))
        edges, features = np.array([(v, v + 1) for v in range(nodes - 1)]).T, rng.normal(size=(P, nodes)).astype(np.float32)
        pairwise, truth = rng.random((Q, nodes - 1)).astype(np.float32), rng.integers(2, size=(nodes, 1)).astype(np.int32)
        pattern = {"num_nodes": np.int32([[nodes]]), "features": features, "features_pairwise": pairwise}
        patterns.append(pattern | {"edge_structure": edges.astype(np.int32)})
        labels.append({"labels": truth, "superpixel_size": rng.integers(1, 50, size=(nodes, 1)) * 1.0})
    return {"patterns": patterns, "labels": labels}


def contents():
    parts = {"train": images(0, 5), "test": images(1, 2)}
    return {f"{kind}_{part}": structs for part, found in parts.items() for kind, structs in found.items()}


def write(folder, cells, version):
    path = folder / "horseseg" / "horseSeg_small.mat"
    path.parent.mkdir(exist_ok=True)
    if version == 5:
        scipy.io.savemat(path, {name: np.array([*structs, None], dtype=object)[:-1, None] for name, structs in cells.items()})
        return path
    with h5py.File(path, "w", userblock_size=512) as file:  # as MATLAB does: a cell array holds references, arrays are transposed
        for name, structs in cells.items():
            references = np.empty((1, len(structs)), dtype=h5py.ref_dtype)
            for i, struct in enumerate(structs):
                group = file.create_group(f"#refs#/{name}{i}")
                for field, array in struct.items():
                    group[field] = array.T
                references[0, i] = group.ref
            file[name] = references
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


@pytest.fixture(params=[5, 7.3])
def folder(request, tmp_path):
    write(tmp_path, contents(), request.param)
    return tmp_path


def test_the_published_features_and_losses(folder):
    """psi of the paper: sum_v x_v (label 1) less sum_v x_v (label 0), with edge features; the sign of the nodes' is ours."""
    cells = contents()
    for part, problem in zip(("train", "test"), load_dataset("horseseg", data_dir=folder), strict=True):
        assert problem.d == P + Q
        rng = np.random.default_rng(3)
        for i, (pattern, of_one) in enumerate(zip(cells[f"patterns_{part}"], cells[f"labels_{part}"], strict=True)):
            truth, sizes = of_one["labels"].ravel(), of_one["superpixel_size"].ravel()
            y = rng.integers(2, size=len(truth))

            def phi(labels, pattern=pattern):
                a, b = pattern["edge_structure"]
                return np.concatenate(
                    (pattern["features"] @ (2.0 * labels - 1), -pattern["features_pairwise"] @ (labels[a] != labels[b]))
                )

            got = fwexp.joint_feature(problem, i, truth) - fwexp.joint_feature(problem, i, y)
            np.testing.assert_allclose(got.toarray()[0], phi(truth) - phi(y), atol=1e-6)
            assert fwexp.loss(problem, i, y) == pytest.approx(sizes @ (y != truth) / sizes.sum())


def test_scores_of_the_test_images(folder):
    score = DATASETS["horseseg"].scores(folder)
    labels = [of_one["labels"].ravel() for of_one in contents()["labels_test"]]
    assert score(labels) == {"pixel_accuracy": 1.0, "iou": 1.0}
    assert score([1 - of_one for of_one in labels])["pixel_accuracy"] == 0.0


def without(cells, name, field=None):
    if field is None:
        return {other: structs for other, structs in cells.items() if other != name}
    return cells | {name: [{key: value for key, value in struct.items() if key != field} for struct in cells[name]]}


@pytest.mark.parametrize("version", [5, 7.3])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: without(cells, "labels_test"), "horseSeg_small.mat: no cell array labels_test"),
        (lambda cells: without(cells, "patterns_train", "features"), r"patterns_train\{1\} has no field features"),
        (lambda cells: without(cells, "labels_train", "superpixel_size"), r"labels_train\{1\} has no field superpixel_size"),
        (
            lambda cells: cells | {"labels_train": cells["labels_test"] + cells["labels_train"][:3]},
            r"horseSeg_small.mat, train: y\[0\] must hold",
        ),
    ],
)
def test_other_layouts_are_one_line(change, message, version, tmp_path):
    write(tmp_path, change(contents()), version)
    with pytest.raises(DataError, match=message):
        load_dataset("horseseg", data_dir=tmp_path)


@pytest.mark.parametrize("content", [b"", b"MATLAB 5.0 MAT-file, cut", b"no MATLAB file at all" * 100])
def test_damaged_and_missing_files_are_one_line(content, tmp_path):
    path = write(tmp_path, contents(), 5)
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_dataset("horseseg", data_dir=tmp_path)
    write(tmp_path, contents() | {"labels_test": [np.zeros((0, 0))]}, 5)
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_dataset("horseseg", data_dir=tmp_path)
    with h5py.File(write(tmp_path, contents(), 7.3), "r+") as file:
        del file["labels_test"]
        file["labels_test"] = np.zeros(3)
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_dataset("horseseg", data_dir=tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"dataset horseseg needs horseseg/horseSeg_small.mat, which is not in"):
        load_dataset("horseseg", data_dir=tmp_path)


def test_a_file_that_no_package_reads_may_be_published_or_not(horseseg_without_h5py, tmp_path):
    horseseg_without_h5py(tmp_path)
    assert DATASETS["horseseg"].is_published(tmp_path) is None


# --- graphs that are drawn ----------------------------------------------------------------------------------------------


def test_drawn_images_have_the_dimensions_of_horseseg():
    assert (synthetic_horseseg.NUM_FEATURES, synthetic_horseseg.NUM_PAIRWISE) == (1969, 100)
    assert synthetic_horseseg.SIZES == {"small": 147, "medium": 6121, "large": 25438}
    for number in (0, 1, 25438):
        image = synthetic_horseseg.draw(number)
        V = len(image.labels)
        assert 72 <= V <= 182
        assert (np.diff(image.words, axis=1) > 0).all()
        assert (np.diff(image.levels, axis=1) > 0).all()
        assert 0 <= image.words.min() <= image.words.max() < 1969
        assert 0 <= image.levels.min() <= image.levels.max() < 100
        assert image.edges.max() == V - 1
        assert len(np.unique(np.sort(image.edges, axis=1), axis=0)) == len(image.edges)
        assert 0.05 < image.labels.mean() < 0.6


@pytest.mark.portable
def test_drawn_images_are_the_same_everywhere():
    digest = hashlib.sha256()
    for number in (0, 146, 25437, 25678):
        for array in synthetic_horseseg.draw(number):
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    assert digest.hexdigest() == "f2c9526ad76fde34c29ad14fabcaf09ed6833f54439b3f0c0233fbc81705aa3a"


@pytest.mark.slow
@pytest.mark.compiled
def test_words_and_contrasts_tell_the_planted_labels():
    train, test = load_dataset("synthetic_horseseg")
    assert (train.n, test.n, train.d, test.d) == (147, 241, 2069, 2069)
    w = np.zeros(train.d)  # the planted weights: odd words of colours and shapes, and low levels of contrast
    start = 1
    for size in synthetic_horseseg.VOCABULARIES:
        if size != synthetic_horseseg.PLACES:
            w[start + 1 : start + size : 2], w[start : start + size : 2] = 1.0, -1.0
        start += size
    nodes = fwexp.evaluate(test, w).error
    for comparison in range(synthetic_horseseg.COMPARISONS):
        w[start + 1 + 11 * comparison : start + 1 + 11 * comparison + 5] = 0.5
    assert fwexp.evaluate(test, w).error < 0.6 * nodes < 0.2


def test_the_synthetic_training_set_can_be_cut_short():
    (train, test), (cut, same) = load_dataset("synthetic_horseseg"), load_dataset("synthetic_horseseg", n=3)
    assert (cut.n, same.n, cut.d) == (3, test.n, train.d)
    np.testing.assert_array_equal(cut.labels, train.labels[: cut.label_ptr[-1]])
    with pytest.raises(ParameterError, match=r"^dataset synthetic_horseseg: n must be at most 147, .*, got 148$"):
        load_dataset("synthetic_horseseg", n=148)

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import MatchingSVM


def pair(seed):
    """Rows and columns with positions; those that are near belong together."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 5), rng.integers(2, 5)
    order = rng.permutation(max(rows, columns))
    places = [order[:size] + rng.normal(0, 0.1, size) for size in (rows, columns)]
    distance = np.abs(places[0][:, None] - places[1])
    return np.dstack([np.ones_like(distance), distance, rng.normal(size=distance.shape)]), np.argwhere(distance < 0.5)


@pytest.fixture(scope="module")
def data():
    X, y = zip(*map(pair, range(10)))
    return list(X), list(y)


@pytest.fixture(scope="module")
def fitted(data):
    return MatchingSVM().fit(*data)


def test_what_is_near_is_matched(data, fitted):
    X, y = data
    assert [found.tolist() for found in fitted.predict(X)] == [links.tolist() for links in y]
    assert fitted.score(X, y) == 1.0
    assert fitted.coef_[0] > 0 > fitted.coef_[1]
    assert (fitted.status_, fitted.dual_gap_ <= 1e-2, fitted.n_features_in_) == ("converged", True, 3)
    np.testing.assert_array_equal(fitted.coef_, fwexp.solve(fitted.to_problem(X, y), lam="1/n", gap_tol=1e-2).w)


def test_the_score_is_one_minus_the_mean_loss(data, fitted):
    X = data[0][:2]
    y = [[], [(0, 1)]]
    problem = fwexp.matching_problem(X, y)
    losses = [fwexp.loss(problem, i, found) for i, found in enumerate(fitted.predict(X))]
    assert fitted.score(X, y) == pytest.approx(1 - np.mean(losses))
    assert fitted.score(X, y, sample_weight=[1, 3]) == pytest.approx(1 - np.average(losses, weights=[1, 3]))
    with pytest.raises(ParameterError, match="X must hold an example whose weight is not 0, to be scored, got none"):
        fitted.score(X, y, sample_weight=[0, 0])
    assert MatchingSVM(nonnegative=[1]).fit(*data).coef_[1] >= 0


def test_several_rows_may_have_one_column(data, tmp_path):
    """Also from a file, and labels may be texts; a model for one link per column is another model."""
    X = [x[:, [0, *range(x.shape[1])]] for x in data[0]]
    y = [np.column_stack([range(len(x)), np.arange(len(x)) // 2]) for x in X]
    for x, links in zip(X, y):
        x[:, :, 1] = 1.0
        x[links[:, 0], links[:, 1], 1] = 0.0
    model = MatchingSVM(column_links=2).fit(X, [" ".join(f"{r}-{c}" for r, c in links) for links in y])
    assert [found.tolist() for found in model.predict(X)] == [links.tolist() for links in y]
    assert (model.score(X, y), model.dual_gap_ <= 1e-2) == (1.0, True)
    path = model.save(tmp_path / "m.npz")
    again = MatchingSVM.load(path)
    assert again.column_links == 2
    assert [found.tolist() for found in again.predict(X)] == [links.tolist() for links in y]
    assert [found.tolist() for found in fwexp.load(path).predict(X)] == [links.tolist() for links in y]
    with pytest.raises(ParameterError, match="must have column_links = 2 like the one trained on, got None"):
        fwexp.predict(fwexp.matching_problem(X, [()] * len(X)), model.result_)
    with pytest.raises(ParameterError, match=r"^y\[\d\] must be a matching, got 2 links of column 0; raise column_links if"):
        MatchingSVM().fit(X, y)
    for wrong in (0, 1.5, None, 2**40):
        with pytest.raises(ParameterError, match="column_links must be an integer"):
            MatchingSVM(column_links=wrong).fit(X, y)


def test_a_matrix_is_not_taken_for_links():
    """The identity of 2 x 2 would be read as links of the other matching; sorted links read alike both ways."""
    X = [np.random.default_rng(0).random((2, 2, 3))]
    for matrix in (np.eye(2, dtype=int), [[1, 0], [0, 1]]):
        with pytest.raises(ParameterError, match=r"^y\[0\] must hold links .*, got \[\[1, 0\], .*; sort the links by row$"):
            MatchingSVM().fit(X, [matrix])
    links = [np.array([(0, 1), (1, 0)]), [(1, 0), (0, 1)]]
    problems = [MatchingSVM().fit(X, [of_one]).to_problem(X, [of_one]) for of_one in links]
    assert [fwexp.loss(problem, 0, links[0]) for problem in problems] == [0.0, 0.0]

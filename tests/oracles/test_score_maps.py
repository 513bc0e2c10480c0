import numpy as np
import pytest

from fwexp.oracles.score_maps import score_maps


@pytest.mark.parametrize(("cells", "p", "count"), [(1, 1, 1), (5, 3, 2), (4, 9, 5), (3, 0, 2)])
def test_is_a_product_of_matrices(cells, p, count):
    rng = np.random.default_rng(0)
    x, templates = rng.normal(size=(cells, p)), rng.normal(size=(count, p))
    maps = np.full(count * cells + 1, 7.0)
    score_maps(x, templates.ravel(), count, maps)
    np.testing.assert_allclose(maps[:-1].reshape(count, cells), templates @ x.T, atol=1e-12)
    assert maps[-1] == 7.0

"""Centres of the acceleration: norms that are computed without storing A a."""

import numpy as np
import pytest

from fwexp.blocks.centres import PIECE, new_centre


@pytest.mark.parametrize("d", [1, 7, PIECE, PIECE + 1, 2 * PIECE + 5])
def test_norms_in_pieces_are_those_of_the_image(d):
    rng = np.random.default_rng(d)
    centre = new_centre(1.7, 0.1, 2, 0, rng.normal(size=d), rng.normal(size=d))
    v = rng.normal(size=d)
    image = centre.image(v)
    assert centre.image_norm_sq(v) == pytest.approx(image @ image)
    assert centre.distance_sq(v) == pytest.approx((v - image) @ (v - image))

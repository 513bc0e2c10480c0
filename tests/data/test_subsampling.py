import numpy as np

from fwexp.data.subsampling import sample


def test_a_sample_has_n_examples_and_contains_the_smaller_samples():
    words = np.arange(1000) % 10 != 3
    before = np.zeros(1000, dtype=bool)
    for n in (1, 50, 400, 900):
        mask = sample(words, n, "ocr", "words")
        assert mask.sum() == n
        assert not (mask & ~words).any()
        assert not (before & ~mask).any()
        before = mask
    assert np.array_equal(before, words)

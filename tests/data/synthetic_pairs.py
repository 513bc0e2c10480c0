"""Sentence pairs that can be aligned word by word."""

import numpy as np

WORDS = {"the": "le", "dog": "chien", "house": "maison", "sees": "voit", "big": "grand", "3": "3", ".": "."}


def synthetic_pairs(count, seed):
    """Sentence pairs, word by word, with the last two words exchanged in French."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        e = [*rng.permutation(sorted(set(WORDS) - {"."}))[: rng.integers(3, 6)].tolist(), "."]
        f = [WORDS[word] for word in e]
        f[-3], f[-2] = f[-2], f[-3]
        pairs.append((e, f))
    return pairs


def true_links(pair):
    return [(i, pair[1].index(WORDS[word])) for i, word in enumerate(pair[0])]

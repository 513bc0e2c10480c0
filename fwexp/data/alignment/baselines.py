"""Alignments without learning, to compare with."""

from collections.abc import Sequence

import numpy as np

from fwexp.data.alignment.bitext import Bitext
from fwexp.oracles.assignment import max_matching, scratch_size

THRESHOLDS = np.arange(1, 51) / 100


def match_dice(coefficients: np.ndarray, text: Bitext, threshold: float) -> list[np.ndarray]:
    """Return, for every sentence pair, the links of the matching with the highest sum of Dice coefficients above ``threshold``."""
    links = []
    score = np.where(text.cells >= 0, coefficients[text.cells], 0.0) - threshold
    for num_e, num_f, start in zip(np.diff(text.e_ptr), np.diff(text.f_ptr), text.cell_ptr[:-1], strict=True):
        match = np.zeros(num_e, dtype=np.int32)
        max_matching(score[start : start + num_e * num_f], num_f, match, np.empty(scratch_size(num_e, num_f)))
        linked = np.flatnonzero(match)
        links.append(np.column_stack([linked, match[linked] - 1]).astype(np.int64))
    return links


def best_threshold(coefficients: np.ndarray, text: Bitext, sure: Sequence, possible: Sequence) -> float:
    """Return the threshold of `match_dice` with the lowest alignment error rate on sentence pairs with known links."""
    from fwexp.data.metrics import alignment_error_rate

    rates = [alignment_error_rate(sure, possible, match_dice(coefficients, text, threshold)) for threshold in THRESHOLDS]
    return float(THRESHOLDS[np.argmin(rates)])

"""Places in the counts of block methods: steps, oracle calls, cache hits, draws used up in this series of steps, all gaps known.

The last two are of steps at which a stored labeling met the local criterion of the cache (F), or the global one (nu).
"""

STEPS_TAKEN, ORACLE_CALLS, CACHE_HITS, DRAWS_USED, GAPS_KNOWN, MET_LOCAL, MET_GLOBAL = 0, 1, 2, 3, 4, 5, 6


def steps_of(passes: float, n: int) -> int:
    """Return how many steps so many passes are, up to what a count can be."""
    return round(min(passes * n, 2.0**52))

"""Places in the counts of block methods."""

STEPS_TAKEN, ORACLE_CALLS = 0, 1
CACHE_HITS = 2  # steps towards a stored labeling, without an oracle call
DRAWS_USED = 3  # random choices that this series of steps used
GAPS_KNOWN = 4  # 1 once all block gaps have been known
MET_LOCAL, MET_GLOBAL = 5, 6  # steps at which a stored labeling met the local criterion (F) of the cache, or the global one (nu)
NUM_COUNTS = 7


def steps_of(passes: float, n: int) -> int:
    """Return the number of steps in so many passes, at most the largest exact integer."""
    return round(min(passes * n, 2.0**52))

"""Places in the counts of block methods: steps, oracle calls, cache hits, draws used up in this stretch, exact gaps known."""

STEPS_TAKEN, ORACLE_CALLS, CACHE_HITS, DRAWS_USED, GAPS_KNOWN = 0, 1, 2, 3, 4

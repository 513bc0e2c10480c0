"""Places in the counts of block methods: steps, oracle calls, cache hits, draws used up in this stretch, exact gaps known."""

STEP, CALLS, HITS, USED, EXACT = 0, 1, 2, 3, 4

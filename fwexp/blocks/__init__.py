"""Block-coordinate methods: the parts that solvers share."""

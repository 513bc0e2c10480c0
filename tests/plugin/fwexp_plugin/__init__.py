"""A solver for convex sets and a family of problems that fwexp finds; the tutorial on solvers has the rest."""

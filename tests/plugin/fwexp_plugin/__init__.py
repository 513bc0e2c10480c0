"""A solver, a data set and a figure that fwexp finds."""

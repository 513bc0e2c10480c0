"""Algorithms of the papers on small problems, written out in numpy, by which claims that need no runs and tests decide."""

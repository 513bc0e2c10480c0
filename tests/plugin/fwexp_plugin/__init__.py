"""Solvers, a family of problems, two data sets and a figure that fwexp finds."""

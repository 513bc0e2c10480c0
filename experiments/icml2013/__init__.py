"""Figures and claims of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

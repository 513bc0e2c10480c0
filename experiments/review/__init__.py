"""Figures and claims of the review of Frank-Wolfe variants."""

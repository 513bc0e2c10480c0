"""Figures and claims of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016)."""

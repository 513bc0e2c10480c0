"""Kernels that maximise or sum over labelings; they take arrays of scores and know nothing of problems."""

"""``scipy.sparse``, imported when something of it is needed: that takes longer than numpy, and dense inputs can do without."""

import sys


def issparse(x) -> bool:
    """Return whether x is one of scipy's sparse matrices or arrays, of which there are none before scipy.sparse is imported."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(x)


def __getattr__(name: str):
    import scipy.sparse

    return getattr(scipy.sparse, name)

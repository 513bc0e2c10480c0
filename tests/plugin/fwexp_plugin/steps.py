"""Step sizes, in a module of their own: runs depend on it, too."""


def step_size(k, offset):
    """Return the size of step k, from 0."""
    return 1.0 / (k + 1.0 + offset)

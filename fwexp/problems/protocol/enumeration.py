"""All labelings, where they are few."""

from fwexp.jit.compilation import dispatched


@dispatched
def all_labelings(problem, i, limit):
    """Return all labelings of example i, (m, length), in the order in which the max-oracle prefers them (plain Python).

    Raises ``ParameterError`` where there are more than ``limit``.
    """

"""All labelings, where they are few."""

from fwexp.problems.protocol.degrees import degree


@degree(0)
def all_labelings(problem, i, limit):
    """Return all labelings of example i, (m, length), in the order in which the max-oracle prefers them (plain Python).

    Raises ``ParameterError`` where there are more than ``limit``.
    """

"""Commands of maintainers: ``make publish``, ``make lock``."""

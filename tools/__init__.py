"""What maintainers run: ``make publish``, ``make lock``."""

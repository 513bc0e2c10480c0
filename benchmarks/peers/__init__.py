"""Comparison with other tools, for users who choose one: ``make bench-peers``."""

"""Beside other people's tools, for who chooses one: ``make bench-peers``."""

"""Figures drawn from stored runs.

Every figure has two steps: ``data`` turns results into a tidy frame and ``draw`` turns that frame into a picture, so
that one frame feeds the picture, the table next to it and whatever else looks at the same numbers. Nothing here trains.
"""

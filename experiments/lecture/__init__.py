"""Claims of the lecture note on Frank-Wolfe methods and structural SVMs."""

from fwexp.papers.declarations import Paper

PAPER = Paper.declared(id="L", name="lecture", title="Lecture note on Frank-Wolfe methods and structural SVMs")

"""Claims of the lecture note on Frank-Wolfe methods and structural SVMs."""

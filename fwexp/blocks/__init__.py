"""Block-coordinate methods: the parts that solvers share.

Compiled code chooses among the functions of this package by the class of an argument, so the digest of a kernel that imports one
of its modules covers them all (`fwexp.jit.compilation`).
"""

"""Compiled code: how kernels are made, kept between processes, and run on several threads."""

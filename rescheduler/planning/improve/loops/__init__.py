"""Annealing as loops that Numba compiles: they find better plans in the same time than arrays do.

They need the extra `compiled`; without it planning anneals by arrays. They work on the arrays that
kernels and rules keep, so these stay right.
"""

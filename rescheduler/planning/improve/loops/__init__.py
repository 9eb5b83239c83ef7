"""Annealing as loops that Numba compiles: over 20 times as many proposals in the same time.

They need the extra `compiled`; without it planning anneals by arrays. They work on the arrays that
kernels and rules keep, so these stay right.
"""

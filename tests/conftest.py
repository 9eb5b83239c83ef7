"""How tests draw: the same cases in every run, unless free drawing is asked for."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, print_blob=True)
settings.register_profile("free", derandomize=False, database=None, print_blob=True)
settings.load_profile("fixed")

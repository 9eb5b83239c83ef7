"""How tests draw: the same cases in every run, unless free drawing is asked for."""

import gc

import pytest
from hypothesis import HealthCheck, settings

# Nothing fails for the time that it takes: on a busy machine any case may take long.
settings.register_profile(
    "any",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    print_blob=True,
)
settings.register_profile("fixed", settings.get_profile("any"), derandomize=True, max_examples=50)
settings.register_profile("free", settings.get_profile("any"), derandomize=False)
settings.load_profile("fixed")

# What is imported and collected lives until the end: to look through it for garbage again and
# again, once for every few hundred new objects, takes a quarter of the suite's time. Afterwards, it
# is looked for a hundred times less often than usual: what a test leaves is small.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what takes long begin first, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(70_000, 10, 10)
    gc.enable()

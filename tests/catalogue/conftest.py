"""Every scenario of the catalogue may use the program on virtual time."""

from collections.abc import Iterator

import pytest

from tests.simulation.scenario import simulated


@pytest.fixture
def virtual() -> Iterator[None]:
    """The program on virtual time and on the simulated network."""
    with simulated():
        yield

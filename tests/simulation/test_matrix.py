"""The fault matrix in short: every cell once, with another seed in each run of the table."""

import pytest

from tests.simulation.faults import FAULTS
from tests.simulation.matrix import EXPECTED, LETTERS, table, try_cell
from tests.simulation.weather import CELLS

WHOLE = [(fault, phase) for fault, phases in CELLS.items() for phase in phases]
PARTS = 3


def test_the_matrix_has_its_cells() -> None:
    assert len(CELLS) == len(FAULTS) == 31
    assert len(WHOLE) == 138
    assert all(set(EXPECTED[fault][phase]) <= set(LETTERS) for fault, phase in WHOLE)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_every_cell_is_green(part: int) -> None:
    cells = [
        try_cell(fault, phase, [number % 20])
        for number, (fault, phase) in enumerate(WHOLE)
        if number % PARTS == part
    ]
    assert all(cell.green for cell in cells), (
        "\n"
        + table(cells)
        + "".join(
            f"\n{cell.fault} at {cell.phase}, {violation}"
            for cell in cells
            for violation in cell.broken
        )
    )

"""A gang costs all of its pods until there is a place for each, and then nothing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.model.moves.move import Shift
from rescheduler.policies.fragmentation.whole_gangs import WholeGangs
from tests.draws import tries
from tests.picture import picture
from tests.policies.fragmentation.gang_places import GPU, asking, term

GANGS = st.lists(
    st.dictionaries(st.integers(0, 2), st.integers(1, 4), min_size=1), min_size=1, max_size=4
)
PLACES = st.tuples(*[st.integers(0, 8)] * 3)


def of(gangs: list[dict[int, int]]) -> WholeGangs:
    shapes = [
        tuple((number, gang[shape]) for number, gang in enumerate(gangs) if shape in gang)
        for shape in range(3)
    ]
    return WholeGangs(shapes)


@settings(max_examples=tries(400))
@given(GANGS, PLACES)
def test_those_with_room_fit_together_and_no_other_fits_beside_them(
    gangs: list[dict[int, int]], places: tuple[int, int, int]
) -> None:
    made = of(gangs)
    lacking = made.gangs_without_room(places)
    left = list(places)
    for number, gang in enumerate(gangs):
        if number not in lacking:
            for shape, count in gang.items():
                left[shape] -= count
    assert min(left) >= 0
    for number in lacking:
        assert any(left[shape] < count for shape, count in gangs[number].items())
    assert made.cost(places) == sum(sum(gangs[number].values()) for number in lacking)


@settings(max_examples=100)
@given(GANGS, PLACES)
def test_with_the_places_that_it_needs_a_gang_has_room(
    gangs: list[dict[int, int]], places: tuple[int, int, int]
) -> None:
    made = of(gangs)
    for gang in made.gangs_without_room(places):
        more = list(places)
        for shape, count in made.needed_places(gang, places):
            more[shape] = max(more[shape], count)
        then = made.gangs_without_room(tuple(more))
        before = [other_gang for other_gang in made.gangs_without_room(places) if other_gang < gang]
        assert gang not in then or any(other_gang not in then for other_gang in before)


@settings(max_examples=100)
@given(GANGS, st.lists(PLACES, min_size=1, max_size=6))
def test_many_at_once_cost_what_each_costs(
    gangs: list[dict[int, int]], columns: list[tuple[int, int, int]]
) -> None:
    made = of(gangs)
    costs = made.costs(np.array(columns, dtype=np.int64).T)
    assert costs.tolist() == [made.cost(column) for column in columns]


def test_a_large_gang_leaves_what_is_too_little_for_it_to_a_small_one() -> None:
    made = of([{0: 4}, {0: 1}])
    assert [made.gangs_without_room((count, 0, 0)) for count in range(6)] == [
        (0, 1), (0,), (0,), (0,), (1,), (),
    ]  # fmt: skip


def test_one_move_gains_nothing_where_two_are_needed() -> None:
    before = picture(
        """
        zone a | n1 gpu 8 cpu 64 | small
        zone a | n2 gpu 8 cpu 64 | small
        zone a | n3 gpu 8 cpu 64 | rock rock
    """,
        requests={"small": {"cpu": "1", GPU: "1"}, "rock": {"cpu": "1", GPU: "1"}},
    )
    made = term(asking(before, {"train": [(2, 8, "")]}))
    n3 = np.array([2], dtype=np.int32)
    assert made.cost() == 2
    assert made.gangs_without_room() == ("gangs/train",)
    assert made.short("gangs/train") == 2
    assert made.deltas(0, n3).tolist() == [0]
    for pod, change in ((0, 0.0), (1, -2.0)):
        assert made.deltas(pod, n3).tolist() == [change]
        made.commit(Shift(pod, pod, 2))
    assert made.cost() == 0
    assert made.short("gangs/train") == 0
    [room] = made.gang_placements()
    assert (room.gang, room.pods, room.gpus) == ("gangs/train", 2, 16)
    assert (room.before, room.after) == (False, True)

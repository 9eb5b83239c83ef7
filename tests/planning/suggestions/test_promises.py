"""Each promised figure is what planning with the written change gives, on drawn clusters."""

from hypothesis import event, given, settings

from rescheduler.model.moves.assessment import Assessment
from rescheduler.planning.suggestions.trials import MOST_SUGGESTIONS
from tests.draws import tries
from tests.planning.gpu_worlds import gpu_worlds
from tests.planning.random_worlds import worlds
from tests.planning.suggestions.promised import (
    check_promise,
    gained,
    promise,
    replanned,
    suggested,
)
from tests.planning.world import World

drawn = settings(max_examples=tries(150), database=None, deadline=None)
OBJECTS = ("BUD002", "ELG011", "FEA001")
"""Codes of suggestions that may change objects of the cluster, alone or beside a document."""


def check(world: World) -> None:
    made = suggested(world.snapshot, world.policies, world.limits, world.seed)
    assert len(made.suggestions) <= MOST_SUGGESTIONS
    gains = []
    for suggestion in made.suggestions:
        event(suggestion.change.split(" ")[0])
        trial = promise(suggestion)
        gains.append(round(trial.gain - trial.gainNow, 6))
        assert gains[-1] > world.limits.margin
        documents_alone = suggestion.how.startswith("Write ")
        assert documents_alone or suggestion.code in OBJECTS
        if documents_alone:
            changed = replanned(
                suggestion, world.snapshot, world.policies, world.limits, world.seed
            )
            check_promise(trial, made, changed)
            assert gained(changed) > gained(made)
    assert gains == sorted(gains, reverse=True)


@drawn
@given(worlds())
def test_promises_hold_where_load_and_spread_are_judged(world: World) -> None:
    check(world)


@drawn
@given(gpu_worlds())
def test_promises_hold_where_free_capacity_is_judged(world: World) -> None:
    check(world)


@drawn
@given(worlds())
def test_suggestions_are_the_same_again_and_outside_of_the_digest(world: World) -> None:
    made = suggested(world.snapshot, world.policies, world.limits, world.seed)
    again = suggested(world.snapshot, world.policies, world.limits, world.seed)
    assert again.suggestions == made.suggestions
    assert made.digest == world.plan().digest
    if made.assessment == Assessment(state="Healthy"):
        assert not made.suggestions

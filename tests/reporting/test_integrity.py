"""A saved plan is what was written, or it is refused: every field of one is edited in turn."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec import structs

from rescheduler.model.errors import PlanEdited, PlanError, PlanUnreadable
from rescheduler.model.moves.plan import Outcome, Plan, Report
from rescheduler.model.problem import Problem
from rescheduler.reporting.formats.plan_json import from_json, to_json
from rescheduler.reporting.integrity import CHECKSUMS, checksums
from tests.cases import every
from tests.draws import tries
from tests.planning.random_worlds import worlds
from tests.planning.world import World
from tests.reporting.full import acted_on, rich
from tests.reporting.samples import plan

Json = dict[str, Any]
Path = tuple[str | int, ...]

NOT_COVERED = {
    # Of the run that made the plan: the digest is the same in a dry run and in one that acts. What
    # may be acted on is the mode of each move, and that is covered.
    "mode",
    # Who wrote it.
    "tool",
    # Shown to people; all of it is looked at afresh when the plan is applied.
    "score.before",
    "score.after",
    "refused[].code",
    "refused[].message",
    "refused[].node",
    "refused[].owner.controllerKind",
    "refused[].owner.controllerUid",
    "refused[].owner.kind",
    "refused[].owner.name",
    "refused[].owner.uid",
    "refused[].pod.name",
    "refused[].pod.namespace",
    "refused[].pod.resourceVersion",
    "refused[].pod.uid",
    "nodes[].name",
    "nodes[].zone",
    "nodes[].pods.after",
    "nodes[].pods.before",
    *(
        f"nodes[].load.node.{reading}.{side}"
        for reading in ("gpu", "network.receive", "network.transmit")
        for side in ("before", "after")
    ),
    *(
        f"readings[].{field}"
        for field in (
            *("ageSeconds", "coverage", "maxAgeSeconds", "minCoverage", "name", "notes[]"),
            *("problem", "query", "unit", "windowSeconds"),
        )
    ),
    "notes[].code",
    "notes[].message",
    # From the ledger, which is read again before anything is evicted.
    "calibration.problem.code",
    "calibration.problem.message",
    "calibration.scheduler",
    *(
        f"calibration.{part}.{field}"
        for part in ("overall", "kinds[]")
        for field in (
            *("brier", "compared", "expectedBrier", "hitRate", "kind", "likeliestRate"),
            "version",
        )
    ),
    # Likewise: what policies select, what moves have brought, and with that which are demoted.
    *(
        f"policies[].selection.{field}"
        for field in (
            *("demotedAt", "demotedUntil", "knownNodes", "knownPods", "nodes", "pods"),
            *("inert[]", "problem.code", "problem.message"),
        )
    ),
    *(
        f"policies[].idle[].{field}"
        for field in ("namespace", "owner", "pods", "gpus", "use", "hours")
    ),
    *(
        f"{at}counts[].{field}"
        for at in ("", "policies[].")
        for field in ("one", "many", "before", "after")
    ),
    *(f"policies[].room[].{field}" for field in ("gang", "pods", "gpus", "before", "after")),
    *(
        f"policies[].brought.{field}"
        for field in (
            *("demotedAt", "demotedUntil", "measured", "moves", "problem.code"),
            *("problem.message", "promised"),
        )
    ),
    *(
        f"measuredMoves[].{field}"
        for field in (
            *("at", "evicted", "landedOn", "neutral[]", "node", "plan", "pod.name"),
            *("pod.namespace", "pod.resourceVersion", "pod.uid", "problem.code"),
            *("problem.message", "predicted.gpu-utilization", "promised.gpu-utilization"),
            "measured.gpu-utilization",
        )
    ),
    # What would help: advice for people, which changes nothing by itself.
    *(
        f"suggestions[].{name}"
        for name in ("change", "code", "decides", "how", "pods", "risk", "untried")
    ),
    *(f"countedPods[].{name}" for name in ("limit", "group", "pods")),
    *(f"suggestions[].trial.{name}" for name in ("gain", "gainNow", "moves", "movesNow")),
    *(f"suggestions[].trial.counts[].{name}" for name in ("after", "before", "many", "one")),
    *(f"suggestions[].trial.worst.{name}" for name in ("changed", "now", "reading")),
    # How the moves were found; they are covered themselves.
    *(
        f"search.{field}"
        for field in ("alone", "bound", "chained", "gain", "resumed", "singly", "steps", "stopped")
    ),
    # What a policy says of the placement; the policy itself is covered as a whole.
    *(
        f"policies[].{field}"
        for field in ("cost.after", "cost.before", "problem", "scope", "source")
    ),
    *(f"policies[].findings[].{field}" for field in ("code", "cost", "message", "subject")),
    "policies[].worst",
    "policies[].immovable",
    *(
        f"{at}assessment.{name}"
        for at in ("", "policies[].")
        for name in ("state", "why.code", "why.message")
    ),
    # Where a scheduler's profile was read; the profile is covered.
    "schedulers[].source",
    "schedulers[].problem",
    "schedulers[].problem.code",
    "schedulers[].problem.message",
    # Sentences with numbers in them; the codes are covered.
    "guards[].message",
    "moves[].reasons[].finding",
    *(f"moves[].reasons[].loads[].{field}" for field in ("after", "before", "reading")),
}
"""The leaves that the digest leaves out, each for its reason. The checksums cover them all."""

CANDIDATES: list[Any] = [
    *(
        "Audit",
        "Enforce",
        "Webhook",
        "Require",
        "evicted",
        "refused",
        "Healthy",
        "pods",
        "nodes",
        "2031-01-01T00:00:00Z",
        "other",
        7,
        0.125,
        True,
        False,
        None,
    ),
    *({"code": "X", "message": "y"}, {"name": "other", "allowed": 3}),
    {"by": "Webhook", "strength": "Require", "nodes": ["other"]},
    [{"node": "other", "probability": 0.25}],
    "full",
]
"""What may stand instead of a leaf; which of them fits is up to the leaf's type."""


def document_of(report: Report) -> Json:
    parsed: Json = json.loads(to_json(report))
    return parsed


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all values that hold no others."""
    if not isinstance(value, dict | list) or not value:
        yield path
        return
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(child, (*path, key))


def named(path: Path) -> str:
    """The place as a field: `moves[].pod.uid`."""
    return "".join("[]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def edited(document: Any, path: Path, value: Any) -> Json:
    """The document with this value at the place; all that is beside the path is shared."""
    copy = inner = dict(document)
    for key in path[:-1]:
        inner[key] = inner[key].copy()
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def edits(document: Json, path: Path) -> Iterator[Json]:
    """The document with another value at the place, for each candidate that is another value."""
    old: Any = document
    for key in path:
        old = old[key]
    for value in CANDIDATES:
        if value != old or isinstance(value, bool) != isinstance(old, bool):
            yield edited(document, path, value)


ENOUGH = 2
"""Other values of a leaf's type that are tried with it: to a digest, one is like the other."""


def answers(
    document: Json, path: Path, made: Callable[[Json], Json] = lambda document: document
) -> list[Report | PlanError]:
    """What is read of each edit of the leaf, until so many were of its type.

    made: what is done with each before it is read.
    """
    found: list[Report | PlanError] = []
    fitting = 0
    for edit in edits(document, path):
        found.append(read(made(edit)))
        fitting += not isinstance(found[-1], PlanUnreadable)
        if fitting == ENOUGH:
            break
    return found


def read(document: Json) -> Report | PlanError:
    try:
        return from_json(msgspec.json.encode(document), path="p.json")
    except PlanError as error:
        return error


def forged(document: Json, known: Json | None = None) -> Json:
    """The document with checksums that fit it, as who knows how they are made would write it.

    known: one like it with its checksums, which hold for the parts that both share.
    """
    if known is None:
        return {**document, CHECKSUMS: checksums(document)}
    new = {key: part for key, part in document.items() if part is not known[key]}
    if "plan" in new:
        plan = new["plan"].items()
        new["plan"] = {key: part for key, part in plan if part is not known["plan"][key]}
    return {**document, CHECKSUMS: {**known[CHECKSUMS], **checksums(new)}}


@pytest.mark.parametrize("make", [rich, acted_on])
def test_whatever_is_edited_the_file_is_refused_and_the_part_named(
    make: Callable[[], Report],
) -> None:
    document = document_of(make())
    assert not isinstance(read(document), PlanError)
    for path in leaves(document):
        if path in (("kind",), ("schemaVersion",), ("plan", "kind")):
            continue  # then it is no plan of this version at all
        told = answers(document, path)
        assert all(isinstance(report, PlanError) for report in told), named(path)
        refused = [str(report) for report in told if isinstance(report, PlanEdited)]
        if isinstance(document.get("plan"), dict) and named(path).endswith("moves[].pod.uid"):
            continue  # then the results are not those of the plan's moves, which is told first
        assert refused, f"no other value fits {named(path)}"
        part = ".".join(map(str, path[: 2 if path[0] in ("plan", CHECKSUMS) else 1]))
        part = part.removeprefix(f"{CHECKSUMS}.")
        assert all(f"`{part}`" in message for message in refused), (named(path), refused[0])
        assert all(message.startswith("p.json was changed") for message in refused)
        assert all("\n  Maybe " in message for message in refused)


def test_the_digest_covers_all_that_decides_despite_new_checksums() -> None:
    document = document_of(rich())
    missed, refused = set(), set()
    for path in leaves(document):
        if path[0] in (CHECKSUMS, "kind", "schemaVersion"):
            continue
        for answer in answers(document, path, lambda json: forged(json, document)):
            if isinstance(answer, PlanEdited):
                refused.add(named(path))
            elif isinstance(answer, Plan):
                missed.add(named(path))
    assert missed == NOT_COVERED
    assert not missed & refused
    decides = {"expires", "recorded", "cluster.uid", "cluster.name", "seed", "limits.movesPerCycle"}
    decides |= {f"moves[].{field}" for field in ("mode", "batch", "crashLooping", "budget.name")}
    decides |= {f"moves[].pod.{field}" for field in ("namespace", "name", "uid")}
    assert decides <= refused


@every(["moves", "policies", "guards", "schedulers"])
def test_what_is_left_out_or_put_in_another_order_changes_the_digest(name: str) -> None:
    document = document_of(rich())
    fewer = {**document, name: document[name][:-1]}
    assert isinstance(read(forged(fewer)), PlanEdited)
    more = {**document, name: [*document[name], *rest(name)]}
    assert isinstance(read(forged(more)), PlanEdited)
    if len(document[name]) > 1:
        turned = {**document, name: document[name][::-1]}
        assert isinstance(read(forged(turned)), PlanEdited)


def rest(name: str) -> list[Any]:
    """One more of these, of another plan."""
    other: list[Any] = document_of(plan(guards=[Problem(code="GRD006", message="paused")]))[name]
    return other[-1:]


def test_a_plan_in_an_outcome_is_covered_by_its_own_digest() -> None:
    document = document_of(acted_on())
    for path in leaves(document["plan"]):
        if named(path) in NOT_COVERED or path[0] in ("kind", "schemaVersion"):
            continue
        told = answers(
            document["plan"], path, lambda json: forged({**document, "plan": json}, document)
        )
        assert all(isinstance(report, PlanError) for report in told), named(path)


def test_a_field_that_nobody_knows_is_an_edit_too() -> None:
    document = document_of(rich())
    assert "`more`" in str(read({**document, "more": 1}))
    assert "`cluster`" in str(read(edited(document, ("cluster", "more"), 1)))
    del document["tool"]
    assert "`tool`" in str(read(document))


def test_both_digests_are_named_and_what_is_not_known_is_said() -> None:
    made = rich()
    document = document_of(made)
    limits = edited(document, ("limits", "movesPerCycle"), 900)
    told = str(read(limits))
    assert f"its digest is {made.digest}, and what it holds now makes " in told
    assert "; changed: `limits`\n  Maybe make a new plan" in told
    assert "which part was changed is not known, since its checksums are those" in str(
        read(forged(limits))
    )
    other = forged({**limits, "tool": "rescheduler 99\x1b[31m"})
    assert "Maybe rescheduler 99 wrote it, and this is rescheduler " in str(read(other))
    del limits[CHECKSUMS]
    assert "which part was changed is not known, since its checksums are missing" in str(
        read(limits)
    )
    nodes = edited(document, ("nodes", 0, "zone"), "z")
    assert f"its digest {made.digest} still covers what decides; changed: `nodes`" in str(
        read(nodes)
    )


def test_another_layout_of_the_same_file_is_no_edit() -> None:
    def whole(value: Any) -> Any:
        """1.0 as 1, as some programs write it."""
        if isinstance(value, dict):
            return {key: whole(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return [whole(element) for element in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    for made in (rich(), acted_on()):
        document = document_of(made)
        assert read(whole(document)) == made
        assert from_json(json.dumps(document, indent=7).encode()) == made


def test_a_digest_does_not_hang_on_the_last_bit_of_a_sum() -> None:
    made = rich()
    first, second = made.moves
    nearly = structs.replace(first, gain=first.gain + 1e-9)
    assert plan(moves=[nearly, second]).digest == plan(moves=[first, second]).digest
    better = structs.replace(first, gain=first.gain + 1e-5)
    assert plan(moves=[better, second]).digest != plan(moves=[first, second]).digest


def test_the_plan_of_an_outcome_keeps_its_digest() -> None:
    made = from_json(to_json(acted_on()))
    assert isinstance(made, Outcome)
    assert made.plan == rich()


@settings(max_examples=tries(75))
@given(worlds())
def test_what_the_planner_makes_reads_back(world: World) -> None:
    made = world.plan()
    assert from_json(to_json(made)) == made

"""Devices with partitions, alternatives and taints: where a claim can be served."""

import random
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import msgspec
import pytest

from rescheduler.kube.dra.devices import DeviceTaintRule, ResourceSlice
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, pod
from tests.draws import tries
from tests.scheduler.plugins.devices import (
    CLAIMS,
    DRIVER,
    cluster,
    gpu,
    held,
    offered,
    one,
    refused,
    template,
    where,
)

WHOLE, HALF, QUARTER = "whole", "half", "quarter"


def takes(counters: str, **amounts: str) -> list[dict[str, Any]]:
    return [{"counterSet": counters, "counters": {n: {"value": v} for n, v in amounts.items()}}]


def partitioned(on: str, gpus: int = 1, memory: str = "80Gi") -> list[ResourceSlice]:
    """Cards that may be given in whole or in two halves, as drivers of MIG offer them."""
    devices = []
    for number in range(gpus):
        card = f"card-{number}"
        devices.append(gpu(f"g{number}", WHOLE, consumesCounters=takes(card, memory="80Gi")))
        devices += [
            gpu(f"g{number}-{half}", HALF, consumesCounters=takes(card, memory="40Gi"))
            for half in "ab"
        ]
    shared = [
        {"name": f"card-{number}", "counters": {"memory": {"value": memory}}}
        for number in range(gpus)
    ]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 2}
    return [
        offered(on, pool=pool, sharedCounters=shared, nodeName=on),
        offered(on, *devices, pool=pool, nodeName=on),
    ]


def sort(name: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return one(f'device.attributes["{DRIVER}"].model == "{name}"', count, **more)


def test_a_partition_leaves_no_room_for_the_whole_and_the_other_way_round() -> None:
    slices = [*partitioned("a"), *partitioned("b")]
    half, whole = [held("q", "a", "g0-a")], [held("q", "a", "g0")]
    assert where(template(sort(WHOLE)), *slices) == [True, True]
    assert where(template(sort(WHOLE)), *slices, resource_claims=half) == [False, True]
    assert where(template(sort(HALF)), *slices, resource_claims=half) == [True, True]
    both = [*half, held("r", "a", "g0-b")]
    assert where(template(sort(HALF)), *slices, resource_claims=both) == [False, True]
    assert where(template(sort(HALF)), *slices, resource_claims=whole) == [False, True]
    assert where(template(one()), *slices, resource_claims=half) == [True, True]


def test_several_cards_are_counted_where_they_have_nothing_in_common() -> None:
    slices = [*partitioned("a", gpus=2), *partitioned("b", gpus=2)]
    taken = [held("q", "a", "g1-b")]
    assert where(template(sort(WHOLE, 2)), *slices, resource_claims=taken) == [False, True]


def test_several_partitions_of_one_card_take_no_more_than_it_has() -> None:
    slices = [*partitioned("a"), *partitioned("b", gpus=2)]
    one_half, whole = [held("q", "b", "g0-a")], [held("q", "b", "g0")]
    assert where(template(sort(HALF, 2)), *slices) == [True, True]
    assert where(template(sort(HALF, 3)), *slices) == [False, True]
    assert where(template(sort(HALF, 4)), *slices, resource_claims=one_half) == [False, False]
    assert where(template(sort(HALF), sort(WHOLE)), *slices) == [False, True]
    assert where(template(sort(WHOLE), sort(HALF)), *slices, resource_claims=one_half) == [
        False,
        True,
    ]
    assert where(template(sort(HALF), sort(WHOLE)), *slices, resource_claims=whole) == [
        False,
        False,
    ]
    assert where(template(one(), sort(HALF, 2)), *slices) == [False, True]
    assert where(template(sort(HALF), sort(HALF)), *slices) == [True, True]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (template(sort(HALF), sort(WHOLE), constraints=[{"matchAttribute": f"{DRIVER}/model"}]),
         "that share"),
        (template(sort(HALF, 16)), "ways"),
    ],
)  # fmt: skip
def test_partitions_that_are_not_worked_out_are_refused(asked: Any, reason: str) -> None:
    message = refused(asked, *partitioned("a", gpus=16), *partitioned("b"))
    assert "partitions of the same" in message
    assert reason in message


def test_a_pool_with_more_taken_than_there_is_gives_nothing() -> None:
    slices = [*partitioned("a", gpus=2), *partitioned("b", gpus=2)]
    taken = [held("q", "a", "g0", "g0-a")]
    assert where(template(sort(WHOLE)), *slices, resource_claims=taken) == [False, True]


@pytest.mark.parametrize(
    ("asked", "has"), [(sort(WHOLE), ["g0"]), (sort(HALF, 2), ["g0-a", "g0-b"])]
)
def test_partitions_follow_the_pods(asked: dict[str, Any], has: list[str]) -> None:
    slices = [*partitioned("a"), *partitioned("b")]
    mine = pod("p", "a", owner=controller("StatefulSet", "o"), **CLAIMS)
    taken = [held("p", "a", *has)]
    made = cluster(template(asked), slices, mine, pod("q", **CLAIMS), resource_claims=taken)
    model = SchedulerModel(made)
    assert model.feasible(1).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, False]
    model.commit(Shift(0, 1, 0))
    assert model.feasible(1).tolist() == [False, True]


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (gpu("0", consumesCounters=takes("none", memory="1")), "counters none are not in pool a"),
        (
            gpu("0", consumesCounters=takes("card-0", memory="1"), allowMultipleAllocations=True),
            "is shared and a part of another",
        ),
    ],
)
def test_counters_that_are_not_worked_out_are_refused(device: dict[str, Any], said: str) -> None:
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
    shared = [{"name": "card-0", "counters": {"memory": {"value": "80Gi"}}}]
    slices = [
        offered("a", pool=pool, nodeName="a", sharedCounters=shared),
        offered("a", device, pool=pool, nodeName="a"),
    ]
    assert said in refused(template(one()), *slices)


def first(*alternatives: dict[str, Any]) -> dict[str, Any]:
    named = [
        {**alternative, "name": f"s{number}"} for number, alternative in enumerate(alternatives)
    ]
    return {"name": "r", "firstAvailable": named}


def test_any_alternative_will_do_and_the_first_is_better() -> None:
    wanted = template(first(sort("H100"), sort("A100", 2)))
    slices = [offered("a", gpu("0"), gpu("1")), offered("b", gpu("0", "H100"))]
    assert where(wanted, *slices) == [True, True]
    model = SchedulerModel(cluster(wanted, slices))
    scores = {score.name: score.points.tolist() for score in model.verdicts(0).scores}
    assert scores["DynamicResources"] == [2 * (100 * 7 // 8), 200]
    taken = [held("q", "b", "0")]
    assert where(wanted, *slices, resource_claims=taken) == [True, False]
    old = {"default-scheduler": default_profile("v1.34.4")}
    model = SchedulerModel(cluster(wanted, slices), old)
    assert "DynamicResources" not in {score.name for score in model.verdicts(0).scores}


def test_alternatives_of_two_requests_are_tried_in_their_order() -> None:
    """With H100 for the first request none is left for the second, which has no other choice."""
    wanted = template(first(sort("H100"), sort("A100")), sort("H100"))
    slices = [offered("a", gpu("0", "H100"), gpu("1")), offered("b", gpu("0", "H100"))]
    assert where(wanted, *slices) == [True, False]
    model = SchedulerModel(cluster(wanted, slices))
    assert model.feasible(0).tolist() == [True, False]


def test_more_combinations_than_are_worked_out_are_refused() -> None:
    wanted = template(*[first(*[sort("A100")] * 8)] * 3)
    assert "combinations" in refused(wanted, offered("a", gpu("0")))


TAINT = {"key": "gpu.example.com/fault", "value": "ecc", "effect": "NoExecute"}


@every(
    [
        ([], False),
        ([{"key": "gpu.example.com/fault", "operator": "Exists", "effect": "NoExecute"}], True),
        ([{"operator": "Exists", "effect": "NoExecute"}], True),
        ([{"key": "gpu.example.com/fault", "value": "ecc", "effect": "NoExecute"}], True),
        ([{"key": "gpu.example.com/fault", "value": "other"}], False),
        ([{"operator": "Exists", "effect": "NoSchedule"}], False),
    ]
)
def test_taints_of_devices_are_tolerated_by_requests(
    tolerations: list[dict[str, str]], passes: bool
) -> None:
    slices = [offered("a", gpu("0", taints=[TAINT])), offered("b", gpu("0"))]
    assert where(template(one(tolerations=tolerations)), *slices) == [passes, True]
    soft = offered("a", gpu("0", taints=[{**TAINT, "effect": "None"}]))
    assert where(template(one(tolerations=tolerations)), soft, slices[1]) == [True, True]


def test_a_toleration_that_holds_only_until_the_pod_is_bound_is_refused() -> None:
    """The controller that evicts for taints of devices asks for the effect by its name."""
    slices = [offered("a", gpu("0", taints=[TAINT])), offered("b", gpu("0"))]
    wanted = template(one(tolerations=[{"operator": "Exists"}]))
    assert "evicted again for its taint gpu.example.com/fault" in refused(wanted, *slices)
    hard = {**TAINT, "effect": "NoSchedule"}
    assert where(wanted, offered("a", gpu("0", taints=[hard])), slices[1]) == [True, True]


def rule(selector: dict[str, str]) -> DeviceTaintRule:
    spec = {"taint": TAINT, "deviceSelector": selector}
    return msgspec.convert({"metadata": {"name": "r"}, "spec": spec}, DeviceTaintRule)


BY_RULE = {"default-scheduler": default_profile("v1.37.2")}


@every(
    [
        ({"driver": DRIVER, "pool": "a", "device": "0"}, [False, True]),
        ({"driver": DRIVER}, [False, False]),
        ({}, [False, False]),
        ({"driver": "another"}, [True, True]),
        ({"pool": "a"}, [False, True]),
        ({"device": "1"}, [True, True]),
    ]
)
def test_rules_of_administrators_taint_devices(
    selector: dict[str, str], passes: list[bool]
) -> None:
    slices = [offered("a", gpu("0")), offered("b", gpu("0"))]
    made = cluster(template(one()), slices, device_taint_rules=[rule(selector)])
    model = SchedulerModel(made, BY_RULE)
    assert model.landing(0).refusal is None
    assert model.feasible(0).tolist() == passes
    tolerant = template(one(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]))
    made = cluster(tolerant, slices, device_taint_rules=[rule(selector)])
    assert SchedulerModel(made, BY_RULE).feasible(0).tolist() == [True, True]


def test_a_rule_without_a_selector_taints_nothing() -> None:
    nothing = msgspec.convert({"spec": {"taint": TAINT}}, DeviceTaintRule)
    slices = [offered("a", gpu("0")), offered("b", gpu("0"))]
    made = cluster(template(one()), slices, device_taint_rules=[nothing])
    assert SchedulerModel(made, BY_RULE).feasible(0).tolist() == [True, True]


def said(version: str, **more: Any) -> str:
    profile = {"default-scheduler": default_profile(version)}
    made = cluster(template(one()), [offered("a", gpu("0"))], **more)
    refusal = SchedulerModel(made, profile).landing(0).refusal
    return "" if refusal is None else refusal.message


def test_where_rules_cannot_be_read_pods_with_claims_stay() -> None:
    unread = ["DeviceTaintRule"]
    assert "DeviceTaintRule was not read" in said("v1.37.2", unread=unread)
    assert not said("v1.36.3", unread=unread), "the gate is off"
    assert "has DeviceTaintRules, and its scheduler does not follow" in said(
        "v1.36.3", device_taint_rules=[rule({})]
    )


def test_partitions_are_not_given_where_the_gate_is_off() -> None:
    off = replace(default_profile("v1.36.3"), partitions=False)
    made = cluster(template(sort(HALF)), partitioned("a"))
    refusal = SchedulerModel(made, {"default-scheduler": off}).landing(0).refusal
    assert refusal is not None
    assert "DRAPartitionableDevices is off" in refusal.message


def drawn_card(draw: random.Random, number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Partitions of one card in three sizes, each with memory slices of its own."""
    card = f"card-{number}"
    devices = []
    for size, model in ((4, WHOLE), (2, HALF), (1, QUARTER)):
        for start in range(0, 4, size):
            if draw.random() < 0.8:
                slots = {f"slot-{slot}": "1" for slot in range(start, start + size)}
                uses = takes(card, lanes=str(2 * size - draw.randint(0, 1)), **slots)
                devices.append(gpu(f"g{number}-{model}-{start}", model, consumesCounters=uses))
    counters = {"lanes": {"value": "7"}, **{f"slot-{n}": {"value": "1"} for n in range(4)}}
    return devices, {"name": card, "counters": counters}


def affordable(devices: list[dict[str, Any]], shared: list[dict[str, Any]]) -> bool:
    """Whether counters have enough for all of these devices."""
    left = {
        (group["name"], name): int(counter["value"])
        for group in shared
        for name, counter in group["counters"].items()
    }
    for device in devices:
        for use in device.get("consumesCounters", ()):
            for name, counter in use["counters"].items():
                left[use["counterSet"], name] -= int(counter["value"])
    return min(left.values()) >= 0


def test_several_partitions_are_found_wherever_a_choice_exists() -> None:
    found: Counter[bool] = Counter()
    for seed in range(tries(600, 60)):
        draw = random.Random(seed)
        cards = [drawn_card(draw, number) for number in range(draw.randint(1, 2))]
        devices = [device for made, _ in cards for device in made]
        shared = [group for _, group in cards]
        taken = draw.sample(devices, min(len(devices), draw.randint(0, 2)))
        if len(devices) < 2 or not affordable(taken, shared):
            continue
        wanted = draw.choices([WHOLE, HALF, QUARTER, ""], k=draw.randint(2, 3))
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
        slices = [
            offered("a", pool=pool, sharedCounters=shared, nodeName="a"),
            offered("a", *devices, pool=pool, nodeName="a"),
        ]
        free = [device for device in devices if device not in taken]
        expected = any(
            affordable([*chosen, *taken], shared)
            for chosen in permutations(free, len(wanted))
            if all(
                not model or device["attributes"]["model"]["string"] == model
                for device, model in zip(chosen, wanted, strict=True)
            )
        )
        asked = template(*(sort(model) if model else one() for model in wanted))
        holding = [held(f"q{n}", "a", device["name"]) for n, device in enumerate(taken)]
        assert where(asked, *slices, resource_claims=holding) == [expected, False], seed
        found[expected] += 1
    assert min(found[True], found[False]) >= sum(found.values()) / 10, found

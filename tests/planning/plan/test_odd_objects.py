"""One odd object of one tenant: it is protected or counted at most as what can be, and no more."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rescheduler.kube.dra.cel import CelDevice, Unclear, evaluate, parse
from rescheduler.kube.dra.devices import Device
from rescheduler.kube.quantity import nanos, units
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_from_document, policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, pod, snapshot
from tests.runtime.skewed import skewed, spread


def fragmentation(**more: Any) -> Policy:
    spec = {"match": {"all": True}, "resources": ["cpu", "memory"], **more}
    document = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "Fragmentation"}
    return policy_from_document({**document, "metadata": {"name": "f"}, "spec": spec})


def planned(before: Snapshot, *policies: Policy) -> Plan:
    return plan(before, policy_set(list(policies)), History(), mode="Audit")


@pytest.mark.parametrize("requests", [{"cpu": "10P"}, {"memory": "9223372036854775807"}])
@pytest.mark.parametrize("place", ["", "n2"])
@pytest.mark.parametrize("room", [None, {"all": True}])
def test_requests_beyond_every_machine_end_no_cycle(
    requests: dict[str, str], place: str, room: dict[str, bool] | None
) -> None:
    before = skewed()
    top, middle = deployment("odd")
    odd = pod("odd-0", place, owner=middle, requests=requests)
    twice = [structs.replace(odd.spec.containers[0], name=name) for name in ("one", "two")]
    odd = structs.replace(odd, spec=structs.replace(odd.spec, containers=twice))
    with_it = snapshot(
        before.nodes, [*before.pods, odd], controllers=[*before.controllers, top, middle]
    )
    made = planned(with_it, spread(), fragmentation(room=room))
    assert [policy.problem for policy in made.policies] == [None, None]


@pytest.mark.parametrize(
    "value",
    ["99999999999999h", f"{'9' * 400}h", "\N{FULLWIDTH DIGIT ONE}h"],
)
def test_a_duration_that_is_unreadable_or_endless_protects_its_pod(value: str) -> None:
    before = skewed()
    first = before.pods[0]
    marked = structs.replace(
        first,
        metadata=structs.replace(
            first.metadata, annotations={"karpenter.sh/do-not-disrupt": value}
        ),
    )
    made = planned(replace(before, pods=[marked, *before.pods[1:]]), spread())
    assert made.moves
    assert first.metadata.uid not in {move.pod.uid for move in made.moves}


@pytest.mark.parametrize(
    "text", ["!" * 3000 + "true", "(" * 3000, "false||" * 3000 + "true", "9" * 5000]
)
def test_an_expression_beyond_all_measure_is_not_clear(text: str) -> None:
    with pytest.raises(Unclear):
        evaluate(parse(text), CelDevice("gpu.example.com", Device()))


@pytest.mark.parametrize("text", ["1e400", "1e999999"])
def test_a_quantity_is_at_most_what_kubernetes_counts(text: str) -> None:
    try:
        assert units(text) <= 2**63 - 1
        assert nanos(text) <= (2**63 - 1) * 10**9
    except ValueError as error:
        assert text in str(error)  # noqa: PT017 - either is right


def test_an_audit_policy_of_no_weight_makes_no_further_moves() -> None:
    limits = Limits.model_validate({"movesPerCycle": 1})
    idle = spread().model_copy(update={"name": "idle", "mode": "Audit", "weight": 0.0})
    made = plan(skewed(), policy_set([spread(), idle], limits), History(), mode="Enforce")
    assert [move.mode for move in made.moves] == ["Enforce"]

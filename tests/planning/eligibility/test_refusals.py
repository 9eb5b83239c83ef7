"""Asked about many pods at once, eligibility answers what it answers about each by itself."""

from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube import annotations
from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from tests.cluster import NOW, controller, deployment, like, node, pod, snapshot
from tests.draws import tries

Spec = dict[str, Any]
SPECS: list[Spec] = [
    {},
    {"priority": 2_000_000_000},
    {"priorityClassName": "system-node-critical"},
    {"volumes": [{"name": "data", "hostPath": {"path": "/var"}}]},
    {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]},
    {"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]},
    {"schedulingGroup": {"podGroupName": "g"}},
]
NOTES = [
    {},
    {},
    {annotations.OPT_OUT: "true"},
    {annotations.SAFE_TO_EVICT: "true"},
    {annotations.DO_NOT_DISRUPT: "10m"},
]
LABELS = [{}, {}, {"k8s-app": "coredns"}, {"jobset.sigs.k8s.io/jobset-name": "j"}]
WEB, OTHER = deployment("web", replicas=1), deployment("other", replicas=3)
TRAIN = controller("Job", "train", completions=3, parallelism=3, completionMode="Indexed")
CONTROLLERS = [*WEB, *OTHER, TRAIN]
OWNERS = [WEB[1], WEB[1], WEB[1], OTHER[1], TRAIN, controller("DaemonSet", "agent"), None]

templates = st.builds(
    lambda owner, notes, labels: pod("", "n1", owner=owner, annotations=notes, labels=labels),
    st.sampled_from(OWNERS),
    st.sampled_from(NOTES),
    st.sampled_from(LABELS),
)
# Which template; its spec; what it requests, if that makes a spec of its own; its node; its age.
members = st.tuples(
    st.integers(0, 1),
    st.sampled_from([pod("", **spec).spec for spec in SPECS]),
    st.none() | st.sampled_from(["1", "2"]),
    st.sampled_from(["n1", "n1", "n2", "bad"]),
    st.sampled_from([None, timedelta(minutes=1), timedelta(hours=1)]),
)


def cluster(made: list[Pod]) -> Snapshot:
    nodes = [node("n1"), node("n2"), node("bad", unschedulable=True)]
    return snapshot(nodes, made, controllers=CONTROLLERS)


@settings(max_examples=tries(300))
@given(
    shapes=st.lists(templates, min_size=2, max_size=2),
    drawn=st.lists(members, min_size=1, max_size=8),
    gangs=st.sampled_from(["Spare", "Whole"]),
)
def test_many_are_refused_as_each_is(
    shapes: list[Pod],
    drawn: list[tuple[int, PodSpec, str | None, str, timedelta | None]],
    gangs: Any,
) -> None:
    made = []
    for number, (shape, spec, cpu, on, age) in enumerate(drawn):
        template = msgspec.structs.replace(shapes[shape], spec=spec)
        pod = like(template, f"p{number}", on, None if cpu is None else {"cpu": cpu})
        if age is not None:
            pod.status = msgspec.structs.replace(pod.status, startTime=NOW - age)
        made.append(pod)
    limits = Limits(gangs=gangs, minReplicas=1)
    together = Eligibility(cluster(made), limits, History())
    found = together.refusals(np.arange(len(made), dtype=np.int32))
    # Of pods that share nothing each is asked about by itself.
    alone = Eligibility(cluster([apart(member) for member in made]), limits, History())
    for number in range(len(made)):
        assert found.get(number) == alone.refusal(number) == together.refusal(number)


def apart(pod: Pod) -> Pod:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(pod), type=Pod)

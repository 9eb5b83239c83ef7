"""What steering once added to a pod is not planned with, and nothing else is taken out."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.controllers import Controller, PodTemplate
from rescheduler.kube.managed_fields import ControllerMeta
from rescheduler.kube.objects import Affinity, ObjectMeta, OwnerReference, Pod, PodSpec
from rescheduler.kube.pods.steered_affinity import HOSTNAME, steer_spec
from rescheduler.kube.pods.unsteered_specs import as_made

EXPRESSION = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["zone", HOSTNAME]),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2),
    }
)
TERM: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.lists(EXPRESSION, min_size=1, max_size=2).map(
        lambda expressions: {"matchExpressions": expressions}
    ),
)
AFFINITY = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
                {"nodeSelectorTerms": st.lists(TERM, min_size=1, max_size=3)}
            ),
            "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
                st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": TERM}),
                min_size=1,
                max_size=2,
            ),
        },
    ).map(lambda node: {"nodeAffinity": node}),
)


def spec(affinity: Any) -> PodSpec:
    return PodSpec(affinity=None if affinity is None else msgspec.convert(affinity, Affinity))


def planned(template: PodSpec, own: PodSpec, node: str = "n1") -> PodSpec:
    """The spec that a pod of that template, on that node, is planned with."""
    owner = OwnerReference(kind="ReplicaSet", uid="rs", controller=True)
    pod = Pod(metadata=ObjectMeta(name="p", ownerReferences=[owner]), spec=own, node=node)
    controller = Controller(kind="ReplicaSet", metadata=ControllerMeta(name="rs", uid="rs"))
    controller.spec.template = PodTemplate(spec=template)
    as_made([pod], [controller], lambda pod_spec: pod_spec)
    return pod.spec


@given(AFFINITY, st.lists(st.sampled_from(["a", "n1", "n2"]), min_size=1, unique=True))
@pytest.mark.parametrize("require", [False, True])
def test_what_was_added_is_taken_out(require: bool, affinity: Any, hostnames: list[str]) -> None:
    template = spec(affinity)
    made = steer_spec(template, hostnames, require=require)
    assert planned(template, made).affinity == template.affinity


@given(AFFINITY, AFFINITY)
def test_what_the_template_does_not_explain_stays(template: Any, own: Any) -> None:
    pod = spec(own)
    found = planned(spec(template), pod)
    explained = [
        steer_spec(spec(template), hosts, require=require).affinity
        for hosts in (["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "a"], ["b", "b"])
        for require in (False, True)
    ]
    assert found.affinity == (
        spec(template).affinity if pod.affinity in explained else pod.affinity
    )


def test_a_pod_that_waits_for_its_node_keeps_it() -> None:
    made = steer_spec(spec(None), ["n1", "n2"], require=True)
    assert planned(spec(None), made, node="").affinity == made.affinity


def test_the_rest_of_the_spec_stays() -> None:
    template = PodSpec(priority=7, nodeSelector={"a": "b"})
    made = msgspec.structs.replace(steer_spec(template, ["n1"], require=True), priority=9)
    found = planned(template, made)
    assert (found.affinity, found.priority, found.nodeSelector) == (None, 9, {"a": "b"})

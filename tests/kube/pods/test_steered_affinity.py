"""A pod that is steered: one more node affinity beside what it has."""

from typing import Any

import msgspec

from rescheduler.kube.objects import Affinity, PodSpec
from rescheduler.kube.pods.steered_affinity import count_preferred, steer_spec, steered_affinity
from tests.cases import every

ASKED = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]}
ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
NAMED = {"key": "metadata.name", "operator": "In", "values": ["n1"]}


FIRST = {**ASKED, "values": ["n1"]}
WISH = {"weight": 100, "preference": {"matchExpressions": [FIRST]}}


def required(*terms: dict[str, Any], preferred: bool = True) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    wishes = {"preferredDuringSchedulingIgnoredDuringExecution": [WISH]} if preferred else {}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector, **wishes}}


def test_a_pod_without_affinity_gets_one() -> None:
    assert steered_affinity(None, ["n1", "n2"], require=True) == required(
        {"matchExpressions": [ASKED]}
    )
    preferred = steered_affinity(None, ["n1", "n2"], require=False)
    assert preferred == {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [ASKED]}}
            ]
        }
    }


@every([(1, 1), (2, 1), (3, 1), (4, 2), (7, 3)])
def test_of_nodes_that_are_required_the_better_half_is_preferred(told: int, best: int) -> None:
    names = [f"n{number}" for number in range(told)]
    node = steered_affinity(None, names, require=True)["nodeAffinity"]
    [wish] = node["preferredDuringSchedulingIgnoredDuringExecution"]
    [expression] = wish["preference"]["matchExpressions"]
    assert expression["values"] == names[:best]
    assert count_preferred(told, require=True) == best
    assert count_preferred(told, require=False) == told


def test_a_required_term_is_added_to_each_and_an_empty_one_stays_empty() -> None:
    before = required({"matchExpressions": [ZONE]}, {"matchFields": [NAMED]}, {}, preferred=False)
    assert steered_affinity(before, ["n1", "n2"], require=True) == required(
        {"matchExpressions": [ZONE, ASKED]},
        {"matchFields": [NAMED], "matchExpressions": [ASKED]},
        {},
    )


def test_other_wishes_stay_and_nothing_is_changed_in_place() -> None:
    wish = {"weight": 7, "preference": {"matchExpressions": [ZONE]}, "unknown": 1}
    before = {
        "podAntiAffinity": {"x": 1},
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]},
    }
    copy = msgspec.json.decode(msgspec.json.encode(before))
    after = steered_affinity(before, ["n1"], require=False)
    assert before == copy
    assert after["podAntiAffinity"] == {"x": 1}
    wishes = after["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wishes[0] == wish
    assert wishes[1]["preference"]["matchExpressions"][0]["values"] == ["n1"]


def test_a_spec_is_steered_and_the_old_one_stays() -> None:
    own = required({"matchExpressions": [ZONE]}, preferred=False)
    spec = PodSpec(affinity=msgspec.convert(own, Affinity))
    after = steer_spec(spec, ["n1", "n2"], require=True)
    assert after.affinity is not None
    assert msgspec.to_builtins(after.affinity) == required({"matchExpressions": [ZONE, ASKED]})
    assert spec.affinity is not None
    assert msgspec.to_builtins(spec.affinity) == own

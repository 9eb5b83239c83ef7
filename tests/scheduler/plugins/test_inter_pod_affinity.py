from typing import Any

import msgspec

from rescheduler.kube.controllers import Namespace
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import node, pod, snapshot

ZONE = "topology.kubernetes.io/zone"
FREE = {"cpu": "0"}


def term(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def needs(*terms: dict[str, Any], part: str = "podAffinity") -> dict[str, Any]:
    return {part: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def avoids(*terms: dict[str, Any]) -> dict[str, Any]:
    return needs(*terms, part="podAntiAffinity")


def likes(weight: int, wanted: dict[str, Any], part: str = "podAffinity") -> dict[str, Any]:
    weighted = [{"weight": weight, "podAffinityTerm": wanted}]
    return {part: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def three() -> list[Any]:
    return [node("a", zone="1"), node("b", zone="1"), node("c", zone="2"), node("d")]


def app(name: str, on: str = "", *, namespace: str = "default", **spec: Any) -> Any:
    return pod(
        f"{name}-{on}-{namespace}",
        on,
        namespace=namespace,
        labels={"app": name},
        requests=FREE,
        **spec,
    )


def feasible(newcomer: Any, *others: Any, namespaces: Any = None) -> str:
    made = snapshot(three(), [newcomer, *others])
    if namespaces is not None:
        made.namespaces[:] = namespaces
    fits = SchedulerModel(made).feasible(0).tolist()
    return "".join(name for name, fit in zip("abcd", fits, strict=True) if fit)


def winners(newcomer: Any, *others: Any) -> str:
    landing = SchedulerModel(snapshot(three(), [newcomer, *others])).landing(0)
    return "".join(sorted("abcd"[index] for index in landing.nodes.tolist()))


def test_affinity_needs_a_match_in_the_domain() -> None:
    assert feasible(app("x", affinity=needs(term("y"))), app("y", "a")) == "ab"
    assert feasible(app("x", affinity=needs(term("y"))), app("y", "d")) == ""
    assert feasible(app("x", affinity=needs(term("y")))) == ""


def test_terminating_pods_still_count() -> None:
    leaving = app("y", "a")
    leaving.metadata.deletionTimestamp = leaving.metadata.creationTimestamp
    assert feasible(app("x", affinity=needs(term("y"))), leaving) == "ab"
    assert feasible(app("x", affinity=avoids(term("y"))), leaving) == "cd"


def test_one_pod_must_match_all_terms() -> None:
    both = needs(term("y"), {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"t": "1"}}})
    half = pod("half", "a", labels={"app": "y"})
    whole = pod("whole", "c", labels={"app": "y", "t": "1"})
    assert feasible(app("x", affinity=both), half) == ""
    assert feasible(app("x", affinity=both), half, whole) == "c"


def test_the_first_of_its_kind_may_go_where_the_keys_are() -> None:
    assert feasible(app("x", affinity=needs(term("x")))) == "abc"
    assert feasible(app("x", affinity=needs(term("x"))), app("x", "c")) == "c"
    assert feasible(app("x", affinity=needs(term("x"))), app("x", "d")) == "abc"


def test_anti_affinity_closes_the_domain_and_passes_nodes_without_the_key() -> None:
    assert feasible(app("x", affinity=avoids(term("y"))), app("y", "a")) == "cd"
    by_host = avoids(term("y", "kubernetes.io/hostname"))
    assert feasible(app("x", affinity=by_host), app("y", "a")) == "bcd"


def test_bound_pods_repel_the_newcomer() -> None:
    assert feasible(app("x"), app("y", "a", affinity=avoids(term("x")))) == "cd"
    assert feasible(app("z"), app("y", "a", affinity=avoids(term("x")))) == "abcd"


@every(
    [
        ({}, False),
        ({"namespaces": ["other"]}, True),
        ({"namespaces": ["default"]}, False),
        ({"namespaceSelector": {}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "c"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "c"}}, "namespaces": ["other"]}, True),
    ]
)
def test_a_term_says_which_namespaces_it_is_about(more: Any, sees_other: Any) -> None:
    namespaces = msgspec.convert(
        [
            {"metadata": {"name": "default", "labels": {"team": "a"}}},
            {"metadata": {"name": "other", "labels": {"team": "b"}}},
        ],
        list[Namespace],
    )
    closed = "cd" if sees_other else "abcd"
    rule = avoids(term("y", **more))
    own = feasible(app("x", affinity=rule), app("y", "a", namespace="other"), namespaces=namespaces)
    assert own == closed
    held = feasible(
        app("y", namespace="other"), app("x", "a", affinity=rule), namespaces=namespaces
    )
    assert held == closed


def test_a_missing_selector_matches_nothing() -> None:
    rule = avoids({"topologyKey": ZONE})
    assert feasible(app("x", affinity=rule), app("y", "a")) == "abcd"


def test_preferences_pull_and_push() -> None:
    assert winners(app("x", affinity=likes(10, term("y"))), app("y", "c")) == "c"
    push = likes(10, term("y"), part="podAntiAffinity")
    assert winners(app("x", affinity=push), app("y", "a")) == "cd"


def test_bound_pods_pull_and_push_by_their_preferences() -> None:
    assert winners(app("x"), app("y", "c", affinity=likes(10, term("x")))) == "c"
    push = likes(10, term("x"), part="podAntiAffinity")
    assert winners(app("x"), app("y", "a", affinity=push)) == "cd"


def test_required_affinity_of_bound_pods_pulls_a_little() -> None:
    assert winners(app("x"), app("y", "c", affinity=needs(term("x")))) == "c"

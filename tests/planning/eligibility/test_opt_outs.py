"""Who asked that a pod be left alone: by marks of other tools, of no list, and of the operators."""

from typing import Any

import pytest

from rescheduler.kube.annotations import DO_NOT_DISRUPT
from rescheduler.kube.objects import ObjectMeta
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.opt_outs import refuse_opt_out
from rescheduler.policies.limits import Limits
from tests.cluster import NOW, pod


def refused(
    own: dict[str, str] | None = None, above: ObjectMeta | None = None, **marks: Any
) -> Problem | None:
    """Of a pod with these marks, below this object; own: a mark of the operator's."""
    limits = Limits.model_validate({"optOuts": [own] if own else []})
    marked = pod("web-0", "n1", **marks)
    return refuse_opt_out(marked, (above,) if above else (), NOW, limits.optOuts)


STAYS = [
    ("agones.dev/safe-to-evict", "false"),
    ("acme.test/no-eviction", ""),
    ("acme.test/doNotReschedule", "yes"),
    ("acme.test/evictable", "No"),
    ("acme.test/rebalancing", "disabled"),
    ("acme.test/protected-from-eviction", "1"),
    ("acme.test/disable-consolidation", "TRUE"),
    ("never-move", "true"),
    ("acme.test/disable-evictions", "true"),
    ("acme.test/allow-moves", "false"),
    ("acme.test/nonevictable", "true"),
    ("acme.test/do-not-drain", "true"),
    ("koordinator.sh/eviction-cost", "2147483647"),
]
GOES = [
    ("agones.dev/safe-to-evict", "true"),
    ("acme.test/do-not-evict", "false"),
    ("acme.test/evictable", "yes"),
    ("acme.test/evictable", ""),
    ("acme.test/migration-policy", "live"),
    ("acme.test/no-proxy", "10.0.0.0/8"),
    ("koordinator.sh/eviction-cost", "0"),
    ("consul.test/sidecar-proxy-lifecycle-shutdown-drain-listeners", "false"),
    ("do-not-evict.acme.test/app", "web"),
]


@pytest.mark.parametrize("kind", ["label", "annotation"])
@pytest.mark.parametrize(("name", "value"), STAYS, ids=" ".join)
def test_a_mark_that_nobody_has_listed_counts_where_its_name_asks_to_stay(
    name: str, value: str, kind: str
) -> None:
    marks: dict[str, Any] = {f"{kind}s": {name: value}}
    found = refused(**marks)
    assert found is not None
    assert found.code == "ELG011"
    assert found.message == f"{kind} {name}: {value!r} protects it"


@pytest.mark.parametrize("kind", ["labels", "annotations"])
@pytest.mark.parametrize(("name", "value"), GOES, ids=" ".join)
def test_other_marks_ask_for_nothing(name: str, value: str, kind: str) -> None:
    marks: dict[str, Any] = {kind: {name: value}}
    assert refused(**marks) is None


def test_a_known_annotation_that_was_set_as_a_label_counts() -> None:
    assert refused(labels={DO_NOT_DISRUPT: "true"}) is not None


@pytest.mark.parametrize("kind", ["label", "annotation"])
@pytest.mark.parametrize(
    ("own", "value", "stays"),
    [
        ("tier=gold", "gold", True),
        ("tier=gold", "silver", False),
        ("tier", "", True),
        ("tier", "False", False),
        ("else", "gold", False),
    ],
)
def test_operators_name_marks_of_their_own(kind: str, own: str, value: str, stays: bool) -> None:
    marks: dict[str, Any] = {f"{kind}s": {"tier": value}}
    assert (refused({kind: own}, **marks) is not None) == stays
    above = refused({kind: own}, ObjectMeta(name="top", **marks))
    assert (above is not None) == stays
    if above is not None:
        assert above.message == f"{kind} tier: {value!r} on top protects it"
    others = {"label": {"annotations": {"tier": value}}, "annotation": {"labels": {"tier": value}}}
    elsewhere: dict[str, Any] = others[kind]
    assert refused({kind: own}, **elsewhere) is None


@pytest.mark.parametrize("own", [{}, {"label": "a", "annotation": "b"}])
def test_a_mark_is_either_a_label_or_an_annotation(own: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either label or annotation"):
        Limits.model_validate({"optOuts": [own]})

"""The JSON Schema accepts exactly what the models accept."""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rescheduler.documents.envelope import to_document
from rescheduler.documents.strict_yaml import tree_of_value
from rescheduler.documents.validation import validate
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.json_schema import json_schema
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.health.policy import Health
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.match import Match
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.registry import DOCUMENTS
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from tests.draws import tries
from tests.policies.scheduler_documents import CONTRADICTIONS, SCHEDULERS


@cache
def validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json_schema())


COMPARISONS = (
    "low must not be above high",
    "coolDownCap must not be below coolDown",
    "kueue: Restart needs gangs: Whole, as Kueue stops whole gangs",
    "two levels have the same name",
    "there is no level",
    "nothing satisfies this",
    "not PromQL: ",
    *CONTRADICTIONS,
)
"""What is left to the models, mostly since JSON Schema cannot express it."""

WORDS = {"operator": "In", "key": "tier", "values": ["train"]}
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [WORDS]}


def document(kind: type[Policy], **fields: Any) -> dict[str, Any]:
    return to_document(kind.model_validate(fields))


VALID: list[dict[str, Any]] = [
    *SCHEDULERS,
    document(
        Conformity,
        name="c",
        match=Match(all=True),
        nodeTaints={"only": ["a/"]},
        nodeAffinity={"required": False, "preferred": True},
        podAntiAffinity=True,
        restarts={"atLeast": 5, "states": ["Running"]},
        lifetime={"above": "7d"},
    ),
    to_document(Limits()),
    to_document(Limits(movesPerCycle="0.5%", movesPerNode="100%", movesPerHour="10%")),
    document(
        Spread,
        name="s",
        match={"namespaces": ["ml"], "namespaceSelector": SELECTOR, "labels": SELECTOR},
        nodes={"labels": SELECTOR},
    ),
    document(
        Spread,
        name="t",
        match=Match(all=True),
        groupBy="Gang",
        constraints=[
            {"topologyKey": "a", "maxPerDomain": 2, "matchLabelKeys": ["h"], "within": "b"},
            {"topologyKey": "b", "minDomains": 2, "follow": {"all": True}},
        ],
    ),
    document(Spread, name="p", match=Match(all=True), constraints="FromPods"),
    document(
        Spread,
        name="e",
        match={"all": True, "exclude": {"namespaces": ["ml"], "labels": SELECTOR}},
        nodes={"all": True, "exclude": {"labels": SELECTOR}},
    ),
    document(
        Spread,
        name="e",
        match={"labels": SELECTOR, "exclude": {"namespaceSelector": SELECTOR}},
        nodes={"labels": SELECTOR, "exclude": {"labels": SELECTOR}},
    ),
    document(
        Utilization,
        name="u",
        nodes=NodeMatch(all=True),
        match=Match(all=True),
        targets={resource: {"high": 0.5, "low": 0.4} for resource in ("gpu", "cpu", "network")},
    ),
    document(
        Utilization,
        name="u",
        nodes=NodeMatch(all=True),
        match=Match(all=True),
        targets={"cpu": {"high": 0.5, "pressure": 0.2, "floor": 0.4}, "rdma": {"high": 0.5}},
        groups=[{"nodes": SELECTOR, "targets": {"memory": {"high": 0.5}}}],
        strategy="Pack",
        cold=0.2,
        headroom={"window": "1h"},
    ),
    document(Numa, name="n", nodes=NodeMatch(all=True), match=Match(all=True), crowded=0.9),
    document(
        Health,
        name="h",
        nodes=NodeMatch(all=True),
        match=Match(all=True),
        action="Drain",
        signs={"xid": True, "ecc": True, "remap": True, "drops": 0.01, "retransmits": 0.05},
    ),
    document(
        Locality,
        name="l",
        match=Match(all=True),
        pairs=[{"pods": {"labels": SELECTOR}, "near": {"all": True}}],
        groups=[{"pods": {"all": True}, "by": "All", "together": "zone", "apart": "host"}],
        traffic={
            "series": "bytes_total",
            "source": {"namespace": "a", "name": "b", "kind": "Pod"},
            "destinationDomain": "c",
        },
        distances={"series": "s", "query": "q", "source": "a", "destination": "b"},
        podAffinity=True,
        datasets={"nodeLabel": "has/{dataset}", "catalog": "lake"},
    ),
    document(
        Fragmentation,
        name="f",
        match=Match(all=True),
        resources=["gpu", "cpu"],
        room={"labels": SELECTOR},
        sharedGpus={"resource": "a/b"},
    ),
]

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 0.5, 1.5, 101, 1001, 10**30),
    *("", "x", "5m", "0s", "1h30m", "90", "5m ", "50%", "101%", "100.0%", "-5%", "Audit", "In"),
    *("Exists", "Spread", "Limits", "rescheduler.io/v1", "9999999d", "1.5h", "m", "1s1h"),
    *([], ["a"], [1], [None], [WORDS], {}, {"a": "b"}, {"a": 1}, {"all": True}, {"all": False}),
    *({"all": None}, {"high": 0.5}, {"high": "50%", "low": None}, {"labels": SELECTOR}),
    *({"all": True, "labels": SELECTOR}, {"matchLabels": {}}, {"gpu": None}, {"gpu": {"high": 1}}),
    {"matchLabels": {"a": "b"}, "matchExpressions": []},
    {"key": "a", "operator": "Exists", "values": ["x"]},
    {"key": "a", "operator": "Exists"},
    {"key": "", "operator": "In", "values": ["x"]},
    {"key": "a", "operator": "In", "values": []},
    *("a b", "a/b", "a/b/c", "-a", "x" * 64, "web-*", "a/", "a=b", "{dataset}", "sum(x"),
    *({"a b": "c"}, {"a": "b c"}, {"a/b": ""}, ["a b"], ["Ml"], ["a/"], "ScheduleAnyway"),
    {"matchLabels": {"a b": "c"}},
    {"key": "a b", "operator": "Exists"},
    {"key": "a", "operator": "In", "values": ["b c"]},
]


def paths(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document but its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, child in items:
        found.append((*above, key))
        if isinstance(child, dict | list):
            found += paths(child, (*above, key))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document with up to three things changed, dropped, added or misspelled."""
    document: dict[str, Any] = deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 3))):
        places = paths(document)
        if not places:
            break
        *above, key = draw(st.sampled_from(places))
        holder: Any = document
        for step in above:
            holder = holder[step]
        how = draw(st.sampled_from(["change", "change", "drop", "add", "misspell"]))
        if how == "drop":
            del holder[key]
        elif how == "change" or not isinstance(holder, dict):
            holder[key] = deepcopy(draw(st.sampled_from(ODD)))
        elif how == "add":
            extra = draw(st.sampled_from(["extra", "low", "all", "labels", "kind"]))
            holder[extra] = deepcopy(draw(st.sampled_from(ODD)))
        else:
            holder[key[:-1]] = holder.pop(key)
    return document


@settings(max_examples=tries(1000))
@given(document=mutated())
def test_the_schema_accepts_exactly_what_the_models_accept(document: dict[str, Any]) -> None:
    made, file_problems = validate(tree_of_value(document), DOCUMENTS)
    only_compared = bool(file_problems) and all(
        any(comparison in file_problem.message for comparison in COMPARISONS)
        for file_problem in file_problems
    )
    accepted = made is not None or only_compared
    event("accepted" if accepted else "refused")
    errors = [error.message for error in validator().iter_errors(document)]
    assert accepted == (not errors), (file_problems, errors)


def test_valid_documents_are_valid() -> None:
    for document in VALID:
        validator().validate(document)


def test_every_default_is_what_may_be_written() -> None:
    """Anybody who copies a default from the documentation must not be refused."""
    schema = json_schema()

    def fields(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if "default" in value and "properties" not in value:
                yield value
            for child in value.values():
                yield from fields(child)
        elif isinstance(value, list):
            for element in value:
                yield from fields(element)

    found = list(fields(schema["definitions"]))
    assert len(found) > 100
    for field in found:
        own = {"definitions": schema["definitions"], **field}
        jsonschema.Draft7Validator(own).validate(field["default"])

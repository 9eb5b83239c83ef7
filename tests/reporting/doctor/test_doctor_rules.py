"""What a checkup concludes: of the cluster, its budgets, pools, exporters and rights."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs

import rescheduler.reporting
from rescheduler.kube.controllers import PodDisruptionBudget
from rescheduler.kube.extensions import Webhook, WebhookConfiguration, WebhookRule
from rescheduler.kube.objects import ObjectMeta
from rescheduler.model.checkup import Checkup, Diagnosis
from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.own_readings.readings_document import built_in
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.reporting.doctor.budget_rules import check_budgets, why_never
from rescheduler.reporting.doctor.checkup_json import checkup_json, checkup_schema
from rescheduler.reporting.doctor.checkup_table import render_checkup
from rescheduler.reporting.doctor.cluster_rules import (
    check_clock,
    check_schedulers,
    check_version,
    check_webhooks,
)
from rescheduler.reporting.doctor.exporter_rules import (
    DefinedReading,
    check_exporters,
    series_needed,
)
from rescheduler.reporting.doctor.pool_rules import check_pools
from rescheduler.reporting.doctor.rights_rules import (
    GrantedRule,
    Right,
    check_rights,
    check_spare,
    spare_rights,
)
from tests.cluster import NOW, budget, node, pod, snapshot
from tests.reporting.schema_fields import undescribed_fields
from tests.runtime.skewed import skewed

Golden = Callable[[Path, str], None]


@pytest.mark.parametrize(
    ("version", "severity", "said"),
    [
        ("v1.36.3", "ok", "was compared"),
        ("v1.36.9-gke.1", "ok", "was compared"),
        ("v1.99.0", "error", 'allowVersions: ["1.99"]'),
        ("v1.12.0", "error", "is not modelled"),
        ("", "error", "an unknown version"),
    ],
)
def test_a_version_is_compared_or_it_is_said_that_it_is_not(
    version: str, severity: str, said: str
) -> None:
    diagnosis = check_version(version)
    assert diagnosis.severity == severity
    assert said in diagnosis.message + diagnosis.advice


@pytest.mark.parametrize(
    ("skew", "severity", "said"),
    [
        (0.4, "ok", "agrees"),
        (-9.0, "warning", "9 s behind the API server's"),
        (31.0, "error", "31 s ahead of the API server's; 30 s are allowed"),
        (None, "note", "no date"),
    ],
)
def test_clocks_may_differ_a_little(skew: float | None, severity: str, said: str) -> None:
    diagnosis = check_clock(skew)
    assert (diagnosis.severity, said in diagnosis.message) == (severity, True)


def test_each_scheduler_in_use_is_modelled_or_named() -> None:
    before = skewed()
    odd = pod("odd", "n1", namespace="ml")
    odd = structs.replace(odd, spec=structs.replace(odd.spec, schedulerName="volcano"))
    rows = list(check_schedulers(replace(before, pods=[*before.pods, odd]), ()))
    assert [(row.severity, row.message.split(" places ")[0]) for row in rows] == [
        ("ok", "default-scheduler"),
        ("warning", "volcano"),
    ]
    assert "1 pod and is not modelled" in rows[1].message


def webhook(name: str, *, policy: str = "Ignore", **rule: list[str]) -> WebhookConfiguration:
    fields = {"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"], **rule}
    hook = Webhook(name=name, failurePolicy=policy, rules=[WebhookRule(**fields)])
    return WebhookConfiguration(metadata=ObjectMeta(name=name), webhooks=[hook])


def test_webhooks_that_change_new_pods_are_named() -> None:
    others = [
        webhook("on-services", resources=["services"]),
        webhook("on-updates", operations=["UPDATE"]),
        webhook("rescheduler-steering"),
    ]
    assert [row.severity for row in check_webhooks(others)] == ["ok"]
    (note,) = check_webhooks([webhook("mesh"), *others])
    assert "1 webhook (mesh) may change pods" in note.message
    _, refusing = check_webhooks([webhook("all", policy="Fail", apiGroups=["*"], resources=["*"])])
    assert "1 webhook (all) refuses new pods while it does not answer" in refusing.message


def made_budget(pods: int = 3, **spec: Any) -> PodDisruptionBudget:
    base = budget("web", "web", allowed=0)
    return structs.replace(
        base,
        spec=structs.replace(base.spec, **{"minAvailable": None, "maxUnavailable": None, **spec}),
        status=structs.replace(base.status, expectedPods=pods),
    )


@pytest.mark.parametrize(
    ("pods", "spec", "never"),
    [
        (3, {"maxUnavailable": 0}, True),
        (3, {"maxUnavailable": "0%"}, True),
        (3, {"maxUnavailable": "1%"}, False),  # it is rounded up
        (3, {"minAvailable": 3}, True),
        (3, {"minAvailable": 2}, False),
        (3, {"minAvailable": "100%"}, True),
        (3, {"minAvailable": "67%"}, True),  # of 3 pods, rounded up, that is all
        (3, {"minAvailable": "66%"}, False),
        (1, {"minAvailable": 1}, True),
        (0, {"minAvailable": 1}, False),
    ],
)
def test_a_budget_that_never_allows_an_eviction(
    pods: int, spec: dict[str, Any], never: bool
) -> None:
    found = made_budget(pods, **spec)
    assert bool(why_never(found)) == never
    rows = list(check_budgets(replace(skewed(), budgets=[found])))
    assert any("can never allow an eviction" in row.message for row in rows) == never


def test_two_budgets_over_the_same_pods_are_told() -> None:
    one = made_budget(maxUnavailable=1)
    two = structs.replace(one, metadata=structs.replace(one.metadata, name="web-2"))
    (row,) = check_budgets(replace(skewed(), budgets=[one, two]))
    assert row.code == "BUD001"
    assert "4 pods of namespace default cannot be evicted: 2 budgets select them" in row.message


def pools() -> Snapshot:
    nodes = [
        node("a1", labels={"karpenter.sh/nodepool": "general"}),
        node("g1", labels={"karpenter.sh/nodepool": "gpu"}),
        node("g2", labels={"karpenter.sh/nodepool": "gpu"}),
        node("cp", labels={"node-role.kubernetes.io/control-plane": ""}),
    ]
    return snapshot(nodes, [pod("web", "a1"), pod("train", "g1", namespace="ml")])


def spread(**match: Any) -> Spread:
    return Spread.model_validate({"kind": "Spread", "name": "zones", "match": match})


def test_a_pool_that_no_policy_selects_is_named() -> None:
    (row,) = check_pools(pools(), [spread(namespaces=["default"])])
    assert row.severity == "note"
    assert "karpenter.sh/nodepool=gpu: 2 nodes (g1, g2)" in row.message
    (row,) = check_pools(pools(), [spread(all=True)])
    assert row.severity == "ok", "the control plane is no pool"
    by_nodes = Utilization.model_validate(
        {
            "kind": "Utilization",
            "name": "hot",
            "match": {"all": True},
            "nodes": {"labels": {"matchLabels": {"karpenter.sh/nodepool": "gpu"}}},
            "targets": {"cpu": {"high": "50%"}},
        }
    )
    (row,) = check_pools(pools(), [by_nodes])
    assert "nodepool=general" in row.message


DEFINITIONS = [
    DefinedReading(name, document.name, own)
    for document in built_in()
    for name, own in document.own_readings.items()
]


def unanswered(name: str) -> ReadingAnswer:
    problem = Problem("RDG009", "no node has a value")
    subject = name.partition(".")[0]
    return ReadingAnswer(
        name=name, subject=subject, policies=["hot"], own=False, windowSeconds=300, problem=problem
    )


def gpu_cluster() -> Snapshot:
    made = node("g1")
    status = structs.replace(
        made.status, allocatable={**(made.status.allocatable or {}), "nvidia.com/gpu": "8"}
    )
    return snapshot([structs.replace(made, status=status)], [])


def exporters(name: str, *present: str) -> Diagnosis:
    answers, cluster = [unanswered(name)], gpu_cluster()
    assert set(present) <= {*series_needed(answers, DEFINITIONS, cluster), *present}
    counts = {series: {"job": 1} for series in present}
    (row,) = check_exporters(answers, DEFINITIONS, counts, cluster)
    assert row.severity == "error"
    return row


def test_an_exporter_that_lacks_a_field_is_told_from_one_that_is_missing() -> None:
    missing = exporters("node.gpu")
    assert missing.message.startswith("Prometheus has no series of dcgm-exporter.")
    assert "device-metrics-exporter" not in missing.message, "no node has a GPU of AMD"
    lacking = exporters("node.gpu", "DCGM_FI_DEV_FB_USED")
    assert "dcgm-exporter is there but does not export DCGM_FI_PROF_GR_ENGINE" in lacking.message
    assert "which hot needs" in lacking.message
    other = exporters("node.gpu", "DCGM_FI_DEV_GPU_UTIL")
    assert other.message.endswith("no node has a value"), "one way to the reading is complete"


def test_readings_that_answer_are_counted() -> None:
    fit = structs.replace(unanswered("node.cpu"), problem=None, coverage=0.98)
    (row,) = check_exporters([fit], DEFINITIONS, {}, skewed())
    assert row.severity == "ok"
    assert "1 of 1 reading that policies need answers, for 98 %" in row.message


EXPECTED = [
    Right("list", "pods"),
    Right("update", "configmaps", "", "rescheduler", "rescheduler-state"),
    Right("update", "configmaps", "", "rescheduler", "other", optional="without it less is kept."),
]


def test_missing_rights_are_named_and_optional_ones_are_notes() -> None:
    rows = list(check_rights("robot", "Enforce", EXPECTED, EXPECTED[1:]))
    assert [row.severity for row in rows] == ["error", "note"]
    assert "lacks for mode Enforce: update configmaps/rescheduler-state in rescheduler" in (
        rows[0].message
    )
    (row,) = check_rights("robot", "Enforce", EXPECTED, [])
    assert row.message == "robot has the 3 rights that mode Enforce needs."


def granted(verbs: str, resources: str, groups: str = "", names: str = "") -> GrantedRule:
    return GrantedRule(
        tuple(verbs.split()), (groups,), tuple(resources.split()), tuple(names.split())
    )


@pytest.mark.parametrize(
    ("rule", "spare"),
    [
        (granted("get list watch", "pods nodes"), []),
        (granted("list", "secrets"), ["list secrets"]),
        (granted("delete", "pods"), ["delete pods"]),
        (granted("update", "configmaps", names="rescheduler-state"), []),
        (granted("update", "configmaps"), ["update configmaps"]),
        (granted("update", "configmaps", names="else"), ["update configmaps/else"]),
        (granted("create", "selfsubjectaccessreviews", "authorization.k8s.io"), []),
        (granted("*", "*", "*"), ["*"]),
    ],
)
def test_spare_rights_are_writes_and_secrets(rule: GrantedRule, spare: list[str]) -> None:
    assert spare_rights([rule], EXPECTED) == spare
    assert len(list(check_spare("robot", "Audit", spare))) == bool(spare)


def checkup() -> Checkup:
    rows = [
        check_version("v1.36.3"),
        check_clock(31.0),
        *check_rights("robot", "Enforce", EXPECTED, EXPECTED[1:]),
        *check_pools(pools(), [spread(namespaces=["default"])]),
    ]
    return Checkup(
        tool="rescheduler 0.1.0",
        taken=NOW,
        cluster="prod\x1b[31m",
        version="v1.36.3",
        mode="Enforce",
        account="robot",
        diagnoses=rows,
    )


@pytest.mark.parametrize("width", [72, 100])
def test_the_table_of_a_checkup_says_what_to_do(width: int) -> None:
    text = render_checkup(checkup(), width=width, color=False)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "  ERROR  GRD007 This host's clock is 31 s ahead" in text
    assert "         To do: Synchronize the clocks, as by NTP." in text
    assert text.endswith("2 errors and 0 warnings. Begin with the first error.\n")


def test_a_checkup_fits_its_schema() -> None:
    document = json.loads(checkup_json(checkup()))
    jsonschema.Draft202012Validator(checkup_schema()).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(checkup_schema()).validate({**document, "mode": None})


def test_the_schema_of_a_checkup_is_fresh_and_describes_every_field(golden: Golden) -> None:
    schema = checkup_schema()
    assert not undescribed_fields(schema)
    golden(
        Path(rescheduler.reporting.__path__[0]) / "checkup.schema.json",
        json.dumps(schema, indent=2) + "\n",
    )

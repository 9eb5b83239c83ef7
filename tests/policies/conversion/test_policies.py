"""What the fields of descheduler's policies become."""

from functools import partial
from typing import Any

import pytest

from rescheduler.documents.text_files import TextFile
from rescheduler.policies.conversion.descheduler_guide import from_descheduler
from rescheduler.policies.conversion.example_tests import test_file_text as example_text
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policytest.expectations import actual_results
from rescheduler.policytest.object_builders import NOW
from rescheduler.policytest.runner import run_all
from tests.cases import every
from tests.policies.conversion.converting import converted, one_line, specs
from tests.policies.conversion.inputs import (
    DEVIATIONS,
    HELM,
    INPUTS,
    KOORDINATOR,
    MEASURED,
    OPENSHIFT,
    PACKING,
    SUBCHART,
    V1ALPHA1,
    V1ALPHA2,
)
from tests.policies.conversion.write_page import PAGE


@pytest.fixture(scope="module")
def rules() -> dict[str, Any]:
    return specs(V1ALPHA2)


@every(
    [
        ("rules-node-taints", "nodeTaints", {
            "effects": ["NoSchedule", "PreferNoSchedule"],
            "only": ["example.com/broken"],
            "ignore": ["example.com/odd", "dedicated=gpu"],
        }),
        ("rules-node-affinity", "nodeAffinity", {"required": True, "preferred": False}),
        ("rules-pod-anti-affinity", "podAntiAffinity", True),
        ("rules-too-many-restarts", "restarts",
         {"atLeast": 7, "initContainers": True, "states": ["CrashLoopBackOff"]}),
        ("rules-pod-lifetime", "lifetime",
         {"above": "1d", "initContainers": True, "states": ["Running"]}),
        ("rules-failed-pods", "failed", {
            "above": "1h", "initContainers": True, "reasons": ["NodeAffinity"], "exitCodes": [1],
        }),
        ("balance-low-node-utilization", "resources",
         [{"resource": "cpu", "target": "50.5%"}, {"resource": "memory", "target": "60%"}]),
        ("balance-high-node-utilization", "cold", "20%"),
        ("balance-topology-spread", "constraints", "FromPods"),
    ]
)  # fmt: skip
def test_a_plugin_is_a_rule(name: str, field: str, value: Any) -> None:
    assert specs(V1ALPHA2)[name][field] == value


def test_duplicates_are_of_one_revision(rules: dict[str, Any]) -> None:
    [constraint] = rules["balance-duplicates"]["constraints"]
    assert constraint["maxPerDomain"] == 1
    assert "pod-template-hash" in constraint["matchLabelKeys"]


def test_the_evictor_narrows_every_policy_of_its_profile(rules: dict[str, Any]) -> None:
    spec = rules["rules-node-taints"]
    assert spec["maxPriority"] == 999
    assert spec["match"] == {
        "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
        "labels": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["db"]}],
        },
        "podDisruptionBudget": "Exists",
        "exclude": [
            {"persistentVolumeClaims": {"all": True}},
            {"namespaces": ["monitoring"]},
        ],
    }


def test_the_node_selector_is_in_every_policy(rules: dict[str, Any]) -> None:
    assert [spec["nodes"] for spec in rules.values()] == len(rules) * [
        {
            "labels": {
                "matchLabels": {"pool": "web"},
                "matchExpressions": [
                    {"key": "spot", "operator": "DoesNotExist"},
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "size", "operator": "NotIn", "values": ["small"]},
                ],
            }
        }
    ]


def test_a_priority_class_of_one_s_own_lets_nothing_act(rules: dict[str, Any]) -> None:
    modes = {name: spec.get("mode") for name, spec in rules.items()}
    assert {mode for name, mode in modes.items() if name.startswith("balance-")} == {"Audit"}
    assert "The value of PriorityClass important" in converted(V1ALPHA2).text


def test_what_cannot_be_narrowed_only_reports(rules: dict[str, Any]) -> None:
    assert rules["rules-pod-lifetime"]["mode"] == "Audit"  # for its conditions
    assert "mode" not in rules["rules-node-taints"]


@every(
    [
        (V1ALPHA1, "low-node-utilization", "Audit"),
        (V1ALPHA1.replace("thresholds: {cpu: 20, memory: 20}", ""), "low-node-utilization",
         "Audit"),  # for numberOfNodes
        (V1ALPHA1.replace("thresholds: {cpu: 20, memory: 20}", "")
         .replace("numberOfNodes: 3", "numberOfNodes: 0"), "low-node-utilization", None),
        (DEVIATIONS, "low-node-utilization-cpu", "Audit"),
        (MEASURED, "low-node-utilization-memory", "Audit"),
        (PACKING, "high-node-utilization", None),
        (PACKING.replace("{thresholds", "{numberOfNodes: 2, thresholds"), "high-node-utilization",
         "Audit"),
        (KOORDINATOR, "low-node-load", "Audit"),
        (KOORDINATOR.replace("numberOfNodes: 2", "numberOfNodes: 0"), "low-node-load", "Audit"),
        (KOORDINATOR.replace("lowThresholds: {cpu: 45, memory: 50}", ""), "low-node-load",
         "Audit"),  # for numberOfNodes
        (KOORDINATOR.replace("lowThresholds: {cpu: 45, memory: 50}", "")
         .replace("numberOfNodes: 2", "numberOfNodes: 0"), "low-node-load", None),
    ]
)  # fmt: skip
def test_without_the_gate_of_cold_nodes_a_policy_only_reports(
    text: str, name: str, mode: str | None
) -> None:
    assert specs(text)[name].get("mode") == mode


@pytest.mark.parametrize("text", [V1ALPHA1, DEVIATIONS, MEASURED, OPENSHIFT, KOORDINATOR])
def test_the_gate_of_cold_nodes_is_said_to_be_missing(text: str) -> None:
    said = one_line(converted(text).text)
    assert "descheduler evicts nothing while no node is below all of these thresholds." in said
    assert "take `mode: Audit` away" in said


def test_taints_of_kubernetes_are_said_not_to_count_unless_named(rules: dict[str, Any]) -> None:
    text = HELM.replace("RemovePodsHavingTooManyRestarts", "RemovePodsViolatingNodeTaints")
    said = one_line(converted(text.replace("{podRestartThreshold: 100}", "{}")).text)
    assert "[node.kubernetes.io/unschedulable]` moves pods off cordoned nodes" in said
    assert rules["rules-node-taints"]["nodeTaints"]["only"] == ["example.com/broken"]
    assert "cordoned" not in converted(V1ALPHA2).text


def test_the_limits_are_the_stricter_of_two_profiles() -> None:
    limits = converted(V1ALPHA2).policies.limits
    assert (limits.movesPerCycle, limits.movesPerNode, limits.movesPerNamespace) == (60, 3, 4)
    assert (limits.movesPerHour, limits.movesPerDay) == (60, 300)
    assert limits.minReplicas == 3
    assert limits.minPodAge.total_seconds() == 1200
    assert limits.localStorage == "Allow"


def test_storage_classes_and_claims_of_devices_are_protected(rules: dict[str, Any]) -> None:
    match = rules["balance-low-node-utilization"]["match"]
    assert match["resourceClaims"] == "DoesNotExist"
    assert match["exclude"][0] == {"persistentVolumeClaims": {"storageClasses": ["fast"]}}


def test_a_long_life_is_a_number_of_days() -> None:
    text = V1ALPHA1.replace("maxPodLifeTimeSeconds: 600", "maxPodLifeTimeSeconds: 31536000")
    assert specs(text)["pod-lifetime"]["lifetime"]["above"] == "365d"


def test_strategies_of_the_first_version_are_plugins() -> None:
    made = specs(V1ALPHA1)
    assert list(made) == ["duplicates", "low-node-utilization", "pod-lifetime"]
    assert made["low-node-utilization"]["maxPriority"] == 999
    assert made["duplicates"]["match"]["exclude"] == [
        {"persistentVolumeClaims": {"all": True}},
        {"namespaces": ["ops"]},
        {"ownerKinds": ["ReplicaSet"]},
    ]


def test_deviations_are_policies_with_one_tolerance_each() -> None:
    made = specs(DEVIATIONS)
    assert {name: spec["tolerance"] for name, spec in made.items()} == {
        "low-node-utilization-cpu": "10%",
        "low-node-utilization-memory-pods": "20%",
    }
    assert {spec["kind"] for spec in made.values()} == {"Allocation"}


def test_what_is_measured_goes_by_load_and_the_number_of_pods_by_requests() -> None:
    kinds = {name: spec["kind"] for name, spec in specs(MEASURED).items()}
    assert kinds == {
        "low-node-utilization-cpu": "Utilization",
        "low-node-utilization-memory": "Utilization",
        "low-node-utilization-requests": "Allocation",
    }


@pytest.mark.parametrize("text", [HELM, SUBCHART])
def test_values_of_the_chart_hold_a_policy(text: str) -> None:
    made = converted(text)
    assert list(specs(text)) == ["too-many-restarts"]
    assert specs(text)["too-many-restarts"]["mode"] == "Audit", "as cmdOptions say dry-run"
    assert "unknownValue" in made.text


def test_a_list_of_one_object_is_that_object() -> None:
    item = "".join(f"  {line}\n" for line in OPENSHIFT.splitlines())
    listed = f"apiVersion: v1\nkind: List\nitems:\n- {item.lstrip()}"
    assert specs(listed) == specs(OPENSHIFT)


def test_profiles_of_openshift_protect_its_own_namespaces() -> None:
    limits = converted(OPENSHIFT).policies.limits
    assert limits.protects("openshift-monitoring")
    assert not limits.protects("openshif")
    assert (limits.movesPerCycle, limits.movesPerNode) == (7, 2)
    made = specs(OPENSHIFT)
    assert made["lifecycle-and-utilization-pod-lifetime"]["lifetime"]["above"] == "2d"
    assert made["compact-and-scale-high-node-utilization"]["cold"] == "30%"
    assert made["affinity-and-taints-node-taints"]["maxPriority"] == 4999
    reporting = {name for name, spec in made.items() if spec.get("mode") == "Audit"}
    assert reporting == {"lifecycle-and-utilization-low-node-utilization"}


def test_virtual_machines_are_said_to_stay() -> None:
    text = OPENSHIFT.replace("CompactAndScale", "KubeVirtRelieveAndMigrate")
    made = converted(text)
    assert 'profiles[3]: "KubeVirtRelieveAndMigrate"' in made.text
    assert "Virtual machines are not migrated here" in made.text
    spec = specs(text)["kube-virt-relieve-and-migrate-low-node-utilization"]
    assert (spec["kind"], spec["mode"]) == ("Utilization", "Audit")
    assert spec["targets"] == {"cpu": {"high": "70%"}, "memory": {"high": "70%"}}
    by_mean = specs(text.replace("    devLowNodeUtilizationThresholds: High\n", ""))
    spec = by_mean["kube-virt-relieve-and-migrate-low-node-utilization"]
    assert (spec["strategy"], spec["tolerance"]) == ("Balance", "10%")


def test_settings_of_openshift_are_shown_as_the_file_has_them() -> None:
    setting = "spec.profileCustomizations.devLowNodeUtilizationThresholds"
    assert f'# - line 15, {setting}: "High"' in converted(OPENSHIFT).text
    text = OPENSHIFT.replace("    devLowNodeUtilizationThresholds: High\n", "")
    assert '# - line 10, spec.profiles[2]: "LifecycleAndUtilization"\n' in converted(text).text
    measured = f"{text}    devActualUtilizationProfile: PrometheusCPUCombined\n"
    setting = "spec.profileCustomizations.devActualUtilizationProfile"
    assert f'{setting}: "PrometheusCPUCombined"' in one_line(converted(measured).text)


def test_included_namespaces_of_openshift_hold_for_more_plugins_here() -> None:
    text = OPENSHIFT.replace("excluded: [billing]", "included: [billing]")
    name = "compact-and-scale-high-node-utilization"
    assert specs(text)[name]["match"]["namespaces"] == ["billing"]
    ignored = "The operator ignores `included` for LowNodeUtilization and HighNodeUtilization"
    assert f'spec.profileCustomizations.namespaces.included: ["billing"] {ignored}' in one_line(
        converted(text).text
    )
    assert ignored not in one_line(converted(OPENSHIFT).text)
    others = text.replace(", LifecycleAndUtilization, CompactAndScale", ", EvictPodsWithPVC")
    assert ignored not in one_line(converted(others).text)


def test_openshift_s_default_mode_evicts_nothing() -> None:
    text = OPENSHIFT.replace("  mode: Automatic\n", "")
    assert {spec["mode"] for spec in specs(text).values()} == {"Audit"}


def test_a_node_of_koordinator_must_be_hot_for_some_time() -> None:
    made = specs(KOORDINATOR)
    first, batch = made["low-node-load"], made["low-node-load-batch"]
    assert first["targets"] == {"cpu": {"high": "65%"}, "memory": {"high": "75%"}}
    assert (first["stableFor"], first["maxAge"]) == ("3m", "2m")
    assert first["nodes"] == {"labels": {"matchLabels": {"kind": "worker"}}}
    assert (batch["strategy"], batch["tolerance"]) == ("Balance", "10%")
    assert first["match"]["exclude"] == [
        {"namespaces": ["ops"]},
        {"namespaces": ["koordinator-system"]},
    ]


@pytest.mark.parametrize("form", INPUTS)
def test_every_policy_test_that_is_written_holds(form: str) -> None:
    made = converted(INPUTS[form])
    evaluate = partial(actual_results, policies=made.policies)
    text = example_text("made.yaml", made.conversion.drafts, NOW, evaluate)

    def policies(_: TextFile, __: str) -> PolicySet:
        return made.policies

    results = list(run_all([TextFile("made_test.yaml", "made_test.yaml", text)], policies))
    measured = {"koordinator"}
    assert [result for result in results if not result.holds] == [] or form in measured
    assert bool(text) == (form not in measured)


def test_the_page_from_descheduler_is_fresh() -> None:
    assert PAGE.read_text() == from_descheduler(), (
        "write it again: python -m tests.policies.conversion.write_page"
    )

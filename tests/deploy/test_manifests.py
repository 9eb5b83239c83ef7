"""The manifests grant exactly what is needed, refer only to what exists, and harden their pods."""

import re
from pathlib import Path

import pytest
import yaml

from rescheduler.actions.kueue_workloads import RIGHT
from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.steering_format import MOST_LINE, MOST_LINES, MOST_VALUE
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.cli.main import program
from rescheduler.kube import annotations
from rescheduler.kube.kueue import RUNNERS
from rescheduler.kube.pods.steered_affinity import HOSTNAME, TEMPLATES, WEIGHT
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.moves.steering_entry import MOST_NODES
from rescheduler.runtime.live_actor import FINDING_HISTORY, LEASE, STATE
from rescheduler.runtime.report_keeping import LAST_REPORT
from rescheduler.runtime.servers.kubernetes_access import METRICS, REPORTS
from rescheduler.sources.policy_files import load_policies
from tests.deploy.manifests import (
    ACTING,
    AUDITING,
    KUSTOMIZE,
    OVERLAYS,
    documents,
    overlay,
    pods,
    rights,
)
from tests.deploy.policies_configmap import FILE, ROOT, rendered

READS = {"get", "list"}
REMEMBERED = [FINDING_HISTORY, LAST_REPORT]


def test_the_four_overlays_are_there() -> None:
    assert OVERLAYS == [
        "audit-cronjob",
        "audit-deployment",
        "enforce-cronjob",
        "enforce-deployment",
    ]


@pytest.mark.parametrize("name", ["audit-cronjob", "audit-deployment"])
def test_audit_has_no_right_to_write(name: str) -> None:
    assert {verb for _, _, verb, _ in rights(name)} <= READS


@pytest.mark.parametrize("name", OVERLAYS)
def test_only_what_is_read_again_before_an_eviction_is_got_by_name(name: str) -> None:
    """Snapshots are lists; tests/e2e/test_rights.py shows that each right is used."""
    got = {
        resource
        for kind, resource, verb, _ in rights(name)
        if (kind, verb) == ("ClusterRole", "get")
    }
    owners = {"deployments", "jobs", "replicasets", "replicationcontrollers", "statefulsets"}
    owners |= {"cronjobs", "jobsets", "leaderworkersets"}
    again = {"namespaces", "nodes", "pods", *owners} if name.startswith("enforce") else set()
    assert got == again


@pytest.mark.parametrize("name", ["enforce-cronjob", "enforce-deployment"])
def test_enforce_has_exactly_these_rights_to_write(name: str) -> None:
    assert {right for right in rights(name) if right[2] not in READS} == {
        ("ClusterRole", "pods/eviction", "create", ""),
        ("ClusterRole", "events", "create", ""),
        ("Role", "leases", "create", ""),
        ("Role", "leases", "update", LEASE),
        ("Role", "configmaps", "update", STATE),
        ("Role", "configmaps", "update", f"{FINDING_HISTORY},{LAST_REPORT}"),
    }


@pytest.mark.parametrize("name", OVERLAYS)
def test_only_the_acting_account_may_evict_and_only_enforce_runs_as_it(name: str) -> None:
    bound = {
        subject["name"]
        for manifest in overlay(name)
        if manifest["kind"].endswith("Binding")
        and manifest["roleRef"]["name"] == "rescheduler-evictor"
        for subject in manifest["subjects"]
    }
    (pod,) = pods(name)
    assert pod["serviceAccountName"] == AUDITING
    patch = KUSTOMIZE / "overlays" / name / "mode.yaml"
    if name.startswith("audit"):
        assert (bound, patch.exists()) == (set(), False)
    else:
        assert bound == {ACTING}
        assert f"serviceAccountName: {ACTING}\n" in patch.read_text()


def test_the_fence_names_the_acting_account_and_its_opt_out() -> None:
    said = "".join(path.read_text() for path in sorted((KUSTOMIZE / "fence").glob("*.yaml")))
    assert said.count(f"'system:serviceaccount:rescheduler:{ACTING}'") == 3
    assert annotations.OPT_OUT in said


def test_the_fence_costs_the_same_in_a_namespace_of_any_size() -> None:
    """A policy is evaluated once for each of its parameters: those would be the pods there."""
    for document in documents(KUSTOMIZE / "fence"):
        assert not {"paramKind", "paramRef"} & document["spec"].keys()


def test_opt_outs_of_pods_are_looked_up_by_a_component_of_their_own() -> None:
    policy, binding = documents(KUSTOMIZE / "fence-opt-outs")
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "Pod"}
    assert binding["spec"]["paramRef"] == {"selector": {}, "parameterNotFoundAction": "Deny"}
    assert binding["spec"]["validationActions"] == ["Deny"]
    said = yaml.safe_dump(policy, width=10_000)
    assert f"system:serviceaccount:rescheduler:{ACTING}" in said
    assert f"'{annotations.OPT_OUT}'" in said.replace("''", "'")


def test_whatever_the_fence_cannot_judge_it_denies() -> None:
    found = list(documents(KUSTOMIZE / "fence"))
    policies = {e["metadata"]["name"]: e["spec"] for e in found if e["kind"].endswith("Policy")}
    bindings = {e["spec"]["policyName"]: e["spec"] for e in found if e["kind"].endswith("Binding")}
    assert policies.keys() == bindings.keys()
    assert {name: spec["failurePolicy"] for name, spec in policies.items()} == {
        "rescheduler-evictions": "Fail",
        "rescheduler-restarts": "Fail",
        "rescheduler-writes": "Fail",
    }
    for spec in bindings.values():
        assert spec["validationActions"] == ["Deny"]
        assert spec.get("paramRef", {}).get("parameterNotFoundAction", "Deny") == "Deny"
    (rule,) = policies["rescheduler-writes"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["apiVersions"], rule["resources"]) == (["*"], ["*"], ["*/*"])
    assert {"CREATE", "UPDATE", "DELETE", "CONNECT"} == set(rule["operations"])


def test_tainting_adds_one_right_that_a_policy_holds_to_one_taint() -> None:
    found = list(documents(KUSTOMIZE / "steering-taint"))
    ((rule,),) = (manifest["rules"] for manifest in found if manifest["kind"] == "ClusterRole")
    assert (rule["resources"], rule["verbs"]) == (["nodes"], ["get", "patch"])
    (policy,) = (manifest for manifest in found if manifest["kind"] == "ValidatingAdmissionPolicy")
    assert policy["spec"]["failurePolicy"] == "Fail"
    said = yaml.safe_dump(policy, width=10_000)
    assert f"'{SOFT_TAINT.key}' || t.effect != '{SOFT_TAINT.effect}'" in said.replace("''", "'")
    (binding,) = (manifest for manifest in found if manifest["kind"].endswith("PolicyBinding"))
    assert binding["spec"]["validationActions"] == ["Deny"]


def test_restarting_adds_one_right_that_a_policy_holds_to_jobs() -> None:
    found = list(documents(KUSTOMIZE / "kueue-restart"))
    ((rule,),) = (manifest["rules"] for manifest in found if manifest["kind"] == "ClusterRole")
    assert (rule["apiGroups"], rule["resources"]) == ([RIGHT["group"]], [RIGHT["resource"]])
    assert rule["verbs"] == [RIGHT["verb"]]
    (policy,) = (manifest for manifest in found if manifest["kind"] == "ValidatingAdmissionPolicy")
    assert policy["spec"]["failurePolicy"] == "Fail"
    said = yaml.safe_dump(policy, width=10_000)
    kinds = {kind for _, kind in RUNNERS}
    assert set(re.findall(r"o\.kind == '+(\w+)'", said)) == kinds
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["apiVersions"]) == ([RIGHT["group"]], ["*"])
    assert rule["resources"] == [RIGHT["resource"], f"{RIGHT['resource']}/*"]
    assert set(rule["operations"]) == {"CREATE", "UPDATE", "DELETE"}
    fence = (KUSTOMIZE / "fence" / "writes.yaml").read_text()
    (listed,) = re.findall(r"o\.kind in \[(.*?)\]", fence)
    assert set(re.findall(r"\w+", listed)) == kinds
    (binding,) = (manifest for manifest in found if manifest["kind"].endswith("PolicyBinding"))
    assert binding["spec"]["validationActions"] == ["Deny"]


def test_the_extender_writes_its_lease_and_no_more() -> None:
    found = list(documents(KUSTOMIZE / "steering-extender"))
    (lease,) = (manifest for manifest in found if manifest["kind"] == "Lease")
    assert lease["metadata"]["name"] == EXTENDER
    assert "spec" not in lease
    assert "annotations" not in lease["metadata"]
    (role,) = (
        manifest
        for manifest in found
        if manifest["metadata"]["name"] == EXTENDER and "rules" in manifest
    )
    writes = [rule for rule in role["rules"] if "update" in rule["verbs"]]
    assert [rule["resourceNames"] for rule in writes] == [[EXTENDER]]


def test_remembering_adds_one_right_to_audit() -> None:
    roles = [
        document for document in documents(KUSTOMIZE / "remembering") if document["kind"] == "Role"
    ]
    ((rule,),) = (role["rules"] for role in roles)
    assert rule["resources"] == ["configmaps"]
    assert (rule["resourceNames"], rule["verbs"]) == (REMEMBERED, ["get", "update"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_nothing_is_granted_by_wildcard_and_no_secrets_are_read(name: str) -> None:
    for _, resource, verb, _ in rights(name):
        assert "*" not in resource + verb
        assert resource != "secrets"
    for kind, resource, verb, names in rights(name):
        if (resource, verb) == ("leases", "create"):
            assert (kind, names) == ("Role", ""), "a right to create cannot be held to a name"
        elif resource in ("leases", "configmaps"):
            assert kind == "Role"
            assert set(names.split(",")) <= {LEASE, STATE, *REMEMBERED}
            assert names


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_binding_and_reference_leads_somewhere(name: str) -> None:
    objects = overlay(name)
    present = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in objects}
    assert len(present) == len(objects), "an object is there twice"
    assert {("ConfigMap", STATE), ("ConfigMap", FINDING_HISTORY)} <= present
    assert "Lease" not in {kind for kind, _ in present}, "what is noted on it must not be replaced"
    assert ("ServiceAccount", AUDITING) in present
    for manifest in objects:
        if manifest["kind"].endswith("Binding"):
            assert (manifest["roleRef"]["kind"], manifest["roleRef"]["name"]) in present
            for subject in manifest["subjects"]:
                assert (subject["kind"], subject["name"]) in present
                assert subject["namespace"] == "rescheduler"
        elif manifest["kind"] not in ("Namespace", "ClusterRole"):
            assert manifest["metadata"]["namespace"] == "rescheduler"
    (pod,) = pods(name)
    assert ("ServiceAccount", pod["serviceAccountName"]) in present
    for volume in pod["volumes"]:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in present
    for source in pod["containers"][0]["envFrom"]:
        assert ("ConfigMap", source["configMapRef"]["name"]) in present


@pytest.mark.parametrize("name", OVERLAYS)
def test_pods_meet_the_restricted_standard(name: str) -> None:
    (pod,) = pods(name)
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"requests", "limits"} <= container["resources"].keys()
    assert not container["image"].endswith(":latest")
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    (token,) = (volume["projected"] for volume in pod["volumes"] if "projected" in volume)
    assert token["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600


def test_the_job_of_doctor_is_a_cycle_with_another_verb() -> None:
    (job,) = documents(KUSTOMIZE / "doctor")
    (cycle,) = pods("audit-cronjob")
    template = job["spec"]["template"]
    (own,), (other,) = template["spec"].pop("containers"), cycle.pop("containers")
    assert own.pop("args") == ["doctor"]
    assert own.pop("env") == [{"name": "RESCHEDULER_MODE", "value": "Audit"}]
    assert template["spec"] == cycle, "the same account and files, as well hardened"
    assert own == {key: other[key] for key in other.keys() - {"args", "env"}}
    label = {"app.kubernetes.io/name": "rescheduler"}
    assert template["metadata"]["labels"] == label, "the NetworkPolicy lets it out"


def test_the_cronjob_never_runs_twice_or_for_ever() -> None:
    (job,) = (manifest for manifest in overlay("audit-cronjob") if manifest["kind"] == "CronJob")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    assert job["spec"]["startingDeadlineSeconds"] > 10
    assert job["spec"]["timeZone"] == "Etc/UTC"
    inner = job["spec"]["jobTemplate"]["spec"]
    assert inner["backoffLimit"] == 0
    assert inner["activeDeadlineSeconds"] < 15 * 60
    assert inner["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("name", OVERLAYS)
def test_only_enforce_says_enforce(name: str) -> None:
    said = yaml.safe_load((KUSTOMIZE / "overlays" / name / "kustomization.yaml").read_text())
    (pod,) = pods(name)
    modes = [e["value"] for e in pod["containers"][0]["env"] if e["name"] == "RESCHEDULER_MODE"]
    assert modes == ["Audit"]
    patches = [
        KUSTOMIZE / "overlays" / name / yaml_object["path"]
        for yaml_object in said.get("patches", [])
    ]
    assert bool(patches) == name.startswith("enforce")
    for patch in patches:
        assert "value: Enforce" in patch.read_text()


@pytest.mark.parametrize("name", OVERLAYS)
def test_arguments_and_environment_are_options_of_the_program(name: str) -> None:
    (pod,) = pods(name)
    (container,) = pod["containers"]
    verb, *flags = container["args"]
    command = program.get_command(None, verb)  # type: ignore[arg-type]
    assert command is not None
    known = {flag for param in command.params for flag in param.opts}
    assert {flag for flag in flags if flag.startswith("-")} <= known
    (settings,) = (e for e in overlay(name) if e["metadata"]["name"] == "rescheduler-settings")
    named = {entry["name"] for entry in container["env"]} | settings["data"].keys()
    variables = {name for param in command.params for name in param.envvar or []}
    assert named <= variables | {"POD_NAME", "POD_NAMESPACE"}


def test_the_policies_are_those_of_the_policies_folder(tmp_path: Path) -> None:
    assert FILE.read_text() == rendered(), "run python -m tests.deploy.policies_configmap"
    for name, text in yaml.safe_load(FILE.read_text())["data"].items():
        (tmp_path / name).write_text(text)
    loaded, wanted = load_policies(tmp_path), load_policies(ROOT / "policies")
    assert loaded.digests.items() <= wanted.digests.items()
    assert {policy.kind for policy in loaded.policies} == {"Conformity", "Spread", "Utilization"}


def test_page_access_adds_the_right_to_review_and_no_other() -> None:
    found = list(documents(KUSTOMIZE / "page-access"))
    rules = {
        manifest["metadata"]["name"]: manifest["rules"]
        for manifest in found
        if manifest["kind"] == "ClusterRole"
    }
    asks = {
        (*r["apiGroups"], *r["resources"], *r["verbs"]) for r in rules["rescheduler-page-reviews"]
    }
    assert asks == {
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
    }
    assert rules["rescheduler-reports"] == [{"nonResourceURLs": [REPORTS], "verbs": ["get"]}]
    assert rules["rescheduler-metrics"] == [{"nonResourceURLs": [METRICS], "verbs": ["get"]}]
    (binding,) = (manifest for manifest in found if manifest["kind"] == "ClusterRoleBinding")
    assert binding["roleRef"]["name"] == "rescheduler-page-reviews", "nobody reads reports by it"
    (patch,) = yaml.safe_load((KUSTOMIZE / "page-access/deployment-patch.yaml").read_text())
    option = {"name": "RESCHEDULER_PAGE_ACCESS", "value": "Kubernetes"}
    assert (patch["path"][-6:], patch["value"]) == ("/env/-", option)


ADDONS = {
    "addons/steering-v1": "../../steering-policy",
    "addons/steering-v1beta1": "../../steering-policy-v1beta1",
}


@pytest.mark.parametrize("name", ADDONS)
def test_steering_of_each_served_version_is_applied_by_one_command(name: str) -> None:
    kustomization = yaml.safe_load((KUSTOMIZE / name / "kustomization.yaml").read_text())
    assert kustomization["kind"] == "Kustomization", "kubectl applies no component by itself"
    assert kustomization["components"] == [ADDONS[name]]
    assert (
        f"kubectl apply -k deploy/kustomize/{name} "
        in (ROOT / "docs/install/steering.md").read_text()
    )


@pytest.mark.parametrize("name", ["steering-policy", "steering-policy-v1beta1", *ADDONS])
def test_steering_adds_the_right_to_write_its_table_and_no_other(name: str) -> None:
    found = list(documents(KUSTOMIZE / name))
    ((rule,),) = (manifest["rules"] for manifest in found if manifest["kind"].endswith("Role"))
    assert rule == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [TABLE],
        "verbs": ["get", "update"],
    }
    (table,) = (manifest for manifest in found if manifest["kind"] == "ConfigMap")
    assert (table["metadata"]["name"], "data" in table) == (TABLE, False)


def test_the_admission_policy_never_keeps_a_pod_from_being_made() -> None:
    found = list(documents(KUSTOMIZE / "steering-policy"))
    (policy,) = (e["spec"] for e in found if e["kind"] == "MutatingAdmissionPolicy")
    (binding,) = (e["spec"] for e in found if e["kind"] == "MutatingAdmissionPolicyBinding")
    assert policy["failurePolicy"] == "Ignore"
    assert binding["paramRef"]["parameterNotFoundAction"] == "Allow"
    assert binding["paramRef"]["name"] == TABLE
    said = (KUSTOMIZE / "steering-policy" / "policy.yaml").read_text()
    # Its limits are those of the table that we write.
    assert f"size() <= {MOST_VALUE}" in said
    assert f"l.size() < {MOST_LINE}" in said
    assert f"split('\\n', {MOST_LINES + 1})" in said
    assert f"split(',', {MOST_NODES + 1}).size() <= {MOST_NODES}" in said
    assert all(f"'{key}'" in said for key in (HOSTNAME, *TEMPLATES))
    assert f"'weight': dyn({WEIGHT})" in said


def test_the_webhook_holds_up_no_pod_for_longer_than_a_second() -> None:
    found = list(documents(KUSTOMIZE / "steering-webhook"))
    (hooks,) = (
        manifest for manifest in found if manifest["kind"] == "MutatingWebhookConfiguration"
    )
    assert {webhook["name"]: webhook["timeoutSeconds"] for webhook in hooks["webhooks"]} == {
        "steering.rescheduler.io": 1,
        "table.rescheduler.io": 1,
    }
    assert {webhook["failurePolicy"] for webhook in hooks["webhooks"]} == {"Ignore"}


def test_policy_and_webhook_leave_the_same_pods_alone() -> None:
    """Anybody who may write the table must not tell pods of the system where to go."""
    found = [e for n in ("policy", "webhook") for e in documents(KUSTOMIZE / f"steering-{n}")]
    (policy,) = (manifest for manifest in found if manifest["kind"] == "MutatingAdmissionPolicy")
    (hooks,) = (
        manifest for manifest in found if manifest["kind"] == "MutatingWebhookConfiguration"
    )
    pods = hooks["webhooks"][0]
    ((spaces,), (asked,)) = pods["namespaceSelector"]["matchExpressions"], pods["matchConditions"]
    assert (spaces["operator"], "kube-system" in spaces["values"]) == ("NotIn", True)
    (conditions,) = policy["spec"]["matchConditions"]
    named = "', '".join(spaces["values"])
    assert f"!(request.namespace in ['{named}'])" in conditions["expression"]
    kinds = "['DaemonSet', 'Node']"
    for condition in (asked, conditions):
        assert f".kind in {kinds})" in condition["expression"]

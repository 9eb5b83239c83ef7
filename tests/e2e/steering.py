"""The admission policy of `deploy/` on a test cluster, and what is in the table that it reads."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.actions.steering.steering_format import encode_entries, read
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.kube.pods.steered_affinity import HOSTNAME
from rescheduler.model.moves.steering_entry import SteeringEntry
from tests.e2e.builders.cluster import Cluster, is_ready
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.audit import Record, Records
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.loop import NAMESPACE, USER, swift
from tests.e2e.program import ROOT

KUSTOMIZE = ROOT / "deploy" / "kustomize"


def install_policy(cluster: Cluster) -> None:
    """Apply the table and the policy; whether they have taken effect is for others to wait for."""
    apply_manifests(cluster.api, [KUSTOMIZE / "steering-table", KUSTOMIZE / "steering-policy"])


def steered(strength: str = "Prefer", **limits: Any) -> str:
    """Limits for a test that wants many moves in little time, with steering."""
    return f"{swift(**limits)}  steering: {{by: AdmissionPolicy, strength: {strength}}}\n"


def entry_of(pod: Manifest, *hosts: str) -> SteeringEntry:
    """The entry by which the pod's replacement goes to one of these nodes, and to no other."""
    metadata = pod["metadata"]
    return SteeringEntry(
        owner=metadata["ownerReferences"][0]["uid"],
        namespace=metadata["namespace"],
        template=metadata["labels"]["pod-template-hash"],
        hostnames=hosts,
        strength="Require",
        deadline=datetime.now(UTC) + timedelta(minutes=5),
        plan="plan-1",
        pod=metadata["uid"],
    )


def entries(cluster: Cluster) -> list[SteeringEntry]:
    """What is in the table now."""
    stored = cluster.api.read("v1", "ConfigMap", TABLE, NAMESPACE)
    found, broken = read(stored.get("data") or {})
    assert not broken
    return found


def write_table(cluster: Cluster, *table: SteeringEntry) -> None:
    """Let these entries be in the table, and wait until who follows it has read them."""
    metadata = {"name": TABLE, "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    cluster.api.apply({**body, "data": encode_entries(table)})
    time.sleep(0.3)


def replaced(cluster: Cluster, pod: Manifest) -> Manifest:
    """Evict the pod; the one that its controller makes instead, once it is Ready."""
    known = {manifest["metadata"]["uid"] for manifest in cluster.pods()}
    assert cluster.api.evict(pod) == 201

    def new() -> list[Manifest]:
        found = [pod for pod in cluster.pods() if pod["metadata"]["uid"] not in known]
        return [manifest for manifest in found if is_ready(manifest)]

    cluster.until(lambda: bool(new()), "the replacement")
    return new()[0]


def told(pod: Manifest) -> set[str]:
    """The hostnames that the pod's node affinity names."""
    node = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    preferred = node.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    terms = [*required.get("nodeSelectorTerms", []), *(term["preference"] for term in preferred)]
    return {
        value
        for term in terms
        for expression in term.get("matchExpressions", [])
        if expression["key"] == HOSTNAME
        for value in expression["values"]
    }


def open_times(records: Records) -> list[float]:
    """Seconds for which each entry stood in the table, from the audit log."""
    began: dict[str, datetime] = {}
    answer: list[float] = []
    for record in records.writes(by=USER):
        if record.resource != "configmaps" or not record.name.endswith(TABLE):
            continue
        if record.code != 200:
            continue
        found, _ = read(record.requestObject.get("data") or {})
        now = {entry.pod for entry in found}
        for pod in now - set(began):
            began[pod] = _at(record)
        gone = set(began) - now
        answer += [(_at(record) - began.pop(pod)).total_seconds() for pod in gone]
    assert not began, f"left in the table: {began}"
    return answer


def _at(record: Record) -> datetime:
    return datetime.fromisoformat(record.stageTimestamp)

"""The podAffinity terms of bound pods, and the pods that meet each."""

from collections.abc import Iterator

import msgspec
import numpy as np

from rescheduler.kube.affinity_terms import term_namespaces
from rescheduler.kube.node_labels import NodeLabels
from rescheduler.kube.objects import PodAffinityTerm, PodSpec
from rescheduler.kube.pod_groups import PodGroups
from rescheduler.model.readings import IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.wording import counted
from rescheduler.policies.locality.preferred_pod_affinity import REQUIRED, AffinityPreference

_encode = msgspec.json.Encoder(order="deterministic").encode


def affinity_preferences(
    snapshot: Snapshot, pods: IntArray, nodes: NodeLabels
) -> tuple[list[AffinityPreference], int]:
    """The preferences of these pods, and how many terms have no partner at all.

    pods: those that count, all bound.
    """
    terms: dict[tuple[str, bytes], PodAffinityTerm] = {}
    held: dict[tuple[str, bytes], dict[int, float]] = {}
    of_spec = [[(*each, _encode(each[0])) for each in _terms(spec)] for spec in snapshot.specs]
    holding = np.array([bool(each) for each in of_spec], dtype=np.bool_)
    numbers = snapshot.pod_spec
    for pod in pods[holding[numbers[pods]]].tolist():
        for term, weight, encoded in of_spec[numbers[pod]]:
            key = (snapshot.pods[pod].metadata.namespace, encoded)
            terms[key] = term
            found = held.setdefault(key, {})
            found[pod] = found.get(pod, 0.0) + weight
    if not terms:
        return [], 0
    groups = PodGroups(snapshot.pods, pods)
    preferences, alone = [], 0
    for key, term in terms.items():
        targets = groups.select(
            term.labelSelector, term_namespaces(term, key[0], snapshot.namespace_labels)
        )
        partners = set(targets.tolist())
        holders = [pod for pod in held[key] if partners - {pod}]
        if not holders:
            alone += 1
            continue
        column = nodes.column(term.topologyKey)
        preferences.append(
            AffinityPreference(
                holders=np.array(holders, dtype=np.int32),
                weights=np.array([held[key][pod] for pod in holders]),
                targets=targets,
                of=np.append(column.codes, -1).astype(np.int32),
                key=term.topologyKey,
                subject=_subject(snapshot, holders),
                term=f"{key[0]} {key[1].decode()}",
            )
        )
    return preferences, alone


def _terms(spec: PodSpec) -> Iterator[tuple[PodAffinityTerm, float]]:
    """The terms of such a pod, with weights that sum to 1."""
    affinity = spec.affinity.podAffinity if spec.affinity else None
    if affinity is None:
        return
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution or ()
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or ()
    total = REQUIRED * len(required) + sum(max(0, each.weight) for each in preferred)
    if total <= 0:
        return
    for term in required:
        yield term, REQUIRED / total
    for each in preferred:
        if each.weight > 0:
            yield each.podAffinityTerm, each.weight / total


def _subject(snapshot: Snapshot, holders: list[int]) -> str:
    workloads = {int(snapshot.pod_workload[pod]) for pod in holders} - {-1}
    if len(workloads) == 1:
        workload = snapshot.workloads[workloads.pop()]
        return f"{workload.kind} {workload.namespace}/{workload.name}"
    return f"pods of {counted(len(workloads), 'workload')}"

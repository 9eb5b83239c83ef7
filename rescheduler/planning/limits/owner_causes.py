"""Causes of missing replacements that are their owner's own: templates, quotas, finalizers.

Everybody may write templates, quotas and finalizers into a namespace of their own. What fails by
these holds their workload and namespace, and is no evidence against anybody else.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.pods.pod_state import waits_for_a_node
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.scheduler.model import SchedulerModel

_REFUSED = re.compile(
    r"exceeded quota|failed quota|violates PodSecurity|\bis invalid:"
    r"|(minimum|maximum) \S+ usage per (Pod|Container)|\S+ max limit to request ratio per"
)
"""What objects of its own namespace, or validation, answer to the pod that a controller makes.

Webhooks and admission policies are not among them: they belong to the cluster.
Source: plugin/pkg/admission (resourcequota/controller.go checkRequest, limitranger/admission.go),
k8s.io/pod-security-admission/admission/admission.go, apimachinery pkg/api/errors (NewInvalid).
"""
_OWN_RULES = frozenset(
    {
        "NodeName",
        "NodeAffinity",
        "VolumeBinding",
        "VolumeZone",
        "VolumeRestrictions",
        "PodTopologySpread",
        "InterPodAffinity",
    }
)
"""The filters that ask for what the pod itself says of its nodes."""


class Causes:
    """Whether what is missing is so by its owner's own doing, as far as the snapshot tells it."""

    def __init__(self, snapshot: Snapshot, scheduler: SchedulerModel) -> None:
        self._snapshot = snapshot
        self._scheduler = scheduler
        self._workloads = {workload.uid: index for index, workload in enumerate(snapshot.workloads)}

    def is_self_inflicted(self, moves: Sequence[PastMove], *controllers: Controller | None) -> bool:
        """Whether the workload of these late moves lacks pods by what its owner did to them.

        - One of its controllers says that a quota, a LimitRange, Pod Security or validation refuses
          its pods.
        - All of its pods that are not Ready are gated; or their own rules (node selector, affinity,
          spread, volumes) admit no node, and the template was written since the first eviction.
          Else these admitted the node that was left, so that the cluster has changed.
        - The evicted pods are there, as finalizers keep them; their nodes are Ready.

        controllers: those that make its pods.
        """
        if any(map(_refuses_pods, controllers)) or all(self.keeps(move.podUid) for move in moves):
            return True
        return self._all_pods_bound(
            moves[0].workload, _template_edited(controllers, min(m.at for m in moves))
        )

    def keeps(self, uid: str) -> bool:
        """Whether the evicted pod with this UID stays for its finalizers, and for nothing else."""
        pod = self._snapshot.pod_index.get(uid, -1)
        if pod < 0 or not self._snapshot.pods[pod].metadata.finalizers:
            return False
        node = int(self._snapshot.pod_node[pod])
        return node < 0 or self._snapshot.nodes[node].ready

    def _all_pods_bound(self, workload: str, edited: bool) -> bool:
        index = self._workloads.get(workload, -1)
        every = np.flatnonzero(self._snapshot.pod_workload == index).tolist() if index >= 0 else []
        pods = self._snapshot.pods
        lacking = [
            pod
            for pod in every
            if not pods[pod].ready and pods[pod].metadata.deletionTimestamp is None
        ]
        return bool(lacking) and all(self._bound_pod(pod, edited) for pod in lacking)

    def _bound_pod(self, pod: int, edited: bool) -> bool:
        pod_object = self._snapshot.pods[pod]
        if not waits_for_a_node(pod_object):
            return False
        if pod_object.spec.schedulingGates or not edited:
            return bool(pod_object.spec.schedulingGates)
        rejected = np.zeros(len(self._snapshot.nodes), dtype=np.bool_)
        for verdict in self._scheduler.verdicts(pod).filters:
            if verdict.name in _OWN_RULES:
                rejected |= verdict.rejects
        return bool(len(rejected)) and bool(rejected.all())


def _template_edited(controllers: Sequence[Controller | None], since: datetime) -> bool:
    """Whether the template of any of them was written since then, as managedFields say."""
    return any(
        write.of_template and write.time is not None and write.time > since
        for controller in controllers
        if controller is not None
        for write in controller.metadata.managedFields or ()
    )


def _refuses_pods(controller: Controller | None) -> bool:
    conditions = controller.status.conditions if controller is not None else None
    return any(
        (condition.type, condition.status, condition.reason)
        == ("ReplicaFailure", "True", "FailedCreate")
        and _REFUSED.search(condition.message) is not None
        for condition in conditions or ()
    )

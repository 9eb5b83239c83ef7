"""What the controllers of a snapshot will make next: the spec and labels of their next pod."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Labels, Pod, PodSpec
from rescheduler.kube.pods.containers import every
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot

REVISION = "controller-revision-hash"
"""The label of a StatefulSet's pod with the revision of the template that it was made from."""


@dataclass(frozen=True, slots=True)
class NextPod:
    """The next pod of a controller.

    source: what shows it, in words. written: the names of the template's own containers. at: when
    the pod was made that shows it; None: the template does, without what admission adds.
    """

    spec: PodSpec
    labels: Labels
    source: str
    written: frozenset[str]
    at: datetime | None = None


class NextPods:
    """The next pods of a snapshot, by the UID of their controllers.

    Admission changes what a template says, and the newest pod shows how: if it was made from the
    template as it is now. Whether it was, the revision of a StatefulSet says. The template of a Job
    stays, and so does that of a ReplicaSet with an owner, which makes another one for another
    template, as long as that owner alone has written it. Else `managedFields` say since when it is
    as it is; anybody may have emptied them, and then nothing tells.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._controllers = {each.metadata.uid: each for each in snapshot.controllers}
        self._known: dict[str, NextPod | None] = {}

    def of(self, pod: Pod) -> NextPod | None:
        """The next pod of its controller; None where no template is known."""
        owner = pod.controller
        controller = self._controllers.get(owner.uid) if owner is not None else None
        if owner is None or controller is None or controller.spec.template is None:
            return None
        if owner.uid not in self._known:
            self._known[owner.uid] = self._evaluate(controller)
        return self._known[owner.uid]

    def siblings(self, pod: Pod) -> Iterator[Pod]:
        """The pods of its controller, and itself."""
        owner = pod.controller
        return self._pods_of(owner.uid) if owner is not None else iter(())

    def _evaluate(self, controller: Controller) -> NextPod | None:
        template = controller.spec.template
        if template is None:
            return None
        labels = (template.metadata.labels if template.metadata is not None else None) or {}
        name = f"{controller.kind} {controller.metadata.name}"
        written = frozenset(each.name for each in every(template.spec))
        # The affinity of a Pending one may be what steers it.
        bound = (pod for pod in self._pods_of(controller.metadata.uid) if pod.node)
        made = [pod for pod in bound if _made(pod, controller, self._tracked)]
        unchanged = [pod for pod in made if pod.metadata.generation <= 1]
        # Of one pod that was changed in place nothing tells what it was before.
        shown = unchanged or (made if len(made) > 1 else [])
        if not shown:
            return NextPod(template.spec, labels, f"the template of {name}", written)
        newest = max(shown, key=lambda pod: (_age(pod), pod.metadata.name))
        own = newest.metadata.labels or {}
        return NextPod(
            newest.spec,
            {key: own[key] for key in labels if key in own},
            f"the newest pod of {name}",
            written,
            newest.metadata.creationTimestamp,
        )

    def _pods_of(self, owner: str) -> Iterator[Pod]:
        order, first, last = self._order
        for kin in self._kin[owner]:
            for pod in order[first[kin] : last[kin]].tolist():
                yield self._snapshot.pods[pod]

    @cached_property
    def _tracked(self) -> bool:
        """Whether the API server keeps `managedFields`."""
        return any(each.metadata.managedFields for each in self._snapshot.controllers)

    @cached_property
    def _kin(self) -> dict[str, list[int]]:
        """UID of each controller to the groups of like pods that it has made."""
        found = defaultdict[str, list[int]](list)
        for number, pod in enumerate(self._snapshot.pod_kin[0].tolist()):
            owner = self._snapshot.pods[pod].controller
            if owner is not None:
                found[owner.uid].append(number)
        return found

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray, IntArray]:
        """(pods,) the pods by groups of like ones; (groups,) where each begins, and ends."""
        some, of_pod = self._snapshot.pod_kin
        order = np.argsort(of_pod, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(of_pod, minlength=len(some))).astype(np.int32)
        return order, np.append(0, ends[:-1]).astype(np.int32), ends


def _age(pod: Pod) -> float:
    made = pod.metadata.creationTimestamp
    return made.timestamp() if made is not None else -np.inf


def _made(pod: Pod, controller: Controller, tracked: bool) -> bool:
    """Whether the pod was surely made from the template that its controller has now.

    tracked: whether `managedFields` are kept.
    """
    if controller.kind == "StatefulSet":
        revision = (pod.metadata.labels or {}).get(REVISION)
        return bool(revision) and revision == controller.status.updateRevision
    if controller.kind == "Job":
        return True
    writes = [each for each in controller.metadata.managedFields or () if each.of_template]
    if controller.metadata.controller is not None and (
        not tracked or [each.of_creator for each in writes] == [True]
    ):
        return True
    times = [each.time for each in writes]
    if not times or pod.metadata.creationTimestamp is None:
        return False
    return all(time is not None and time < pod.metadata.creationTimestamp for time in times)

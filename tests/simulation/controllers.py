"""What works in a cluster beside its API server: controllers, scheduler, kubelets.

Each works by events of the timeline, with its delay, so that what is read may be out of date as in
a real cluster.
"""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from tests.fakes.manners import stamp
from tests.fakes.steering import steer
from tests.fakes.world import World
from tests.simulation.objects import (
    Object,
    admits,
    condition,
    cpu_of,
    is_hard,
    is_ready,
    leaving,
    owner_uid,
    reference,
    taints_of,
    uid_of,
)
from tests.simulation.virtual_time import Timeline

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Controlled(World):
    """A world whose pods come and go by events.

    Delays in seconds: `controllers` (a missing pod is made), `scheduling`, `starting` (bound to
    Ready), `disruption` (a PodDisruptionBudget's status follows the pods).
    pick: which of the feasible nodes the scheduler takes, or "" to leave the pod Pending.
    ahead: by how much the clock of the API server that serves at the moment is wrong.
    """

    def __init__(self, timeline: Timeline, chance: random.Random) -> None:
        self.timeline = timeline
        self.chance = chance
        self.ahead = 0.0
        self.controllers = 0.5
        self.scheduling = 0.3
        self.starting = 4.0
        self.disruption = 0.2
        self.pick: Callable[[Object, list[str]], str] = self.least_requested
        self.removed: list[Callable[[Object], object]] = []
        """Told of each pod that is gone."""
        self.changed: list[Callable[[], None]] = []
        """Told whenever pods come, go or change."""
        self.quota_refuses = False
        """Whether admission refuses every new pod, as a quota or a webhook may."""
        self.crashing: Callable[[Object], object] = self.crash
        """What becomes of a pod that is not sound."""
        super().__init__(self._clock)
        self.put("namespaces", "", "rescheduler", {})
        self.held: set[str] = set()
        """UIDs of pods that never go, as with a finalizer or an unreachable node."""
        self._syncing = False
        self._bound: dict[str, float] = {}

    def _clock(self) -> datetime:
        """The time by the clock of the API server that serves at the moment."""
        now = self.timeline.now()
        return now + timedelta(seconds=self.ahead) if self.ahead else now

    def of(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        return list(self.objects.of(kind).values())

    def owned(self, controller: Object) -> list[Object]:
        """The pods of a controller that are there, also those that are leaving."""
        uid = controller["metadata"]["uid"]
        return [pod for pod in self.objects.of("pods").values() if owner_uid(pod) == uid]

    # --- kubelets and controllers

    def delete(self, pod: Object) -> None:
        """Somebody else deletes a pod."""
        if leaving(pod) or uid_of(pod) not in {uid_of(other_pod) for other_pod in self.of("pods")}:
            return
        end = self.now() + timedelta(seconds=self.grace)
        pod["metadata"]["deletionTimestamp"] = stamp(end)
        self.bump(pod)
        self._leave(pod)
        self.touched()

    def _leave(self, pod: Object) -> None:
        uid = uid_of(pod)
        self.timeline.after(self.grace, lambda: self._vanish(uid))
        self.sync_soon()

    def _vanish(self, uid: str) -> None:
        if uid in self.held:
            self.timeline.after(600, lambda: self._vanish(uid))
            return
        for key, value in self.objects.of("pods").items():
            if uid_of(value) == uid:
                del self.objects[key]
                for callback in self.removed:
                    callback(value)
                break
        self.sync_soon()
        self.touched()

    def sync_soon(self) -> None:
        """Controllers look at their pods a little later."""
        self.timeline.after(self.controllers, self.sync)

    def sync(self) -> None:
        """Each controller makes the pods that it lacks."""
        if self.quota_refuses:
            self.timeline.after(30, self.sync)
            return
        for kind, name in (
            ("replicasets", "ReplicaSet"),
            ("statefulsets", "StatefulSet"),
            ("jobs", "Job"),
        ):
            for controller in self.of(kind):
                self._make_missing(name, controller)

    def _make_missing(self, kind: str, controller: Object) -> None:
        spec = controller["spec"]
        wanted = spec.get("replicas", spec.get("parallelism", 0))
        wanted = 0 if spec.get("suspend") else wanted
        pods = self.owned(controller)
        app = spec["selector"]["matchLabels"]["app"]
        if kind == "StatefulSet":
            names = {pod["metadata"]["name"] for pod in pods}
            missing = [f"{app}-{n}" for n in range(wanted) if f"{app}-{n}" not in names]
        else:
            staying = sum(not leaving(pod) for pod in pods)
            missing = [f"{app}-r{self._version}-{n}" for n in range(wanted - staying)]
        for name in missing:
            pod = self.make_pod(kind, controller, name, stamp(self.now()))
            uid = uid_of(pod)
            self.timeline.after(self.scheduling, partial(self.schedule, uid))
        if missing:
            self.touched()

    def make_pod(self, kind: str, controller: Object, name: str, born: str) -> Object:
        """A Pending pod of that controller."""
        template = controller["spec"]["template"]
        owner = {**reference(kind, controller)}
        pod = self.put(
            "pods",
            controller["metadata"]["namespace"],
            name,
            {
                "metadata": {
                    "labels": template["metadata"]["labels"],
                    "annotations": template["metadata"]["annotations"],
                    "creationTimestamp": born,
                    "ownerReferences": [owner],
                },
                "spec": dict(template["spec"]),
                "status": {"phase": "Pending", "conditions": []},
            },
        )
        steer(self, pod)
        return pod

    def by_uid(self, uid: str) -> Object | None:
        """The pod with this UID, if it is there."""
        return next((pod for pod in self.of("pods") if uid_of(pod) == uid), None)

    # --- the scheduler

    def schedule(self, uid: str) -> None:
        """Bind a Pending pod, or try again later."""
        pod = self.by_uid(uid)
        if pod is None or leaving(pod) or pod["spec"].get("nodeName"):
            return
        fitting = self.feasible(pod)
        node = self.pick(pod, fitting) if fitting else ""
        if not node:
            self.timeline.after(20, lambda: self.schedule(uid))
            return
        self.bind(pod, node)
        self.timeline.after(self.starting, lambda: self._start_later(uid))

    def feasible(self, pod: Object) -> list[str]:
        """The nodes with room that are Ready and schedulable, and such as the pod asks for."""
        answer = []
        for node in self.of("nodes"):
            name = node["metadata"]["name"]
            room = float(node["status"]["allocatable"]["cpu"]) - self.requested(name)
            fits = room + 1e-9 >= cpu_of(pod) and admits(node, pod)
            if fits and is_ready(node) and not any(map(is_hard, taints_of(node))):
                answer.append(name)
        return answer

    def requested(self, node: str) -> float:
        """CPUs that the pods on a node request."""
        return sum(cpu_of(pod) for pod in self.of("pods") if pod["spec"].get("nodeName") == node)

    def least_requested(self, _: Object, nodes: list[str]) -> str:
        """What a plain scheduler does; of the feasible nodes those with a soft taint come last."""
        return min(
            nodes,
            key=lambda name: (
                bool(taints_of(self.objects["nodes", "", name])),
                self.requested(name),
                name,
            ),
        )

    def bind(self, pod: Object, node: str) -> None:
        """Put a pod on a node."""
        pod["spec"]["nodeName"] = node
        self.bump(pod)

    def _start_later(self, uid: str) -> None:
        pod = self.by_uid(uid)
        if pod is None or leaving(pod):
            return
        if self.sound(pod):
            self.start(pod, stamp(self.now()))
        else:
            self.crashing(pod)
            self.bump(pod)
        self.touched()

    def start(self, pod: Object, since: str) -> None:
        """The pod is Running and Ready, since then."""
        pod["status"] = {
            "phase": "Running",
            "startTime": since,
            "conditions": [condition("Ready", "True", since)],
            "containerStatuses": [{"name": "main", "restartCount": 0, "ready": True}],
        }
        self.bump(pod)

    def set_ready(self, thing: Object, ready: bool) -> None:
        """A node or a pod becomes Ready, or not."""
        conditions = [c for c in thing["status"]["conditions"] if c["type"] != "Ready"]
        value = "True" if ready else "False"
        thing["status"]["conditions"] = [
            *conditions,
            condition("Ready", value, stamp(self.now())),
        ]
        if "containers" not in thing["spec"]:  # the node lifecycle controller taints it
            kept = [t for t in thing["spec"].get("taints", ()) if t["key"] != _NOT_READY["key"]]
            thing["spec"] = {**thing["spec"], "taints": kept if ready else [*kept, _NOT_READY]}
        self.bump(thing)
        self.touched()

    def bump(self, thing: Object) -> None:
        """The object has been changed."""
        self._version += 1
        thing["metadata"]["resourceVersion"] = str(self._version)

    # --- the disruption controller

    def touched(self) -> None:
        """Pods have changed; the budgets' statuses follow."""
        for callback in self.changed:
            callback()
        if not self._syncing:
            self._syncing = True
            self.timeline.after(self.disruption, self.sync_budgets)

    def sync_budgets(self) -> None:
        """The statuses of all PodDisruptionBudgets as of now (disruption.go, updatePdbStatus)."""
        self._syncing = False
        for budget in self.of("poddisruptionbudgets"):
            expected, healthy = self.health(budget)
            desired = max(expected - budget["spec"].get("maxUnavailable", 1), 0)
            budget["status"] = {
                "observedGeneration": budget["metadata"]["generation"],
                "expectedPods": expected,
                "currentHealthy": healthy,
                "desiredHealthy": desired,
                "disruptionsAllowed": max(healthy - desired, 0),
            }
            self.bump(budget)

    def health(self, budget: Object) -> tuple[int, int]:
        """How many pods a budget's controllers want, and how many are healthy in truth."""
        selector = budget["spec"]["selector"]["matchLabels"]
        pods = [
            pod for pod in self.of("pods") if selector.items() <= pod["metadata"]["labels"].items()
        ]
        owners = {owner_uid(pod) for pod in pods}
        expected = sum(
            workload["spec"].get("replicas", workload["spec"].get("parallelism", 0))
            for kind in ("replicasets", "statefulsets", "jobs")
            for workload in self.of(kind)
            if uid_of(workload) in owners
        )
        return expected, sum(is_ready(pod) and not leaving(pod) for pod in pods)

    def _give_back(self, pod: Object) -> None:
        """Nothing: the disruption controller counts."""

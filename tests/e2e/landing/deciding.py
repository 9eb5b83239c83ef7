"""Makes the scheduler decide: evicts or creates a pod, and waits for the answer."""

import time
from collections.abc import Iterator
from random import Random

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.steered_affinity import HOSTNAME, steered_affinity
from rescheduler.model.cluster.snapshot import Snapshot
from tests.e2e.controlplane.api import Manifest
from tests.e2e.landing.comparison import compare
from tests.e2e.landing.decision import REFUSED, Decision, disagrees
from tests.e2e.landing.disagreement import keep
from tests.e2e.landing.forecast import Forecast, with_pod
from tests.e2e.landing.landing_cluster import STABLE_AFTER, LandingCluster
from tests.e2e.landing.mix import Mix
from tests.e2e.landing.pod_watch import answered, bound, refusal

BESIDE = {"ReplicaSet", "ReplicationController"}
"""Owners that replace a pod while it is still terminating."""
_JOB = 20.0
"""Seconds in which a Job's pod comes again: its controller waits ten."""
_RETRY = 2.5
"""Seconds in which a refused pod is tried again, once the old one is gone."""
_REUSED = 0.6
"""Seconds after which the result for an equal pod is not used again (OpportunisticBatching)."""
_LINGERING = 6
_BATCH = 5
CREATING = 0.45
"""How often a pod is created, and not a batch of pods evicted."""


class Deciding:
    """Decisions in one cluster, one after the other."""

    def __init__(
        self, landing_cluster: LandingCluster, seed: int, mix: Mix, creating: float = CREATING
    ) -> None:
        """creating: as CREATING."""
        self._cluster, self._seed, self._mix, self._creating = landing_cluster, seed, mix, creating
        self._random = Random(seed * 7919)
        self._steering = Random(seed * 7907)
        self._step = 0
        self._lingering: list[Manifest] = []
        self._last_owner = ""

    def run(self, count: int) -> Iterator[tuple[Decision, Forecast]]:
        """`count` decisions, or fewer where no pod is left to evict."""
        self._cluster.log.skip()
        while self._step < count:
            creating = self._random.random() < self._creating
            found = iter([self._create()]) if creating else self._batch(count)
            before = self._step
            yield from found
            self._step = max(self._step, before + 1)
            self._tidy()

    def _batch(self, count: int) -> Iterator[tuple[Decision, Forecast]]:
        """A few evictions, predicted one after the other on the working copy of one snapshot."""
        snapshot = self._cluster.observe()
        forecast = None
        left = [
            index
            for index, pod in enumerate(snapshot.pods)
            if pod.controller and pod.node and pod.metadata.deletionTimestamp is None
        ]
        for place in range(_BATCH):
            # A Job answers after ten seconds: most of its pods are left alone.
            left = [pod for pod in left if not self._spared(snapshot.pods[pod])]
            if not left or self._step >= count:
                return
            index = left.pop(self._random.randrange(len(left)))
            self._outlast_reuse(snapshot.pods[index])
            forecast = Forecast(snapshot, index, forecast)
            decision = self._evict(forecast, last=place == _BATCH - 1)
            decision.batch = place
            yield decision, forecast
            spec = snapshot.pods[index].spec
            # Claims that are made for each pod again are not in the snapshot.
            claims = spec.resourceClaims or any(volume.ephemeral for volume in spec.volumes or ())
            if not decision.observed or claims or decision.lingering:
                return
            if decision.verdict == REFUSED:
                return  # it may have preempted others, of which the snapshot does not know
            forecast.commit(decision.observed)

    def _outlast_reuse(self, pod: Pod) -> None:
        """Wait until kube-scheduler evaluates the nodes for a pod that equals the last one."""
        owner = pod.controller.uid if pod.controller else ""
        if owner == self._last_owner:
            time.sleep(_REUSED)
        self._last_owner = owner

    def _spared(self, pod: Pod) -> bool:
        job = pod.controller is not None and pod.controller.kind == "Job"
        return job and self._random.random() < 0.9

    def _decision(self, kind: str, forecast: Forecast) -> Decision:
        self._step += 1
        pod = forecast.snapshot.pods[forecast.pod]
        return Decision(
            seed=self._seed,
            step=self._step,
            kind=kind,
            owner=pod.controller.kind if pod.controller else "",
            pod=pod.key,
            nodes=len(forecast.snapshot.nodes),
            left=pod.node,
            index=forecast.pod,
            terminating=sum(
                pod_object.metadata.deletionTimestamp is not None
                for pod_object in forecast.snapshot.pods
            ),
        )

    def _create(self) -> tuple[Decision, Forecast]:
        *needed, manifest = self._mix.pod(self._step)
        self._cluster.store(needed)
        path = f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods"
        admitted = self._cluster.api.request("POST", path, manifest, {"dryRun": "All"})
        snapshot = with_pod(self._cluster.observe(), admitted)
        told, require = self._told(snapshot)
        forecast = Forecast(snapshot, -1, None, told, require=require)
        decision = self._decision("create", forecast)
        decision.steered, decision.require = told, require
        if told:
            before = manifest["spec"].get("affinity")
            manifest["spec"]["affinity"] = steered_affinity(before, told, require=require)
        uid = self._cluster.api.create(manifest)["metadata"]["uid"]
        found = self._answer(uid)
        decision.message = refusal(found)
        decision.observed = bound(found)
        self._finish(decision, forecast, found)
        return decision, forecast

    def _told(self, snapshot: Snapshot) -> tuple[list[str], bool]:
        """Nodes that a pod is steered to, as admission would, and how strictly; often none."""
        chance = self._steering
        if chance.random() < 0.1:
            return [], False
        labels = ((node.metadata.name, node.metadata.labels or {}) for node in snapshot.nodes)
        names = [name for name, its in labels if its.get(HOSTNAME) == name]
        return chance.sample(names, min(len(names), chance.randint(1, 8))), chance.random() < 0.5

    def _evict(self, forecast: Forecast, *, last: bool) -> Decision:
        """last: of its batch; then the old pod may go on terminating."""
        decision = self._decision("evict", forecast)
        known = {pod["metadata"]["uid"] for pod in self._cluster.watch.pods()}
        old = self._cluster.watch.pod(forecast.snapshot.pods[forecast.pod].metadata.uid)
        assert self._cluster.api.evict(old) == 201
        if decision.owner not in BESIDE:
            self._cluster.finish(old)
        found = self._replacement(old, known)
        found = self._answer(found["metadata"]["uid"])
        decision.message = refusal(found)
        if decision.owner in BESIDE:
            if not bound(found):
                self._cluster.finish(old)
                found = self._retried(found["metadata"]["uid"])
            elif last and self._random.random() < 0.6:
                decision.lingering = True
                self._lingering.append(old)
            else:
                self._cluster.finish(old)
        elif not bound(found) and old["spec"].get("resourceClaims"):
            # The devices are free only after the claim of the old pod has followed it.
            found = self._retried(found["metadata"]["uid"])
        decision.observed = bound(found)
        self._finish(decision, forecast, found)
        return decision

    def _replacement(self, old: Manifest, known: set[str]) -> Manifest:
        owner = old["metadata"]["ownerReferences"][0]["uid"]

        def fresh(pods: list[Manifest]) -> list[Manifest]:
            return [
                pod
                for pod in pods
                if pod["metadata"]["uid"] not in known
                and pod["metadata"].get("ownerReferences", [{}])[0].get("uid") == owner
            ]

        if not self._cluster.watch.wait(lambda pods: bool(fresh(pods)), _JOB):
            raise TimeoutError(f"no replacement came for {old['metadata']['name']}")
        return fresh(self._cluster.watch.pods())[0]

    def _answer(self, uid: str) -> Manifest:
        """The pod once the scheduler has decided about it."""

        def decided(pods: list[Manifest]) -> bool:
            return any(pod["metadata"]["uid"] == uid and answered(pod) for pod in pods)

        if not self._cluster.watch.wait(decided, 30):
            raise TimeoutError(f"the scheduler has not decided about pod {uid}")
        return self._cluster.watch.pod(uid)

    def _retried(self, uid: str) -> Manifest:
        """The pod that was refused, after its next try or when none came."""

        def is_bound(pods: list[Manifest]) -> bool:
            return any(pod["metadata"]["uid"] == uid and bool(bound(pod)) for pod in pods)

        self._cluster.watch.wait(is_bound, _RETRY)
        return self._cluster.watch.pod(uid)

    def _finish(self, decision: Decision, forecast: Forecast, found: Manifest) -> None:
        """Judge, and take a pod away that nobody could place."""
        decision.successor = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
        if decision.message:
            decision.event = self._cluster.failed_scheduling(found, decision.message)
        for attempt in self._cluster.log.attempts():
            if attempt.pod == decision.successor and attempt.totals:
                decision.points, decision.scored = attempt.points, list(attempt.totals)
        compare(decision, forecast)
        if disagrees(decision):
            log = self._cluster.log.lines_of(decision.successor)
            decision.kept = str(keep(decision, forecast, self._cluster.observe(), log))
        if not decision.observed:
            if found["spec"].get("preemptionPolicy") != "Never" and found["spec"].get("priority"):
                time.sleep(3 * STABLE_AFTER)  # whom it may preempt is reported in the background
            self._cluster.remove_owner(found)

    def _tidy(self) -> None:
        """Let some of the terminating pods go, and wait until nothing is pending."""
        while self._lingering and (
            len(self._lingering) > _LINGERING or self._random.random() < 0.15
        ):
            self._cluster.finish(self._lingering.pop(0))
        self._cluster.remove_refused()

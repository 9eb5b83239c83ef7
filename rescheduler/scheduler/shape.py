"""Shapes: pods that the scheduler cannot distinguish, prepared once for every plugin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from rescheduler.kube.objects import Labels, Pod, PodSpec, Volume
from rescheduler.kube.pods.pod_requests import requests_resource
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.problem import Problem
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import (
    STAMPED,
    Filter,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
    Steer,
)
from rescheduler.scheduler.plugins.node_affinity import NodeAffinity
from rescheduler.scheduler.profile import Profile
from rescheduler.scheduler.requests import incoming_requests

_NONE = np.zeros(0, dtype=np.int32)


class LocalScores:
    """The weighted sum of a shape's scores that depend on one node alone, for every node.

    relative: the other scores of the shape, with their weights. Which is which shows when they are
    first read.
    """

    def __init__(self, scores: Sequence[tuple[str, int, Score]], occupancy: Occupancy) -> None:
        self._scores = scores
        self._occupancy = occupancy
        self._local: list[tuple[int, Score]] = []
        self._sums: IntArray | None = None
        self._clock = 0
        self._passing = -1
        self.relative: list[tuple[int, Score]] = []

    def node_scores(self, nodes: IntArray) -> ScoreArray:
        """(nodes,) the sums for these nodes, in the state at the time of the call."""
        state = self._occupancy
        if self._sums is None:
            self._split()
            stale = np.arange(len(state.slots), dtype=np.int32)
            self._sums = np.zeros(len(stale), dtype=np.int32)
        elif self._clock < state.clock:
            stale = np.flatnonzero(state.changed > self._clock).astype(np.int32)
        else:
            stale = _NONE
        if self._passing >= 0:
            stale = np.append(stale, np.int32(self._passing))
        if len(stale):
            self._sums[stale] = self._sum(stale)
        # What is computed while a node is altered for a moment does not last.
        self._clock, self._passing = state.clock, -1
        answer: ScoreArray = self._sums[nodes].astype(np.int64)
        if state.altered >= 0:
            here = np.array([state.altered], dtype=np.int32)
            answer[nodes == state.altered] = self._sum(here)[0]
            if (stale == state.altered).any():
                self._passing = state.altered
        return answer

    def _split(self) -> None:
        first = np.zeros(1, dtype=np.int32)
        for _, weight, score in self._scores:
            local = isinstance(score(first), np.ndarray)
            (self._local if local else self.relative).append((weight, score))

    def _sum(self, nodes: IntArray) -> ScoreArray:
        total = np.zeros(len(nodes), dtype=np.int64)
        for weight, score in self._local:
            scored = score(nodes)
            if isinstance(scored, np.ndarray):
                total += weight * scored
        return total


class SteeredScores:
    """The scores of a shape; some are computed again because its pod is steered.

    before: what they replace. A score that was the same for every node, as that of taints where
    there are none, still counts in the sums: it decides nothing.
    """

    def __init__(
        self,
        unsteered: "LocalScores | SteeredScores",
        before: Sequence[Score],
        changed: Sequence[tuple[int, Score]],
    ) -> None:
        self._unsteered = unsteered
        self._before = before
        self._changed = changed

    def node_scores(self, nodes: IntArray) -> ScoreArray:
        """(nodes,) the sums of those scores that depend on one node alone."""
        return self._unsteered.node_scores(nodes)

    @property
    def relative(self) -> list[tuple[int, Score]]:
        """The other scores, with their weights; known once `of` was called."""
        kept = [
            (weight, score)
            for weight, score in self._unsteered.relative
            if not any(score is other_score for other_score in self._before)
        ]
        return [*kept, *self._changed]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The filters and weighted scores of one shape, by name of their plugin.

    replacement: the pod that all pods of the shape are to the scheduler.
    candidates: the nodes that the pod names, where it names them; the scan is over these alone.
    profile: of the scheduler that places it.
    local: those scores that depend on one node alone, summed.
    """

    replacement: Replacement
    filters: list[tuple[str, Filter]]
    scores: list[tuple[str, int, Score]]
    candidates: IntArray | None
    profile: Profile
    local: "LocalScores | SteeredScores"

    def filter_results(self, count: int) -> Iterator[tuple[str, BoolArray]]:
        """Each filter's result for all nodes now, by name of its plugin, in the order of the scan.

        count: how many nodes there are. Nodes that the pod does not name are left out before any
        filter runs, on behalf of NodeAffinity; its own filter runs later, in its own place.
        """
        if self.candidates is not None:
            among = np.zeros(count, dtype=np.bool_)
            among[self.candidates] = True
            yield NodeAffinity.name, among
        for name, evaluate in self.filters:
            yield name, evaluate()


def refusal(pod: Pod, profile: Profile) -> Problem | None:
    """Why the landing of this pod's replacement cannot be predicted by any plugin, or None."""
    spec = pod.spec
    if profile.problem:
        return Problem("FEA005", f"{pod.key} is scheduled by {profile.name}: {profile.problem}")
    for name, sentence in profile.beyond_us.items():
        if requests_resource(spec, name):
            return Problem("FEA005", f"{pod.key} asks for {name}: {sentence}")
    if spec.schedulingGates:
        return Problem("FEA005", f"{pod.key} has scheduling gates: when it is tried is not known")
    return None


class Shapes:
    """Finds the shape of a pod: by identity where specs are shared, else by content."""

    def __init__(self, plugins: Sequence[Plugin], profile: Profile, occupancy: Occupancy) -> None:
        self._plugins = plugins
        self._occupancy = occupancy
        self._profile = profile
        self._doubting = [
            plugin for plugin in plugins if type(plugin).problem is not Plugin.problem
        ]
        self._narrowing = next(
            (plugin for plugin in plugins if isinstance(plugin, NodeAffinity)), None
        )
        if NodeAffinity.name not in profile.filters:
            self._narrowing = None
        self._by_identity: dict[tuple[int, int, str, str], Shape] = {}
        self._by_content: dict[bytes, Shape] = {}

    @property
    def plugins(self) -> Sequence[Plugin]:
        """The plugins, in the order in which they filter."""
        return self._plugins

    def problem(self, pod: Pod) -> Problem | None:
        """Why a plugin's result for the replacement of this pod cannot be predicted, or None."""
        for plugin in self._doubting:
            reason = plugin.problem(pod)
            if reason is not None:
                return Problem("FEA005", f"{pod.key}: {reason}")
        return None

    def replacement(self, pod: Pod) -> Replacement:
        """What the scheduler will see in place of this pod."""
        spec = _scheduled_spec(pod.spec)
        requests = incoming_requests(spec, pod_level=self._profile.pod_level_resources)
        labels = self._labels(pod.metadata.labels)
        return Replacement(pod.metadata.namespace, labels, spec, pod.controller, requests)

    def shape_of(self, pod: Pod) -> Shape:
        """The shape of a pod that was not refused."""
        owner = pod.controller
        owner_uid = owner.uid if owner else ""
        namespace = pod.metadata.namespace
        identity = (id(pod.spec), id(pod.metadata.labels), namespace, owner_uid)
        shape = self._by_identity.get(identity)
        if shape is None:
            labels = self._labels(pod.metadata.labels)
            spec = _scheduled_spec(pod.spec)
            content = msgspec.msgpack.encode((namespace, sorted(labels.items()), owner_uid, spec))
            shape = self._by_content.get(content)
            if shape is None:
                requests = incoming_requests(spec, pod_level=self._profile.pod_level_resources)
                replacement = Replacement(namespace, labels, spec, owner, requests)
                shape = self._by_content[content] = self._prepare(replacement)
            self._by_identity[identity] = shape
        return shape

    def _labels(self, labels: Labels | None) -> Labels:
        """The labels that the template gives; binding may have stamped others on the old pod."""
        stamped = STAMPED if self._profile.stamps_topology else ()
        return {key: value for key, value in (labels or {}).items() if key not in stamped}

    def _prepare(self, pod: Replacement) -> Shape:
        filters, scores = [], []
        for plugin in self._plugins:
            passing = plugin.filter(pod) if plugin.name in self._profile.filters else None
            if passing is not None:
                filters.append((plugin.name, passing))
            weight = self._profile.weights.get(plugin.name, 0)
            score = plugin.score(pod) if weight else None
            if score is not None:
                scores.append((plugin.name, weight, score))
        local = LocalScores(scores, self._occupancy)
        candidates = self._narrowing.named_nodes(pod.spec) if self._narrowing else None
        return Shape(pod, filters, scores, candidates, self._profile, local)

    def steered_shape(self, base: Shape, steer: Steer) -> Shape:
        """The shape of a steered pod: that of the pod, with what steering changes created again."""
        pod = replace(base.replacement, steer=steer)
        filters, scores = (
            dict(base.filters),
            {name: (w, base_score) for name, w, base_score in base.scores},
        )
        changed: list[tuple[int, Score]] = []
        for plugin in self._plugins:
            if not plugin.follows(steer):
                continue
            passing = plugin.filter(pod) if plugin.name in self._profile.filters else None
            if passing is not None:
                filters[plugin.name] = passing
            weight = self._profile.weights.get(plugin.name, 0)
            score = plugin.score(pod) if weight else None
            if score is not None:
                scores[plugin.name] = (weight, score)
                changed.append((weight, score))
        order = [plugin.name for plugin in self._plugins]
        before = [
            base_score for name, _, base_score in base.scores if scores[name][1] is not base_score
        ]
        return Shape(
            pod,
            [(name, filters[name]) for name in order if name in filters],
            [(name, *scores[name]) for name in order if name in scores],
            base.candidates,
            self._profile,
            SteeredScores(base.local, before, changed),
        )


def _scheduled_spec(spec: PodSpec) -> PodSpec:
    """The spec without volumes that the scheduler ignores, whose names are random."""
    kept = [volume for volume in spec.volumes or () if _matters(volume)]
    return msgspec.structs.replace(spec, volumes=kept or None, nodeName=None)


def _matters(volume: Volume) -> bool:
    return any(
        (
            volume.persistentVolumeClaim,
            volume.ephemeral,
            volume.image,
            volume.gcePersistentDisk,
            volume.awsElasticBlockStore,
            volume.iscsi,
            volume.rbd,
        )
    )

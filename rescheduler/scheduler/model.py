"""The model of the active scheduler: where the replacement of an evicted pod will land."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cached_property

import numpy as np

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.model.problem import Problem
from rescheduler.scheduler.chances import Weighted, chances, total_scores
from rescheduler.scheduler.config.default_profile import (
    counting_profile,
    default_profile,
    default_profiles,
)
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.landings import NOBODY, agree, mix_landings, refused_landing
from rescheduler.scheduler.nominated_pods import Nominated
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import ScoreArray, Steer
from rescheduler.scheduler.plugins.default_plugins import STATIC, UNRESOLVABLE, DefaultPlugins
from rescheduler.scheduler.plugins.node_affinity import NodeAffinity
from rescheduler.scheduler.plugins.node_resources.node_resources_fit import NodeResourcesFit
from rescheduler.scheduler.plugins.topology_spread import TopologySpread
from rescheduler.scheduler.pod_groups import PodGroupRules
from rescheduler.scheduler.preemption import Preemption
from rescheduler.scheduler.profile import Profile
from rescheduler.scheduler.rejections import Rejection, rejections
from rescheduler.scheduler.sampling import sample_size, scan_order, with_races
from rescheduler.scheduler.shape import Shape, Shapes, refusal
from rescheduler.scheduler.verdicts import State, Verdicts, filter_verdicts, score_verdicts

_STATES: dict[tuple[str, str], tuple[State, ...]] = {
    ("ReplicaSet", "apps/v1"): ("overlap",),
    ("ReplicationController", "v1"): ("overlap",),
    ("StatefulSet", "apps/v1"): ("gone",),
    ("Job", "batch/v1"): ("gone",),
}
_KINDS = {kind: states for (kind, _), states in _STATES.items()}
LATE = 0.02
"""How often a scheduler that `hears_late` does: 2 of 102 times that it showed on a real one."""
_EITHER: tuple[State, ...] = ("overlap", "gone")
_Found = tuple[BoolArray, State, dict[str, int]]


class SchedulerModel:
    """kube-scheduler on a working copy of a snapshot.

    A replacement made by a ReplicaSet or ReplicationController is scheduled beside the old pod,
    which is still terminating; where no node is feasible it waits, and is tried again when the old
    pod is gone. A StatefulSet or Job makes it only then. For any other owner both states are
    tried, and where they differ the landing is refused.

    Above 100 nodes the scheduler scores only a window of the feasible nodes. The window's start is
    not known, so the landing is a distribution over all starts, with the scores of each window
    normalized over that window.

    A replacement with ephemeral volumes fails once, for its claims are made after it; whether the
    old pod is gone by the next try is not known, so both states must agree for it too.

    Refused, because it is unpredictable: a pod that could preempt others, and one that waits behind
    gates. Pending pods count only where they are nominated for a node.
    """

    def __init__(self, snapshot: Snapshot, profiles: Mapping[str, Profile] | None = None) -> None:
        """Index the snapshot.

        profiles: every scheduler that is known, by its name; by default the one of the server's
        version. All count what pods take as the default scheduler does.
        """
        self._snapshot = snapshot
        version = snapshot.cluster.version
        self.profiles = default_profiles(version) if profiles is None else profiles
        nodes, pods = snapshot.nodes, snapshot.pods
        counting = counting_profile(self.profiles, version)
        self._occupancy = Occupancy(
            nodes,
            pods,
            snapshot.pod_node,
            pod_level=counting.pod_level_resources,
            by_sum=counting.resizes_by_sum,
            renewed=snapshot.next_pods.renewed,
        )
        handle = Handle(snapshot, self._occupancy)
        self._default_plugins = DefaultPlugins(handle, default_profile(version))
        self._preemption = Preemption(pods, self._occupancy)
        self._nominated = Nominated(snapshot, self._occupancy)
        self._pod_groups = PodGroupRules(snapshot)
        self._schedulers: dict[str, Shapes] = {}
        self._order = scan_order(nodes)
        self._rank = np.argsort(self._order).astype(np.int32)
        self._latest: tuple[tuple[int, State, int, bool], _Found] | None = None

    def _scheduler(self, pod: Pod) -> Shapes:
        """What the pod's scheduler is made of; only for a pod without a problem."""
        name = pod.spec.schedulerName
        shapes = self._schedulers.get(name)
        if shapes is None:
            profile = self.profiles[name]
            plugins = self._default_plugins.plugins_of(profile)
            shapes = self._schedulers[name] = Shapes(plugins, profile, self._occupancy)
        return shapes

    @property
    def occupancy(self) -> Occupancy:
        """Who is where in this working copy; to read, never to change."""
        return self._occupancy

    def landing(self, pod: int, steer: Steer | None = None) -> Landing:
        """Where the replacement of this pod will be put, if it were evicted now.

        steer: what will tell it where to go; None: nothing.
        """
        problem = self._problem(pod)
        if problem is not None:
            return refused_landing(problem)
        states = self._states(pod)
        answers = [self._landing_when_heard(pod, state, steer) for state in states]
        for answer in answers:
            if answer.refusal is not None:
                return answer
        if len(answers) > 1 and not agree(*answers):
            key = self._snapshot.pods[pod].key
            why = "waits for its volumes" if self._made_first(pod) else "has an unknown owner"
            text = f"{key} {why}, and the landing depends on whether the old pod is gone by then"
            return refused_landing(Problem("FEA005", text))
        return answers[0]

    def _landing_when_heard(self, pod: int, state: State, steer: Steer | None) -> Landing:
        """The landing, whenever the scheduler hears that the old pod goes, or is gone."""
        landing = self._land(pod, state, steer)
        profile = self.profiles[self._snapshot.pods[pod].spec.schedulerName]
        if not profile.hears_late or landing.refusal is not None:
            return landing
        with self._occupancy.ignore_updates():
            other = self._land(pod, state, steer)
        if other.refusal is not None:
            return other
        # Where it finds no node it tries again when it has heard.
        both = len(landing.nodes) and len(other.nodes)
        return mix_landings(landing, other, LATE) if both else landing

    def feasible(self, pod: int) -> BoolArray:
        """(nodes,) where the replacement could be put, in the state that it will see."""
        if self._problem(pod) is not None:
            return np.zeros(len(self._snapshot.nodes), dtype=np.bool_)
        answers = [self._feasible(pod, state)[0] for state in self._states(pod)]
        result: BoolArray = np.logical_and.reduce(answers)
        return result

    def points(self, pod: int) -> ScoreArray:
        """(nodes,) what the scheduler would score the feasible nodes, all of them together.

        For a pod without a problem, in the first state that its replacement may see. Of fewer nodes
        the scores may be others, and mostly their order is the same.
        """
        answer = np.zeros(len(self._snapshot.nodes), dtype=np.int64)
        passing, state, _ = self._feasible(pod, self._states(pod)[0])
        nodes = np.flatnonzero(passing).astype(np.int32)
        if len(nodes):
            with self._in_state(state, pod):
                answer[nodes] = total_scores(*_scores(self._shape(self._pod(pod)), nodes))
        return answer

    def open_to(self, pod: int) -> BoolArray:
        """(nodes,) where nothing forbids the replacement that no other pod's leaving could undo."""
        answer = np.ones(len(self._snapshot.nodes), dtype=np.bool_)
        if self._problem(pod) is None:
            for name, passes in self._shape(self._pod(pod)).filter_results(len(answer)):
                answer &= passes | (name not in STATIC)
        return answer

    def room(self, pod: int) -> BoolArray:
        """(nodes,) with the resources for the pod, which its own rules admit.

        Every scheduler needs these resources, and obeys the node selector and affinity of a pod,
        its tolerations, and where its volumes are; what is not known of them admits all nodes.
        """
        pod_object = self._pod(pod)
        replacement = self._usual.replacement(pod_object)
        answer = np.ones(len(self._snapshot.nodes), dtype=np.bool_)
        for plugin in self._usual.plugins:
            applies = plugin.name in STATIC or plugin.name == NodeResourcesFit.name
            passes = (
                plugin.filter(replacement) if applies and not plugin.problem(pod_object) else None
            )
            if passes is not None:
                answer &= passes()
        return answer

    @cached_property
    def _usual(self) -> Shapes:
        profile = default_profile(self._snapshot.cluster.version)
        return Shapes(self._default_plugins.plugins_of(profile), profile, self._occupancy)

    def verdicts(self, pod: int, steer: Steer | None = None) -> Verdicts:
        """Every plugin's result for every node for the replacement of this pod."""
        landing = self.landing(pod, steer)
        count = len(self._snapshot.nodes)
        states = self._states(pod)
        if self._problem(pod) is not None:
            nothing = np.zeros(count, dtype=np.bool_)
            return Verdicts(states[0], (), nothing, (), np.zeros(count, dtype=np.int64), landing)
        passing, state, _ = self._feasible(pod, states[0], steer)
        shape = self._shape(self._pod(pod), steer)
        nodes = self._order[passing[self._order]]
        with self._in_state(state, pod):
            filters = filter_verdicts(shape, count)
            scores = score_verdicts(shape, nodes, count)
        total = np.zeros(count, dtype=np.int64)
        for score in scores:
            total += score.points
        return Verdicts(state, filters, passing, scores, total, landing)

    def rejections(self, pod: int) -> tuple[Rejection, ...]:
        """Why nodes are rejected for the replacement of this pod, in the scheduler's own words."""
        if self._problem(pod) is not None:
            return ()
        pod_object = self._pod(pod)
        _, state, _ = self._feasible(pod, self._states(pod)[0])
        shape, shapes = self._shape(pod_object), self._scheduler(pod_object)
        with self._in_state(state, pod):
            filters = filter_verdicts(shape, len(self._snapshot.nodes))
            return rejections(
                shapes.replacement(pod_object), shapes.plugins, filters, shape.candidates
            )

    def commit(self, shift: Shift) -> None:
        """Move the pod in the working copy; the reversed shift restores it."""
        self._occupancy.move(shift)

    def _problem(self, pod: int) -> Problem | None:
        pod_object = self._snapshot.pods[pod]
        profile = self.profiles.get(pod_object.spec.schedulerName)
        if profile is None:
            name = pod_object.spec.schedulerName
            return Problem(
                "ELG018", f"{pod_object.key} is scheduled by {name}, which is not declared"
            )
        if self._snapshot.next_pods.is_gated(pod_object):
            return Problem("FEA005", f"{pod_object.key} will wait behind the gates of its template")
        following = self._pod(pod)
        own = refusal(following, profile) or self._pod_groups.problem(pod, profile)
        return own or self._scheduler(pod_object).problem(following)

    def _states(self, pod: int) -> tuple[State, ...]:
        if self._occupancy.where[pod] < 0:
            return ("gone",)
        owner = self._snapshot.pods[pod].controller
        if owner is None:
            return _EITHER
        states = _KINDS.get(owner.kind, _EITHER)
        if owner.apiVersion:
            states = _STATES.get((owner.kind, owner.apiVersion), _EITHER)
        # Beside the old pod it would be tried a second time, maybe once that is gone.
        return _EITHER if "overlap" in states and self._made_first(pod) else states

    def _made_first(self, pod: int) -> bool:
        """Whether claims are made after the replacement, which fails once and is tried later."""
        return any(volume.ephemeral for volume in self._snapshot.pods[pod].spec.volumes or ())

    def _pod(self, pod: int) -> Pod:
        """The pod as its replacement will be."""
        return self._snapshot.next_pods.replacement(pod)

    def _shape(self, pod: Pod, steer: Steer | None = None) -> Shape:
        shapes = self._scheduler(pod)
        shape = shapes.shape_of(pod)
        return shape if steer is None else shapes.steered_shape(shape, steer)

    def _in_state(self, state: State, pod: int) -> AbstractContextManager[None]:
        if state == "overlap":
            return self._occupancy.terminate_pod(pod)
        return self._occupancy.remove_pod(pod)

    def _feasible(self, pod: int, state: State, steer: Steer | None = None) -> _Found:
        """The feasible nodes, the state in which that is, and what each filter rejects first.

        One pod is evaluated several times in a row, unsteered and steered: what is found for it
        unsteered is kept until something moves or another pod is evaluated.
        """
        if steer is not None and steer.only is None:
            return self._feasible(pod, state)
        question = (pod, state, self._occupancy.clock, self._occupancy.heard)
        if steer is None and self._latest is not None and self._latest[0] == question:
            passing, actual_state, rejections = self._latest[1]
            return passing.copy(), actual_state, dict(rejections)
        shape = self._shape(self._pod(pod), steer)
        if steer is not None and not any(name == TopologySpread.name for name, _ in shape.filters):
            passing, actual_state, rejections = self._feasible(pod, state)
            only = dict(shape.filters).get(NodeAffinity.name)
            if actual_state == state and only is not None and (passing & only()).any():
                count = int(np.count_nonzero(passing))
                passing &= only()
                count -= int(np.count_nonzero(passing))
                rejections[NodeAffinity.name] = rejections.get(NodeAffinity.name, 0) + count
                return passing, state, rejections
        with self._in_state(state, pod):
            passing, rejections = self._run_filters(shape)
            self._nominated.reject(pod, shape, passing, rejections)
        answer = passing, state, rejections
        if state == "overlap" and self._occupancy.heard and not passing.any():
            answer = self._feasible(pod, "gone", steer)
        if steer is None:
            self._latest = question, (answer[0].copy(), answer[1], dict(answer[2]))
        return answer

    def _run_filters(self, shape: Shape) -> tuple[BoolArray, dict[str, int]]:
        passing = np.ones(len(self._snapshot.nodes), dtype=np.bool_)
        rejections: dict[str, int] = {}
        passing_count = len(passing)
        for name, passes in shape.filter_results(len(passing)):
            passing &= passes
            still = int(np.count_nonzero(passing))
            if still < passing_count:
                rejections[name] = rejections.get(name, 0) + passing_count - still
                passing_count = still
        return passing, rejections

    def preemptible(self, pod: int) -> BoolArray:
        """(nodes,) where pods of a lower priority may have to go for this pod, which fits nowhere.

        For a pod without a problem.
        """
        return self._preemptible(pod, self._states(pod)[0], None)

    def _preemptible(self, pod: int, state: State, steer: Steer | None) -> BoolArray:
        """(nodes,) where the scheduler may preempt pods of a lower priority, if no node fits."""
        pod_object = self._pod(pod)
        shape, shapes = self._shape(pod_object, steer), self._scheduler(pod_object)
        with self._in_state(state, pod):
            hopeful = np.ones(len(self._snapshot.nodes), dtype=np.bool_)
            for name, passes in shape.filter_results(len(hopeful)):
                if name in UNRESOLVABLE:
                    hopeful &= passes
            return self._preemption.possible(
                pod_object, shapes.replacement(pod_object).requests, hopeful
            )

    def _land(self, pod: int, tried: State, steer: Steer | None) -> Landing:
        passing, state, rejections = self._feasible(pod, tried, steer)
        if (state != tried or not passing.any()) and self._preemptible(pod, tried, steer).any():
            key = self._snapshot.pods[pod].key
            return refused_landing(
                Problem("FEA009", f"{key} fits nowhere, and could preempt pods of lower priority")
            )
        nodes = self._order[passing[self._order]]
        if not len(nodes):
            return Landing(NOBODY, np.zeros(0), unschedulable=1.0, rejections=rejections)
        expected = self._nominated_node(pod, passing)
        if expected is not None:
            return Landing(expected, np.ones(1), rejections=rejections)
        shape = self._shape(self._pod(pod), steer)
        with self._in_state(state, pod):
            base, relatives = _scores(shape, nodes)
        likely = self._chances(shape, nodes, base, relatives)
        source = int(self._occupancy.where[pod])
        order = np.flatnonzero(likely)
        order = order[np.lexsort((nodes[order], -likely[order]))]
        return Landing(
            nodes=nodes[order],
            probabilities=likely[order],
            returns=float(likely[nodes == source].sum()),
            rejections=rejections,
        )

    def _nominated_node(self, pod: int, passing: BoolArray) -> IntArray | None:
        """The node that an unbound pod is nominated for, where it fits: no other is considered."""
        pod_object = self._snapshot.pods[pod]
        if (
            self._occupancy.where[pod] >= 0
            or pod_object.node
            or not pod_object.status.nominatedNodeName
        ):
            return None
        node = self._snapshot.node_index.get(pod_object.status.nominatedNodeName)
        if node is None or not passing[node]:
            return None
        return np.array([node], dtype=np.int32)

    def _chances(
        self, shape: Shape, nodes: IntArray, base: ScoreArray, relatives: list[Weighted]
    ) -> FloatArray:
        """The probability of each feasible node, in the order of the scan."""
        length = len(self._order) if shape.candidates is None else len(shape.candidates)
        scored = bool(shape.profile.weights)
        width = sample_size(length, shape.profile.percentage) if scored else 1
        ranks = self._rank[nodes]
        if width < len(nodes) and shape.candidates is not None:
            # A scan over chosen nodes alone has its own positions: those among the chosen.
            chosen = np.sort(self._rank[shape.candidates])
            ranks = np.searchsorted(chosen, ranks).astype(np.int32)
        likely = chances(base, relatives, ranks, length, width)
        if 1 < width < len(nodes):
            return with_races(likely, total_scores(base, relatives), ranks, length, width)
        return likely


def _scores(shape: Shape, nodes: IntArray) -> tuple[ScoreArray, list[Weighted]]:
    """The weighted scores that depend on a node alone, summed; and the others."""
    base = shape.local.node_scores(nodes)
    relatives: list[Weighted] = []
    for weight, score in shape.local.relative:
        scored = score(nodes)
        if not isinstance(scored, np.ndarray):
            relatives.append((weight, scored))
    return base, relatives

"""Chooses the nodes that a replacement is steered to.

The scheduler weighs room and spreading; a policy weighs what it is about. Where both agree nothing
is steered. Elsewhere the nodes are chosen by the policies' own costs, and the move is judged by
where the scheduler puts a replacement that is steered there.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Landing
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import Binding
from rescheduler.planning.eligibility.steerable import Steerable
from rescheduler.planning.evaluation.destinations import refuse_landing
from rescheduler.planning.evaluation.evaluation import NOTHING, Choice
from rescheduler.planning.evaluation.pending_pods import PendingPods
from rescheduler.planning.evaluation.second_nodes import pairs_with_second
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.scheduler.plugin import Steer
from rescheduler.steering.means_registry import MEANS

MOST = 4
"""The most nodes that one replacement is steered to, if the scheduler looks at all nodes."""
MOST_SAMPLED = 64
"""The same if it looks at some nodes only, and may miss those that it is steered to."""
_LEAST_REQUIRED = 2
"""One node alone may become full or not Ready, and its replacement would stay Pending."""
_AS_GOOD = 0.9
"""The share of the best node's gain that a node must have to be as acceptable."""
_ALIKE = 0.98
"""Of two sets of nodes the larger is chosen where it gains this share of the other's gain."""
_NOBODY = np.zeros(0, dtype=np.int32)


def _same_landing(one: Landing, other: Landing) -> bool:
    return np.array_equal(one.nodes, other.nodes) and np.allclose(
        one.probabilities, other.probabilities
    )


class Chooser:
    """Chooses the destinations of replacements on one working copy.

    planned: pod to the nodes that a plan has chosen for it; None: do not steer. Nodes that are
    still acceptable are kept; if too few are left, new ones are chosen.
    proposed: pod to the node that comes first where it is acceptable, before better ones. astray:
    pods and nodes proposed for them where they fit, and would not land.
    """

    def __init__(self, copy: WorkingCopy, waiting: PendingPods) -> None:
        self._copy = copy
        self._waiting = waiting
        self._steerable = Steerable(copy.snapshot)
        self.planned: dict[int, Sequence[int] | None] = {}
        self.proposed: Mapping[int, int] = {}
        self.astray: set[tuple[int, int]] = set()

    def problem(self, pod: int, *, whole: bool) -> Problem | None:
        """Why the replacement of this pod must not be steered, or None."""
        return self._steerable.problem(pod, whole=whole)

    @property
    def is_steering(self) -> bool:
        """Whether anything at all is to be steered."""
        return any(self._steering_of(binding).means != "None" for binding in self._copy.active)

    def choose(
        self, pod: int, unsteered: Landing, *, whole: bool, helps: bool = False
    ) -> Choice | None:
        """How to steer the replacement of the pod; None where that must not be, or brings nothing.

        unsteered: where it lands without. whole: whether all of its gang is moved. helps: whether
        it makes room for another move, and may lose by it: as little as possible.
        """
        copy = self._copy
        if not self.is_steering or self.planned.get(pod, _NOBODY) is None:
            return None
        if self._steerable.problem(pod, whole=whole) is not None:
            return None
        nodes = np.flatnonzero(self._acceptable(pod)).astype(np.int32)
        if not len(nodes):
            return None
        changes = copy.changes(pod, nodes)
        worth = copy.worth(pod, nodes, changes)
        gains = -sum(worth.values(), np.zeros(len(nodes)))
        steering = (
            self._of_helper() if helps else self._deciding_steering(worth, int(gains.argmax()))
        )
        gaining = np.full(len(nodes), helps) | (gains > NOTHING)
        for binding in copy.active:
            gaining &= ~(binding.unknown[nodes] & (worth[binding.policy.name] < -NOTHING))
        if steering.means == "None" or not gaining.any():
            return None
        spare = nodes[gains <= NOTHING]
        nodes, gains = self._rank_nodes(pod, nodes[gaining], gains[gaining], unsteered)
        means = MEANS[steering.by]
        if whole and means.one_at_a_time:
            # The replacements of a gang come at the same time.
            return None
        if means.taints:
            return self._choose_taints(pod, steering.by, nodes, gains, unsteered, helps=helps)
        return self._choose_by_term(pod, steering, nodes, gains, spare, unsteered, helps=helps)

    def _choose_by_term(
        self,
        pod: int,
        steering: SteeringFields,
        nodes: IntArray,
        gains: FloatArray,
        spare: IntArray,
        unsteered: Landing,
        *,
        helps: bool,
    ) -> Choice | None:
        """The choice among these nodes, the best first, where a term of the replacement tells.

        spare: acceptable nodes where nothing is gained.
        """
        require = steering.strength == "Require"
        extends = MEANS[steering.by].extends
        if require and extends and self._samples_nodes(pod):
            # It gets the nodes that were sampled, and must leave one: no promise.
            return None
        certain = [] if not require else self._certain(pod, nodes, spare)
        enough = bool(certain) or (len(nodes) >= _LEAST_REQUIRED and not self._aims(pod, nodes))
        required = require and enough and not self._planned_alone(pod, nodes)
        if extends and not self._calls_extender(pod, required=required):
            return None
        choices = [
            self._choice(steering.by, chosen, unsteered, required=required)
            for chosen in self._options(pod, nodes, gains, certain, required=required)
        ]
        return self._best(pod, choices, unsteered, helps=helps)

    def _choice(self, by: str, nodes: IntArray, unsteered: Landing, *, required: bool) -> Choice:
        """These nodes; where that leads is worked out later."""
        return Choice(
            by=by,
            strength="Require" if required else "Prefer",
            nodes=nodes,
            steer=Steer.to_nodes(nodes, len(self._copy.snapshot.nodes), require=required),
            unsteered=unsteered,
            landing=unsteered,
        )

    def _acceptable(self, pod: int) -> BoolArray:
        """(nodes,) where the replacement may be sent: it fits, stays, and takes nobody's room."""
        copy = self._copy
        answer = copy.scheduler.feasible(pod) & self._steerable.nodes
        source = int(copy.snapshot.pod_node[pod])
        answer[source] = False
        answer[copy.reversals.forbidden_nodes(pod, source)] = False
        answer &= ~copy.eligibility.places.avoided_for(pod)
        answer &= ~self._waiting.contested_nodes(pod)
        nodes = np.flatnonzero(answer).astype(np.int32)
        for binding in copy.active:
            if binding.fills and len(nodes):
                answer[nodes] &= ~binding.overfills(pod, nodes)
        answer[nodes] &= ~copy.admission.rejection_mask(pod, source, nodes)
        return answer

    def _planned_alone(self, pod: int, nodes: IntArray) -> bool:
        """Whether a plan prefers one of these nodes alone, and requires none."""
        planned = self.planned.get(pod) or ()
        return len(planned) == 1 and planned[0] in nodes

    def _calls_extender(self, pod: int, *, required: bool) -> bool:
        """Whether the pod's scheduler asks an extender for what steers it."""
        name = self._copy.snapshot.pods[pod].spec.schedulerName
        calls = self._copy.schedulers.calls_extender
        return calls(name, "prioritizeVerb") and (not required or calls(name, "filterVerb"))

    def _samples_nodes(self, pod: int) -> bool:
        """Whether the pod's scheduler looks at some of the nodes only."""
        snapshot = self._copy.snapshot
        name = snapshot.pods[pod].spec.schedulerName
        return self._copy.schedulers.samples_nodes(name, len(snapshot.nodes))

    def _rank_nodes(
        self, pod: int, nodes: IntArray, gains: FloatArray, unsteered: Landing
    ) -> tuple[IntArray, FloatArray]:
        """The nodes, best first; of equals those that the scheduler likes, then by the seed.

        Nodes that this plan relieves come after their equals, though the scheduler likes them; and
        those where it sends others already: within sets that overlap the scheduler chooses alike,
        and would fill one of their nodes.
        """
        snapshot = self._copy.snapshot
        liked = np.zeros(len(snapshot.nodes))
        liked[unsteered.nodes] = unsteered.probabilities
        relieved = np.zeros(len(snapshot.nodes), dtype=np.bool_)
        relieved[snapshot.pod_node[sorted(self._copy.moved)]] = True
        order = np.lexsort(
            (
                self._copy.precedence[nodes],
                -liked[nodes],
                self._copy.told[nodes],
                relieved[nodes],
                -gains.round(9),
                nodes != self.proposed.get(pod, -1),
            )
        )
        return nodes[order], gains[order]

    def _certain(self, pod: int, nodes: IntArray, spare: IntArray) -> list[IntArray]:
        """Pairs of nodes; the scheduler takes the first, if it looks at all nodes."""
        if self._samples_nodes(pod):
            return []
        points, aims = self._copy.scheduler.points(pod), self._aims(pod, nodes)
        return list(pairs_with_second(points, nodes, spare, aims=aims))

    def _aims(self, pod: int, nodes: IntArray) -> bool:
        """Whether the best of these is the one that is proposed."""
        return int(nodes[0]) == self.proposed.get(pod)

    def _options(
        self,
        pod: int,
        nodes: IntArray,
        gains: FloatArray,
        certain: list[IntArray],
        *,
        required: bool,
    ) -> list[IntArray]:
        """The sets of nodes to choose from, each the best so many, and pairs where these help."""
        planned = self.planned.get(pod)
        least = _LEAST_REQUIRED if required else 1
        if planned is not None:
            every = np.concatenate([nodes, *certain])
            kept = np.array(list(dict.fromkeys(every[np.isin(every, list(planned))].tolist())))
            if len(kept) >= least:
                return [kept]
        if certain and required and self._aims(pod, nodes):
            return certain
        sampled = not required and self._samples_nodes(pod)
        sizes = {least}
        if not self._aims(pod, nodes):
            good = int(np.count_nonzero(self._as_good(gains)))
            sizes.add(max(least, min(good, MOST)))
        if sampled:
            sizes |= {min(len(nodes), size) for size in (MOST_SAMPLED // 4, MOST_SAMPLED)}
        options = [nodes[:size] for size in sorted(sizes) if len(nodes) >= least]
        return [*certain, *options] if required else options

    def _best(
        self, pod: int, choices: list[Choice], unsteered: Landing, *, helps: bool
    ) -> Choice | None:
        """The choice of the greatest expected gain; None where the unsteered landing gains as much.

        Of those that are nearly as good the one with the most nodes is taken: it bears more that
        changes until the replacement is placed. What a plan has chosen is judged, and kept.
        """
        copy = self._copy
        best: Choice | None = None
        value = -np.inf if helps else 0.0
        if self.planned.get(pod) is None and pod not in self.proposed:
            value = max(value, self._expected_gain(pod, unsteered, steered=False))
        for choice in choices:
            landing = copy.scheduler.landing(pod, choice.steer)
            gain = self._expected_gain(pod, landing, steered=True)
            least = value + NOTHING if best is None else value - (1.0 - _ALIKE) * abs(value)
            if gain > -np.inf and gain >= least:
                best, value = choice.with_landing(landing), max(gain, value)
        return best

    def _expected_gain(self, pod: int, landing: Landing, *, steered: bool) -> float:
        """The expected decrease of the weighted cost; -inf where no move is made for the landing.

        Policies with `onlyIfSteered` gain nothing where it is not.
        """
        copy, source = self._copy, int(self._copy.snapshot.pod_node[pod])
        if refuse_landing(copy.snapshot, landing, source, copy.limits) is not None:
            return -np.inf
        worth = copy.worth(pod, landing.nodes, copy.changes(pod, landing.nodes))
        for policy in (binding.policy for binding in copy.active):
            if policy.onlyIfSteered and not steered:
                worth[policy.name] = np.maximum(worth[policy.name], 0.0)
        total = sum(worth.values(), np.zeros(len(landing.nodes)))
        away = np.where(landing.nodes == source, 0.0, landing.probabilities)
        return -float(away @ total)

    @staticmethod
    def _as_good(gains: FloatArray) -> BoolArray:
        """(k,) which gain nearly as much as the first, the best; of losses those that are equal."""
        answer: BoolArray = gains >= min(gains[0], _AS_GOOD * gains[0]) - NOTHING
        return answer

    def _choose_taints(
        self,
        pod: int,
        by: str,
        nodes: IntArray,
        gains: FloatArray,
        unsteered: Landing,
        *,
        helps: bool,
    ) -> Choice | None:
        """Taints on the nodes where it would land, one after the other, until it lands well."""
        copy = self._copy
        tainted = [int(copy.snapshot.pod_node[pod])]
        good = set(nodes[self._as_good(gains)].tolist())
        choices: list[Choice] = []
        while len(tainted) <= copy.limits.taintedNodes:
            steer = Steer(tainted=self._mask(np.array(tainted, dtype=np.int32)))
            landing = copy.scheduler.landing(pod, steer)
            if choices and _same_landing(landing, choices[-1].landing):
                break  # it goes there in spite of the taints that were added
            there = [node for node in nodes.tolist() if node in set(landing.nodes.tolist())]
            choices.append(
                Choice(
                    by=by,
                    strength="Prefer",
                    nodes=np.array(there[:MOST], dtype=np.int32),
                    steer=steer,
                    unsteered=unsteered,
                    landing=landing,
                )
            )
            worse = [node for node in landing.nodes.tolist() if node not in good]
            more = [node for node in worse if node not in tainted]
            if not more:
                break
            tainted += more
        return self._best(
            pod, [choice for choice in choices if len(choice.nodes)], unsteered, helps=helps
        )

    def _deciding_steering(self, worth: dict[str, FloatArray], best: int) -> SteeringFields:
        """What the policy says that gains most on the best node and says anything; the Limits."""
        answer, most = self._copy.limits.steering, NOTHING
        for policy in (binding.policy for binding in self._copy.active):
            gain = -float(worth[policy.name][best])
            if policy.steering is not None and gain > most:
                answer, most = policy.steering, gain
        return answer

    def _of_helper(self) -> SteeringFields:
        """As the Limits say; where only policies say it, as the weightiest of them does."""
        limits = self._copy.limits.steering
        saying = [
            binding.policy for binding in self._copy.active if binding.policy.steering is not None
        ]
        if limits.means != "None" or not saying:
            return limits
        return max(saying, key=lambda policy: policy.weight).steering or limits

    def _steering_of(self, binding: Binding) -> SteeringFields:
        return self._copy.limits.steering_of(binding.policy)

    def _mask(self, nodes: IntArray) -> BoolArray:
        answer = np.zeros(len(self._copy.snapshot.nodes), dtype=np.bool_)
        answer[nodes] = True
        return answer

"""The term of Spread: which domains hold too many pods, and what moving one changes."""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.spread.domain_counts import OUTSIDE, DomainCounts, Giving
from rescheduler.policies.spread.follower_counts import Following
from rescheduler.policies.spread.spread_counts import SpreadCounts
from rescheduler.policies.spread.spread_kernel import SpreadKernel
from rescheduler.policies.terms import JointBound


class SpreadTerm:
    """Spread on one snapshot: the weighted sum of what its domain counts need."""

    def __init__(self, made: SpreadCounts, snapshot: Snapshot) -> None:
        self._spread_counts = made.spread_counts
        self._of_pod = made.of_pod
        self._led_by = made.led_by
        self._warnings = made.warnings
        self._node = snapshot.pod_node.copy()
        self._candidates: dict[int, IntArray] = {}
        self._findings: dict[int, tuple[Finding, ...]] = {}
        self._in_the_way = [
            (count, empty[0]) for count in made.spread_counts if (empty := count.in_the_way())
        ]

    def cost(self) -> float:
        """Pods that must move, over all groups."""
        return float(sum(count.weight * count.needed_moves() for count in self._spread_counts))

    def worst(self) -> float:
        """The cost if every group sat in one domain."""
        return float(sum(count.weight * count.max_needed_moves() for count in self._spread_counts))

    def scope(self) -> int:
        """How many pods are evaluated."""
        return len(self._of_pod)

    def candidates(self) -> IntArray:
        """The pods whose best move lowers the cost of one of their groups."""
        pods = [np.empty(0, dtype=np.int32)]
        for number, count in enumerate(self._spread_counts):
            if count.needed_moves():
                if number not in self._candidates:
                    places = count.eligible_domains.codes[self._node[count.pods]]
                    giving = np.zeros(len(count.eligible_domains.names) + 1, dtype=np.bool_)
                    giving[count.givers()] = True  # OUTSIDE, -1, has the last place
                    self._candidates[number] = count.pods[giving[places]]
                pods.append(self._candidates[number])
        return np.unique(np.concatenate(pods))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower the cost, wherever it went."""
        best, led = np.zeros(len(self._node)), np.zeros(len(self._node))
        for spread_count in self._spread_counts:
            # Of the pods of one place each could lower the cost as much.
            places = spread_count.eligible_domains.codes[self._node[spread_count.pods]]
            least = np.zeros(len(spread_count.eligible_domains.names) + 1)
            # To ask for a place's best may enter it.
            for place, count in list(spread_count.places.items()):
                if count:
                    least[place] = spread_count.weight * spread_count.best(place)
            best[spread_count.pods] += least[places]
        for pod, following in self._led_by.items():
            led[pod] = sum(follower.weight * follower.needed_moves() for follower in following)
        return np.asarray((led - best)[pods], dtype=np.float64)

    def joint_bound(self) -> JointBound | None:
        """One move lowers what a group needs by one at most, and all by what it needs now.

        Not where pods follow others, whose moves change what is needed by more.
        """
        if self._led_by:
            return None
        count = len(self._node)
        values, place = np.zeros(count), np.full(count, -1, dtype=np.int32)
        caps: list[float] = []
        for spread_count in self._spread_counts:
            needed = spread_count.weight * spread_count.needed_moves()
            if needed <= 0:
                continue
            values[spread_count.pods] += spread_count.weight
            # Pods that another group has, too, are a place of their own.
            for before in np.unique(place[spread_count.pods]).tolist():
                pods = spread_count.pods[place[spread_count.pods] == before]
                place[pods] = len(caps)
                caps.append(needed + (caps[before] if before >= 0 else 0.0))
        return JointBound(values, place, np.array(caps))

    def kernel(self) -> SpreadKernel | None:
        """The groups by what their domains hold; not where pods follow others."""
        followers = any(isinstance(count, Following) for count in self._spread_counts)
        if followers or self._led_by or not SpreadKernel.fits(self._spread_counts):
            return None
        return SpreadKernel(self._spread_counts, self._node)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        answer = np.zeros(len(nodes))
        source = int(self._node[pod])
        for number in self._of_pod.get(pod, ()):
            domain_counts = self._spread_counts[number]
            answer += domain_counts.weight * domain_counts.changes(source, nodes)
        for following in self._led_by.get(pod, ()):
            answer += following.weight * following.led(source, nodes)
        return answer

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        for number in self._of_pod.get(shift.pod, ()):
            self._spread_counts[number].move(shift.source, shift.destination)
            self._forget(number)
        for following in self._led_by.get(shift.pod, ()):
            following.lead(shift.source, shift.destination)
            self._forget(following.number)

    def _forget(self, number: int) -> None:
        """What is kept of a group until one of its pods moves."""
        self._candidates.pop(number, None)
        self._findings.pop(number, None)

    def findings(self) -> Iterator[Finding]:
        """One finding per group and domain that must give pods away."""
        for number, count in enumerate(self._spread_counts):
            if count.needed_moves():
                if number not in self._findings:
                    places = count.eligible_domains.codes[self._node[count.pods]]
                    self._findings[number] = tuple(_findings(count, places))
                yield from self._findings[number]

    def warnings(self) -> tuple[Problem, ...]:
        """Pods that are not counted, and empty domains that count though no pod could go there."""
        made = list(self._warnings)
        if outside := [count for count in self._spread_counts if count.outside]:
            pods = sum(count.outside for count in outside)
            message = (
                f"{count_text(pods, 'pod')} of {count_text(len(outside), 'workload')} "
                f"({outside[0].name} first) {verb_for(pods, 'runs', 'run')} on nodes that are "
                "in no "
                f"domain of {outside[0].eligible_domains.key} that counts for their workload"
            )
            made.append(Problem("SPR002", message))
        if self._in_the_way:
            number = len({count.name for count, _ in self._in_the_way})
            first, domain = self._in_the_way[0]
            domains = first.eligible_domains
            message = (
                f"{count_text(number, 'workload')} ({first.name} first) would need fewer moves but "
                "for empty domains that count although none of the pods could be placed there, "
                f"such as {domains.key}={domains.names[domain]}"
            )
            made.append(Problem("SPR004", message))
        return tuple(made)


def _findings(domain_counts: DomainCounts, places: IntArray) -> Iterator[Finding]:
    """What is found in a group. places: (pods,) the domain of each of its pods."""
    givings = list(domain_counts.giving_domains())
    # Any of the fullest domains may give: the others' pods serve the finding as well.
    spare = set(domain_counts.givers().tolist()) - {giver.domain for giver in givings} - {OUTSIDE}
    domains = domain_counts.eligible_domains
    parent = domains.parent
    for giving in givings:
        alike = [domain for domain in spare if parent[domain] == parent[giving.domain]]
        serve = np.zeros(len(domains.names) + 1, dtype=np.bool_)  # OUTSIDE, -1, has the last place
        serve[[giving.domain, *alike]] = True
        yield Finding(
            code="SPR001",
            subject=f"{domain_counts.name} in {domains.key}={domains.names[giving.domain]}",
            cost=domain_counts.weight * giving.gives,
            message=_message(domain_counts, giving),
            pods=tuple(domain_counts.pods[serve[places]].tolist()),
            aspect=f"{domains.around[parent[giving.domain]]}/{domain_counts.aspect}",
        )
    if departed := domain_counts.departed_pods():
        yield Finding(
            code="SPR002",
            subject=domain_counts.name,
            cost=domain_counts.weight * departed,
            message=f"{count_text(departed, 'more pod')} than before "
            f"{verb_for(departed, 'is', 'are')} outside of the domains",
            pods=tuple(domain_counts.pods[places == OUTSIDE].tolist()),
            aspect=domain_counts.aspect,
        )


def _message(domain_counts: DomainCounts, giving: Giving) -> str:
    eligible_domains = domain_counts.eligible_domains
    parent = eligible_domains.parent[giving.domain]
    total = sum(
        count
        for place, count in domain_counts.pods_by_domain().items()
        if eligible_domains.parent[place] == parent
    )
    holds = f"holds {giving.held} of {count_text(total, 'pod')}; "
    leave = f"so {giving.gives} must leave"
    if isinstance(domain_counts, Following):
        return f"{holds}its share is {giving.lowest} to {giving.highest}, {leave}"
    among = f"the {eligible_domains.sizes[parent]} domains hold {giving.lowest} to {giving.highest}"
    if domain_counts.rule.cap is not None:
        return f"{holds}{among} and maxPerDomain is {domain_counts.rule.cap}, {leave}"
    few = ", too few domains count" if domain_counts.rule.floored else ""
    return f"{holds}{among} and maxSkew is {domain_counts.rule.allowed}{few}, {leave}"

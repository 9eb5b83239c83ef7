"""The term of Spread: which domains hold too many pods, and what moving one changes."""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import agreed, counted
from rescheduler.policies.spread.domain_counts import OUTSIDE, DomainCounts, Giving
from rescheduler.policies.spread.follow import Following
from rescheduler.policies.spread.groups import SpreadCounts
from rescheduler.policies.spread.kernel import SpreadKernel
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
            (each, empty[0]) for each in made.spread_counts if (empty := each.in_the_way())
        ]

    def cost(self) -> float:
        """Pods that must move, over all groups."""
        return float(sum(each.weight * each.needed() for each in self._spread_counts))

    def worst(self) -> float:
        """The cost if every group sat in one domain."""
        return float(sum(each.weight * each.most() for each in self._spread_counts))

    def scope(self) -> int:
        """How many pods are evaluated."""
        return len(self._of_pod)

    def candidates(self) -> IntArray:
        """The pods whose best move lowers the cost of one of their groups."""
        found = [np.empty(0, dtype=np.int32)]
        for number, each in enumerate(self._spread_counts):
            if each.needed():
                if number not in self._candidates:
                    places = each.eligible_domains.codes[self._node[each.pods]]
                    giving = np.zeros(len(each.eligible_domains.names) + 1, dtype=np.bool_)
                    giving[each.givers()] = True  # OUTSIDE, -1, has the last place
                    self._candidates[number] = each.pods[giving[places]]
                found.append(self._candidates[number])
        return np.unique(np.concatenate(found))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower the cost, wherever it went."""
        best, led = np.zeros(len(self._node)), np.zeros(len(self._node))
        for each in self._spread_counts:
            # Of the pods of one place each could lower the cost as much.
            places = each.eligible_domains.codes[self._node[each.pods]]
            least = np.zeros(len(each.eligible_domains.names) + 1)
            # To ask for a place's best may enter it.
            for place, count in list(each.places.items()):
                if count:
                    least[place] = each.weight * each.best(place)
            best[each.pods] += least[places]
        for pod, following in self._led_by.items():
            led[pod] = sum(each.weight * each.needed() for each in following)
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
        for each in self._spread_counts:
            needed = each.weight * each.needed()
            if needed <= 0:
                continue
            values[each.pods] += each.weight
            # Pods that another group has, too, are a place of their own.
            for before in np.unique(place[each.pods]).tolist():
                pods = each.pods[place[each.pods] == before]
                place[pods] = len(caps)
                caps.append(needed + (caps[before] if before >= 0 else 0.0))
        return JointBound(values, place, np.array(caps))

    def kernel(self) -> SpreadKernel | None:
        """The groups by what their domains hold; not where pods follow others."""
        followers = any(isinstance(each, Following) for each in self._spread_counts)
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
        for number, each in enumerate(self._spread_counts):
            if each.needed():
                if number not in self._findings:
                    places = each.eligible_domains.codes[self._node[each.pods]]
                    self._findings[number] = tuple(_findings(each, places))
                yield from self._findings[number]

    def warnings(self) -> tuple[Problem, ...]:
        """Pods that are not counted, and empty domains that count though no pod could go there."""
        made = list(self._warnings)
        if outside := [each for each in self._spread_counts if each.outside]:
            pods = sum(each.outside for each in outside)
            message = (
                f"{counted(pods, 'pod')} of {counted(len(outside), 'workload')} "
                f"({outside[0].name} first) {agreed(pods, 'runs', 'run')} on nodes that are in no "
                f"domain of {outside[0].eligible_domains.key} that counts for their workload"
            )
            made.append(Problem("SPR002", message))
        if self._in_the_way:
            number = len({each.name for each, _ in self._in_the_way})
            first, domain = self._in_the_way[0]
            domains = first.eligible_domains
            message = (
                f"{counted(number, 'workload')} ({first.name} first) would need fewer moves but "
                "for empty domains that count although none of the pods could be placed there, "
                f"such as {domains.key}={domains.names[domain]}"
            )
            made.append(Problem("SPR004", message))
        return tuple(made)


def _findings(domain_counts: DomainCounts, places: IntArray) -> Iterator[Finding]:
    """What is found in a group. places: (pods,) the domain of each of its pods."""
    givings = list(domain_counts.giving())
    # Any of the fullest domains may give: the others' pods serve the finding as well.
    spare = set(domain_counts.givers().tolist()) - {each.domain for each in givings} - {OUTSIDE}
    domains = domain_counts.eligible_domains
    parent = domains.parent
    for giving in givings:
        alike = [each for each in spare if parent[each] == parent[giving.domain]]
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
    if departed := domain_counts.departed():
        yield Finding(
            code="SPR002",
            subject=domain_counts.name,
            cost=domain_counts.weight * departed,
            message=f"{counted(departed, 'more pod')} than before "
            f"{agreed(departed, 'is', 'are')} outside of the domains",
            pods=tuple(domain_counts.pods[places == OUTSIDE].tolist()),
            aspect=domain_counts.aspect,
        )


def _message(domain_counts: DomainCounts, giving: Giving) -> str:
    eligible_domains = domain_counts.eligible_domains
    parent = eligible_domains.parent[giving.domain]
    total = sum(
        count
        for place, count in domain_counts.held().items()
        if eligible_domains.parent[place] == parent
    )
    holds = f"holds {giving.held} of {counted(total, 'pod')}; "
    leave = f"so {giving.gives} must leave"
    if isinstance(domain_counts, Following):
        return f"{holds}its share is {giving.lowest} to {giving.highest}, {leave}"
    among = f"the {eligible_domains.sizes[parent]} domains hold {giving.lowest} to {giving.highest}"
    if domain_counts.rule.cap is not None:
        return f"{holds}{among} and maxPerDomain is {domain_counts.rule.cap}, {leave}"
    few = ", too few domains count" if domain_counts.rule.floored else ""
    return f"{holds}{among} and maxSkew is {domain_counts.rule.allowed}{few}, {leave}"

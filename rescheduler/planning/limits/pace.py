"""The pace: what our limits on moves have left, after the moves of every run that still count.

One place knows the windows; planning asks it for the plan that grows, acting right before each
intent. A move counts in the past or in the plan, never in both: the past is what the history held
when the pace was made.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from rescheduler.documents.fields import duration_text
from rescheduler.model.history import RAMP_CYCLES, History
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.wording import counted, instant
from rescheduler.planning.limits.allowances import Allowance, Allowances
from rescheduler.policies.limits import Limits

_HOUR, _DAY = timedelta(hours=1), timedelta(hours=24)


class Pace:
    """Charged moves by node, namespace and workload, and in all, against what is allowed.

    Nodes and workloads are indices of the snapshot; -1 stands for all that are not in it, whose
    moves count together. A move in the future was made just now: by a clock that was wrong.
    """

    def __init__(
        self, snapshot: Snapshot, limits: Limits, history: History, now: datetime, plan: str = ""
    ) -> None:
        """now: the API server's time. plan: the id of the plan that is being carried out.

        The moves of that plan count as of this cycle however long it takes.
        """
        self._snapshot = snapshot
        self._limits = limits
        self._allowances = Allowances(snapshot, limits)
        self._since = now - limits.cyclePeriod
        self._hour_since, self._day_since = now - _HOUR, now - _DAY
        self._hour = len(history.charged_since(self._hour_since))
        self._day = len(history.charged_since(self._day_since))
        self._ramp = history.ramp_left(self._since)
        counting = [
            move
            for move in history.moves
            if move.charged and (move.at >= self._since or (plan and move.plan == plan))
        ]
        self._cycle = len(counting)
        # What was on no node has left none.
        left = [move.source for move in counting if move.source]
        self._nodes = Counter(snapshot.node_index.get(each, -1) for each in left)
        self._namespaces = Counter(move.namespace for move in counting)
        self._workloads = Counter(self.workload(move.workload) for move in counting)

    def workload(self, uid: str) -> int:
        """The index of the workload with this UID, -1 where the snapshot has none."""
        return self._workload_index.get(uid, -1)

    @cached_property
    def _workload_index(self) -> dict[str, int]:
        return {each.uid: index for index, each in enumerate(self._snapshot.workloads)}

    def closed(self, planned: int = 0) -> Problem | None:
        """PAC001 or PAC005-PAC007: nothing more may be moved, whatever the pod.

        planned: moves of the plan that is being made, which the history does not hold.
        """
        cycle, hour, day = self._allowances.cycle, self._allowances.hour, self._allowances.day
        if self._ramp and self._cycle + planned >= 1:
            return Problem(
                code="PAC007",
                message=f"one move in each of the first {RAMP_CYCLES} cycles that move anything, "
                f"{self._ramp} to go: {self._told(self._cycle, planned, self._since)} already",
            )
        if full := self._full(cycle, self._cycle, planned, self._since):
            return Problem(code="PAC001", message=full)
        if full := self._full(hour, self._hour, planned, self._hour_since):
            return Problem(code="PAC005", message=full)
        if full := self._full(day, self._day, planned, self._day_since):
            return Problem(code="PAC006", message=full)
        return None

    def left(self, planned: int) -> int:
        """How many more moves the cycle, the hour and the day allow, whatever the pods."""
        allowances, cycle = self._allowances, self._cycle + planned
        most = min(1, allowances.cycle.most) if self._ramp else allowances.cycle.most
        hour, day = allowances.hour.most - self._hour, allowances.day.most - self._day
        return max(0, min(most - cycle, hour - planned, day - planned))

    def left_of(
        self, nodes: Sequence[int], namespaces: Sequence[str], workloads: Sequence[int]
    ) -> tuple[list[int], list[int], list[int]]:
        """How many moves are allowed of each of these before anything is planned."""
        allowances = self._allowances
        return (
            [allowances.node(each).most - self._nodes.get(each, 0) for each in nodes],
            [
                allowances.namespace(each).most - self._namespaces.get(each, 0)
                for each in namespaces
            ],
            [allowances.workload(each).most - self._workloads.get(each, 0) for each in workloads],
        )

    def refusal(
        self,
        node: int | None,
        namespace: str,
        workload: int,
        planned: tuple[int, int, int] = (0, 0, 0),
        *,
        follows: bool = False,
    ) -> Problem | None:
        """PAC002-PAC004: why no pod of these may be moved.

        node: which it leaves; None: it is on none.
        planned: moves of the plan that is being made off the node, in the namespace and of the
        workload, which the history does not hold. follows: the pod is moved with others of its
        gang, of which one of the same workload was counted: to `movesPerWorkload` they are one.
        """
        allowances, since = self._allowances, self._since
        of_node, of_namespace, of_workload = planned
        left = 0 if node is None else self._nodes.get(node, 0)
        if node is not None and (full := self._full(allowances.node(node), left, of_node, since)):
            name = self._snapshot.nodes[node].metadata.name if node >= 0 else "(none)"
            return Problem(code="PAC002", message=f"node {name}: {full}")
        found = self._namespaces.get(namespace, 0)
        if full := self._full(allowances.namespace(namespace), found, of_namespace, since):
            return Problem(code="PAC003", message=f"namespace {namespace}: {full}")
        found = self._workloads.get(workload, 0)
        if follows:
            return None
        if full := self._full(allowances.workload(workload), found, of_workload, since):
            return Problem(code="PAC004", message=f"its workload: {full}")
        return None

    def too_many(
        self,
        namespaces: Mapping[str, int],
        nodes: Mapping[int, int],
        workloads: Mapping[int, int],
    ) -> str:
        """Which limit never lets so many pods move at once, with both numbers; "" where all do.

        How many of them are in each namespace, on each node and of each workload, by its index.
        """
        allowances, snapshot = self._allowances, self._snapshot
        total = sum(namespaces.values())
        asked = [
            (total, "", allowances.cycle),
            (total, "", allowances.hour),
            (total, "", allowances.day),
        ]
        for name, number in sorted(namespaces.items()):
            asked.append((number, f" in namespace {name}", allowances.namespace(name)))
        for node, number in sorted(nodes.items()):
            where = f" away from node {snapshot.nodes[node].metadata.name}" if node >= 0 else ""
            asked.append((number, where, allowances.node(node)))
        for workload, number in sorted(workloads.items()):
            owner = snapshot.workloads[workload] if workload >= 0 else None
            whose = f" of {owner.kind} {owner.namespace}/{owner.name}" if owner else ""
            asked.append((number, whose, allowances.workload(workload)))
        return next(
            (
                f"{counted(number, 'move')} at once{where}, more than {each} allows"
                for number, where, each in asked
                if number > each.most
            ),
            "",
        )

    def _full(self, limit: Allowance, past: int, planned: int, since: datetime) -> str:
        """How so many moves reach the limit; "" if they do not."""
        if past + planned < limit.most:
            return ""
        if not limit.most:
            return f"no move is allowed ({limit})"
        shown = str(limit)
        if past and since == self._since:
            shown += f", cyclePeriod {duration_text(self._limits.cyclePeriod)}"
        verb = "reaches" if past + planned == 1 else "reach"
        return f"{self._told(past, planned, since)} {verb} the limit of {limit.most} ({shown})"

    def _told(self, past: int, planned: int, since: datetime) -> str:
        if not past:
            return f"{counted(planned, 'move')} in this plan"
        more = f" and {planned} in this plan" if planned else ""
        return f"{counted(past, 'move')} since {instant(since)}{more}"

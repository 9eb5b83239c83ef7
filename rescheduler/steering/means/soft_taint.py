"""Steering by soft taints on the nodes where a replacement had better not go.

A node is tainted once the intent that names it is stored, and before the eviction is sent, so that
the next process after a crash knows where to look. The taint goes as soon as the replacement is
placed, at its deadline, where nothing was evicted, and when the run ends. Only one replacement at a
time is steered so: where it lands was predicted with its own taints and no others.
"""

from collections.abc import Iterable, Sequence

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.moves.taint_value import tainted_by_us
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means_base import Means, SteeredMove, Writer, steered_moves

KNOWN_AFTER = 0.3
"""Seconds for kube-scheduler to hear of the taints before it hears of the replacement."""


class TaintWriter(Writer):
    """Taints nodes, and takes the taints off."""

    code = "STR014"

    def enter(self, history: History, moves: Sequence[SteeredMove]) -> Problem | None:
        """Taint their nodes, all of them. Raises: as `Writer`."""
        port = self._port
        nodes = nodes_with_taints(moves)
        if not nodes:
            return Problem(code="STR014", message="no node is named to taint")
        tainted = len(nodes_with_taints(steered_moves(history.moves)))
        if tainted > port.tainted_nodes:
            text = f"{tainted} nodes would be tainted at a time, and taintedNodes is"
            return Problem(code="STR014", message=f"{text} {port.tainted_nodes}")
        until = max(steering.until for _, steering in moves)
        for node in nodes:
            if not port.locked():
                return Problem(code="STR014", message="the lock is not sure to outlast it")
            problem = port.taints.add(node, port.fence(), until)
            if problem is not None:
                return problem
        port.sleep(KNOWN_AFTER)
        return None

    def close(self, moves: Sequence[SteeredMove]) -> None:
        """Take the taints of these moves off. Raises: as `Writer`."""
        self._untaint(nodes_with_taints(moves), begins=False)

    def sweep(self, moves: Sequence[SteeredMove]) -> None:
        """Take them off, no matter who set them. Raises: as `Writer`."""
        nodes = nodes_with_taints(moves)
        for node in nodes:
            self._port.warn("sweeping a node that was tainted for a replacement", node=node)
        self._untaint(nodes, begins=True)

    def _untaint(self, nodes: Iterable[str], *, begins: bool) -> None:
        """begins: whether the lock was just won."""
        for node in nodes:
            self._port.taints.remove(node, self._port.fence(), begins=begins)

    def sweep_strays(self, snapshot: Snapshot) -> list[Problem]:
        """Remove our taints that belong to no known move: a state was lost.

        One that stays is tried again in each cycle, and no reason not to act: it is a wish among
        the scheduler's scores only, which `snapshot` shows as it is.
        """
        port, stay = self._port, list[Problem]()
        for node in tainted_by_us(snapshot.nodes):
            # Anybody who took the lock while we read the cluster has taints of its own there.
            if not port.locked():
                break
            try:
                port.taints.remove(node, port.fence(), begins=True)
            except ActionError as error:
                said = "a taint of ours could not be taken off"
                port.warn(said, node=node, message=error.message)
                said = f"node {node} bears a taint of ours that could not be taken off"
                advice = f"`kubectl taint node {node} {SOFT_TAINT.key}:{SOFT_TAINT.effect}-`"
                text = f"{said}: {error.message}; {advice} does it."
                stay.append(Problem(code="STR014", message=text))
            else:
                port.warn("swept a taint of ours", node=node)
        return stay


def nodes_with_taints(moves: Iterable[SteeredMove]) -> list[str]:
    """The nodes that may bear a taint for these moves now."""
    return list(
        dict.fromkeys(node for _, steering in moves if steering.open for node in steering.shunned)
    )


class SoftTaint(Means):
    """The scheduler prefers nodes without the taint as it places the replacement."""

    name = "SoftTaint"
    writer = TaintWriter
    about = (
        "the node that a replacement leaves, and others where it had better not go, bear a taint "
        "PreferNoSchedule until it is placed; one after the other, and never for a gang."
    )
    taints = True
    requires = False
    one_at_a_time = True

    def ready(self, _declared: Sequence[Scheduler]) -> Problem | None:
        """The account that acts must have the right to taint nodes."""
        if self._port.taints.may_taint():
            return None
        return Problem(code="STR001", message=f"{self._port.account} may not patch nodes")

    def confirm(self) -> Problem | None:
        """A taint is in effect once it is stored."""
        return None

    def lingering_problem(self) -> Problem | None:
        """A taint that was taken off has no effect."""
        return None

    def was_steered(self, move: PastMove) -> bool:
        """Once it is placed."""
        return bool(move.landedOn)

    def inspect_replacement(
        self, _move: PastMove, _steering: PastSteering, _replacement: Pod
    ) -> None:
        """Nothing of it shows in a replacement before it is placed."""

"""Means that add node affinity at admission: the webhook and the admission policy."""

from collections.abc import Sequence

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.node_selection import node_affinity
from rescheduler.kube.pods.steered_affinity import HOSTNAME, PREFERRED, REQUIRED, template_hash
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means_base import Means
from rescheduler.steering.table_writer import TableWriter, no_table
from rescheduler.steering.waiting import PATIENCE, PENDING, seen_in_time


class AdmissionMeans(Means):
    """A means that goes by the table of replacements as a pod is made.

    What is made shows in its affinity whether it was steered. Whether the table is read as it is
    stored now shows in a dry run of an update of it.
    """

    writer = TableWriter
    automatic = True

    def ready(self, _declared: Sequence[Scheduler]) -> Problem | None:
        """There must be a table."""
        return no_table(self._port)

    def confirm(self) -> Problem | None:
        """The API server must show that it reads the table as it is stored now."""
        return seen_in_time(self._port, self._table_problem)

    def _table_problem(self) -> Problem | None:
        if self._port.table.is_read(self.name):
            return None
        said = (
            f"kube-apiserver did not show within {PATIENCE:.0f} s that it reads the table by "
            f"{self.name}"
        )
        return Problem(code="STR002", message=said)

    def lingering_problem(self) -> Problem | None:
        """Where nothing reads the table, nothing steers."""
        problem = self.confirm()
        return None if problem is None or self._port.table.is_read() is None else problem

    def was_steered(self, move: PastMove) -> bool:
        """Once it is made."""
        return bool(move.replacement)

    def inspect_replacement(self, move: PastMove, steering: PastSteering, replacement: Pod) -> None:
        """It must bear the affinity; from now on it may be Pending for a while."""
        steering.put_off(self._port.clock() + PENDING)
        if not steering.open:
            return
        affinity = node_affinity(replacement.spec)
        required = getattr(affinity, REQUIRED)
        terms = list((required.nodeSelectorTerms if required is not None else None) or ())
        terms += [term.preference for term in getattr(affinity, PREFERRED) or ()]
        named = [
            set(expression.values or ())
            for term in terms
            for expression in term.matchExpressions or ()
            if expression.key == HOSTNAME and expression.operator == "In"
        ]
        if not any(set(steering.hostnames) <= values for values in named):
            move.arrive_unsteered(template_hash(replacement.metadata.labels))

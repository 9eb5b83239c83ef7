"""The function of each gate that needs no request; the order is in `model/moves/gates`."""

from collections.abc import Callable, Mapping

from rescheduler.model.problem import Problem
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.gates.drift import same_pod
from rescheduler.planning.gates.kueue_workload import workload_stoppable
from rescheduler.planning.gates.own_state import (
    has_slot,
    not_evicted_before,
    not_refused_before,
    only_entry,
    within_limits,
    workload_rested,
)
from rescheduler.planning.gates.replacement import can_be_distinguished, can_be_listed
from rescheduler.planning.gates.reread_checks import still_allowed

PURE: Mapping[str, Callable[[PodContext], Problem | None]] = {
    "not refused before": not_refused_before,
    "not evicted before": not_evicted_before,
    "slot": has_slot,
    "rested": workload_rested,
    "limits": within_limits,
    "only entry": only_entry,
    "Workload": workload_stoppable,
    "same pod": same_pod,
    "pods can be distinguished": can_be_distinguished,
    "still allowed": still_allowed,
    "pods can be listed": can_be_listed,
}
"""By the name of the gate: why it refuses, or None."""

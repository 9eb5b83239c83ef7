"""Whether a replacement can be distinguished from the other pods of its controller."""

from collections.abc import Iterable

from rescheduler.kube.controllers import selector_text
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.gates.context import PodContext

MOST_KNOWN = 5000
"""Pods of one controller that an intent can remember; one with more is left alone."""


def pods_of_controller(move: PlannedMove, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of the controller that will make the replacement."""
    uid = move.owner.controllerUid or move.owner.uid
    return [pod for pod in pods if pod.controller is not None and pod.controller.uid == uid]


def selector_of_controller(move: PlannedMove, read: Snapshot) -> str:
    """The label selector of that controller; "" where there is none, or it is another one."""
    uid = move.owner.controllerUid or move.owner.uid
    controllers = (controller for controller in read.controllers if controller.metadata.uid == uid)
    return next((selector_text(controller) for controller in controllers), "")


def can_be_distinguished(context: PodContext) -> Problem | None:
    """DRF006: whether its controller has too many pods to remember."""
    if len(pods_of_controller(context.move, context.now.pods)) > MOST_KNOWN:
        said = f"Its controller has more than {MOST_KNOWN} pods, too many to tell apart."
        return problem("DRF006", said)
    return None


def can_be_listed(context: PodContext) -> Problem | None:
    """DRF006: whether the pods of its controller can be listed by a selector."""
    if not selector_of_controller(context.move, context.now):
        return problem("DRF006", "The pods of its controller cannot be listed by a selector.")
    return None

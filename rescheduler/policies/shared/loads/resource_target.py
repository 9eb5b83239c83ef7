"""When a node has too much of a resource: a load with its targets, peaks and past."""

from dataclasses import dataclass

from rescheduler.model.cluster.readings import BoolArray, FloatArray
from rescheduler.policies.shared.loads.load import ResourceLoad


@dataclass(frozen=True, slots=True)
class ResourceTarget:
    """A load with its targets. resource: of one resource the worst load is charged.

    high, low: (nodes,) shares of the node; NaN where it has no target. pressed: (nodes,) whether
    tasks wait for the resource too long, which makes the node hot above `floor`. hidden: (nodes,)
    share of the node that its peaks take beyond its mean; NaN where that is not known.
    ceiling: (nodes,) the share above which a node has too much of it, whatever the others have.
    elsewhere: the share up to which pods may fill a node that has no target of its own.
    heat: (instants, nodes) whether the node was hot in the past; None where that is not known.
    """

    resource: str
    load: ResourceLoad
    high: FloatArray
    low: FloatArray
    pressed: BoolArray
    floor: FloatArray
    hidden: FloatArray
    ceiling: FloatArray
    elsewhere: float
    heat: BoolArray | None = None

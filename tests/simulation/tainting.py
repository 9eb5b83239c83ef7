"""A cluster in which replacements are steered by soft taints, and which nodes bear one of ours."""

from tests.simulation.ground import Ground
from tests.simulation.loads import constant
from tests.simulation.objects import MAINTENANCE, is_ours, taints_of
from tests.simulation.universe import Universe


def favor_the_first(universe: Universe, ground: Ground) -> None:
    """Others request much and use little, so that replacements would come back to the first node,
    unless it is tainted; the last one bears a soft taint of somebody else.
    """
    cluster = universe.cluster
    names = [node["metadata"]["name"] for node in cluster.of("nodes")]
    cluster.add_workload("Deployment", "idle", names[1:], cpu=1.5)
    universe.metrics.loads["idle"] = constant(0.05)
    cluster.objects["nodes", "", names[-1]]["spec"] = {"taints": [MAINTENANCE]}
    ground.maintained.add(names[-1])


def tainted(universe: Universe) -> list[str]:
    """The nodes that bear a taint of ours."""
    nodes = universe.cluster.of("nodes")
    return [node["metadata"]["name"] for node in nodes if any(map(is_ours, taints_of(node)))]

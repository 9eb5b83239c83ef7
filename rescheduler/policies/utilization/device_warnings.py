"""What the term about shared GPUs reports beside its findings: nodes that it leaves alone."""

from collections.abc import Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.problem import Problem
from rescheduler.model.wording import list_names, verb_for
from rescheduler.policies.utilization.shared_gpus import SharedGpus


def device_warnings(
    gpus: SharedGpus, scope: BoolArray, names: Sequence[str]
) -> tuple[Problem, ...]:
    """The nodes of this scope that are left alone, and why. names: of all nodes."""
    reading = gpus.reading
    reasons = (
        ("RDG003", gpus.unknown, f"{reading} is not known of shared GPUs of", "no pod goes there"),
        ("RDG012", gpus.blurred, "nobody reports which pods have which GPU of", "they stay"),
        (
            "RDG010",
            gpus.distrusted,
            f"{reading} of a shared GPU is not explained by its pods on",
            "they stay",
        ),
    )
    return tuple(
        Problem(code, f"{text} {_list_nodes(nodes & scope, names)}; {so}")
        for code, nodes, text, so in reasons
        if (nodes & scope).any()
    )


def passed_over_sentence(nodes: BoolArray, names: Sequence[str], resource: str) -> str:
    """The nodes that all their GPUs together make hot, while one pod has each of these; or ""."""
    if not nodes.any():
        return ""
    are = verb_for(int(nodes.sum()), "is", "are")
    return (
        f"{_list_nodes(nodes, names)} {are} above `high` of {resource}, and one pod has each GPU "
        "there, so that nothing is judged: `wholeDevices: Count` counts such GPUs"
    )


def _list_nodes(nodes: BoolArray, names: Sequence[str]) -> str:
    return list_names([names[node] for node in np.flatnonzero(nodes).tolist()], "node")

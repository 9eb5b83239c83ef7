"""How the conformance kit draws the use of GPUs, and policies for IdleGPUs."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from rescheduler.kube.objects import Container
from rescheduler.model.cluster.readings import instants
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.policies.match import Match
from tests.cluster import NOW, reading


@dataclass(frozen=True)
class Used:
    """What each pod uses of its one GPU, and for how many hours each has run."""

    use: list[float]
    hours: list[int]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with pods that have GPUs."""
        wants = msgspec.convert(
            [{"name": "g", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], list[Container]
        )
        for made, hours in zip(before.pods, self.hours, strict=True):
            made.spec = msgspec.structs.replace(made.spec, containers=wants)
            made.status = msgspec.structs.replace(
                made.status, startTime=NOW - timedelta(hours=hours)
            )
        (request,) = IdleGPUs(name="i", match=Match(all=True), minCoverage=0.0).requests()
        entry = reading("pod.gpu", self.use)
        past = np.tile(entry.values, (len(instants(request.span)), 1))
        entry = replace(entry, request=request, range_samples=past)
        entries = (*before.readings.entries, entry)
        return replace(before, readings=replace(before.readings, entries=entries))


@cache
def used(nodes: int, pods: int) -> st.SearchStrategy[Used]:
    """Idle and busy pods, old and young ones."""
    share = st.sampled_from([0.0, 0.01, 0.5, 1.0, float("nan"), 7.0])
    return st.builds(
        Used,
        st.lists(share, min_size=pods, max_size=pods),
        st.lists(st.sampled_from([1, 9, 9, 9]), min_size=pods, max_size=pods),
    )


def idle_gpus() -> st.SearchStrategy[Policy]:
    """Policies of kind IdleGPUs."""
    everything: Any = {"all": True}
    return st.builds(
        lambda below: IdleGPUs(name="i", match=everything, below=below, minCoverage=0.0),
        st.sampled_from([0.05, 0.6]),
    )

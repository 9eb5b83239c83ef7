"""Running schedulers, and what is read of them."""

from dataclasses import replace
from typing import Any

from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.scheduler.config.default_profile import default_profiles
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import Schedulers, schedulers_of
from tests.cluster import node, snapshot
from tests.policies.scheduler_documents import USUAL, configuration


def cluster(version: str = "v1.36.3", **changed: Any) -> Snapshot:
    made = snapshot([node("a")], [])
    return replace(made, cluster=Cluster(uid="1", version=version), **changed)


def plugins(**points: Any) -> dict[str, Any]:
    """`score={"on": {"A": 3}, "off": ["B"]}` as a profile of the default scheduler."""
    return {
        "plugins": {
            point: {
                "enabled": [{"name": n, "weight": w} for n, w in setting.get("on", {}).items()],
                "disabled": [{"name": name} for name in setting.get("off", ())],
            }
            for point, setting in points.items()
        }
    }


def observed(*profiles: dict[str, Any], **more: Any) -> ObservedScheduler:
    whole = configuration(*profiles, **more.pop("whole", {}))
    found: dict[str, Any] = {"version": "v1.36.3", "gates": {"NodeDeclaredFeatures": True}, **more}
    return ObservedScheduler(url="https://10.0.0.5:10259", configuration=whole, **found)


def complete(name: str = USUAL, **points: Any) -> dict[str, Any]:
    """A profile as /configz reports it: every plugin by name."""
    usual = default_profiles("v1.36.3")[USUAL]
    every = {**dict.fromkeys(sorted(usual.filters), 0), **usual.weights}
    return {"schedulerName": name, **plugins(multiPoint={"on": every}, **points)}


def agreed(reported: ObservedScheduler, *documents: Scheduler) -> Schedulers:
    return schedulers_of(cluster(scheduler=reported), documents)

"""A stage that is ready to steer by the table, and what may be missing there."""

from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields
from tests.fakes.stage import Process, Stage
from tests.fakes.steering import TABLE_KEY
from tests.runtime.skewed import spread

UNSTEERED = SteeringFields(by="None")


def policies(steering: SteeringFields | None, limits: SteeringFields = UNSTEERED) -> PolicySet:
    one = spread().model_copy(update={"steering": steering})
    return policy_set([one], Limits(minReplicas=1, steering=limits), ())


def ready(stage: Stage) -> None:
    stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    stage.world.steers = True


def missing(stage: Stage, what: str) -> Process:
    """The process, on a stage where that is missing."""
    ready(stage)
    process = Process(stage, "one")
    if what == "table":
        del stage.world.objects[TABLE_KEY]
    elif what == "policy":
        stage.world.steers = False
    elif what == "fresh parameter":
        stage.world.frozen = dict(stage.world.objects[TABLE_KEY])
        stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    elif what == "right":
        process.before = lambda _n, _m, path: 403 if "rescheduler-steering" in path else None
    return process


WHAT = ["table", "policy", "fresh parameter", "right"]
NOT_STEERING = ["policy", "fresh parameter"]
"""Of these, where a table is there, so that somebody counts on it."""

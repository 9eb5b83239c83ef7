"""Policies and limits that pack nodes."""

from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.scheduler import Scheduler

FULL_FIRST = Scheduler.model_validate(
    {
        "name": "default-scheduler",
        "disabledScores": ["NodeResourcesBalancedAllocation"],
        "arguments": {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}},
    }
)
LIMITS = Limits(
    margin=0.01,
    gainShare=0.0,
    minReplicas=1,
    movesPerWorkload=10,
    movesPerNode=10,
    inFlightPerWorkload=10,
)

"""Limits that bound nothing."""

from rescheduler.policies.limits import Limits

ROOMY = Limits(
    movesPerCycle=50, movesPerNode=50, movesPerNamespace=50, movesPerWorkload=50,
    movesPerHour=500, inFlightPerWorkload=50, margin=0.01, gainShare=0.0,
)  # fmt: skip

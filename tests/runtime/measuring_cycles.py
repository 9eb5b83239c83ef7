"""Cycles that act, and measure what it gained."""

from dataclasses import replace
from typing import Any

from rescheduler.acting.actor import Actor
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.cycle import Parts
from tests.fakes.stage import START, Process
from tests.runtime.skewed import parts, skewed


def enforcing(process: Process, warned: list[Problem], taken: Any = START) -> Parts:
    def fresh(*_: object) -> Snapshot:
        return replace(skewed(), taken=taken)

    def actor(_: PolicySet) -> Actor:
        return replace(process.actor(), observe=fresh, demoted=warned.append)

    return replace(parts(observe=fresh), actor=actor)

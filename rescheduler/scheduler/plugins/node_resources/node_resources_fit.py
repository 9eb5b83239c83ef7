"""Plugin NodeResourcesFit: a pod needs room, and the emptier (or fuller) node is better."""

from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.nodes.resource_names import is_extended, native
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import FeatureGate, Filter, Plugin, Replacement, Score, ScoreArray
from rescheduler.scheduler.plugins.node_resources.scoring_strategy import scorer
from rescheduler.scheduler.profile import Profile

_DEFAULTED = ("cpu", "memory")
"""Scored with a default where a container requests none; the first rows of Occupancy."""


class NodeResourcesFit(Plugin):
    """Only resources that the pod asks for are compared; a pod that asks for none needs a slot."""

    name: ClassVar[str] = "NodeResourcesFit"
    weight: ClassVar[int] = 1
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("InPlacePodVerticalScaling", 33),
        FeatureGate("SidecarContainers", 0),
        FeatureGate("PodLevelResources", 34),
        FeatureGate("InPlacePodLevelResourcesVerticalScaling", 36),
    )
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, occupancy: Occupancy, profile: Profile) -> None:
        self._occupancy = occupancy
        self._profile = profile
        self._scorer = scorer(profile.strategy)

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """With the arguments of the profile."""
        return cls(handle.occupancy, profile)

    def filter(self, pod: Replacement) -> Filter:
        """The nodes with a free slot and room for every requested resource."""
        requests = [
            request for request in pod.requests.plain.items() if not self._is_ignored(request[0])
        ]
        unknown = any(name not in self._occupancy.index for name, _ in requests)
        rows = [] if unknown else [(self._occupancy.index[name], value) for name, value in requests]
        return partial(self._fits, rows, nowhere=unknown)

    def score(self, pod: Replacement) -> Score:
        """The strategy's resources; an extended one only where the pod asks for it."""
        rows, amounts, weights = [], [], []
        defaulted = {"cpu": pod.requests.cpu, "memory": pod.requests.memory}
        for name, weight in self._profile.strategy.resources:
            amount = defaulted.get(name, pod.requests.plain.get(name, 0))
            row = self._occupancy.index.get(name)
            if row is not None and (amount or native(name)):
                rows.append(row)
                amounts.append([amount])
                weights.append(weight)
        requests = np.array(amounts, dtype=np.int64).reshape(-1, 1)
        if rows == [0, 1]:
            return partial(self._score_defaulted, requests, weights)
        return partial(self._score, rows, requests, weights)

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """Which resources are short, and where there is no slot."""
        state = self._occupancy
        answer: dict[str, BoolArray] = {"Too many pods": state.pods >= state.slots}
        for name, value in pod.requests.plain.items():
            if self._is_ignored(name):
                continue
            row = state.index.get(name)
            short = np.ones(len(state.slots), dtype=np.bool_)
            if row is not None:
                short = state.allocatable[row] - state.requested[row] < value
            answer[f"Insufficient {name}"] = short
        return answer

    def _is_ignored(self, resource: str) -> bool:
        """Whether an argument of the plugin leaves this extended resource out of the filter."""
        if not is_extended(resource):
            return False
        group = resource.partition("/")[0]
        return resource in self._profile.ignored_resources or group in self._profile.ignored_groups

    def _fits(self, rows: list[tuple[int, int]], *, nowhere: bool) -> BoolArray:
        state = self._occupancy
        if nowhere:
            return np.zeros(len(state.slots), dtype=np.bool_)
        answer: BoolArray = state.pods < state.slots
        for row, value in rows:
            answer &= state.allocatable[row] - state.requested[row] >= value
        return answer

    def _score_defaulted(
        self, requested: Int64Array, weights: list[int], nodes: IntArray
    ) -> ScoreArray:
        state = self._occupancy
        return self._scorer(
            state.nonzero[:, nodes] + requested, state.allocatable[:2, nodes], weights
        )

    def _score(
        self, rows: list[int], requested: Int64Array, weights: list[int], nodes: IntArray
    ) -> ScoreArray:
        state = self._occupancy
        used = np.array(
            [
                (state.nonzero if row < len(_DEFAULTED) else state.requested)[row, nodes]
                for row in rows
            ],
            dtype=np.int64,
        ).reshape(len(rows), len(nodes))
        allocatable = state.allocatable[np.array(rows, dtype=np.intp)][:, nodes]
        return self._scorer(used + requested, allocatable, weights)

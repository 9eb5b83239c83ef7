"""Who is where: the mutable part of the model, as arrays over nodes and pods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.nodes.resource_names import is_counted
from rescheduler.kube.objects import Node, Pod
from rescheduler.kube.pods.pod_requests import is_resized, requests_key
from rescheduler.kube.quantity import scheduler_amount
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.requests import Requests, incoming_requests, running_requests


class Occupancy:
    """The nodes' resources, and the node of each pod.

    resources: names of the rows of `allocatable` and `requested`; cpu and memory come first. What
    no node has is none of them: who asks for it fits nowhere, and may name any number of such.
    allocatable, requested: (resources, nodes) in milli for cpu, whole units for the rest.
    nonzero: (2, nodes) requested cpu and memory, with defaults where a container requests none.
    slots, pods: (nodes,) how many pods the node may hold, and how many it holds.
    where: (pods,) the node of each pod, -1 for none. Terminating pods are still there.
    alive: (pods,) the same, but -1 for terminating pods: topology spread does not count them.
    clock, changed: (nodes,) the time of the last lasting change of each node, in moves.
    altered: the node that `remove_pod` has altered for a moment, or -1.
    heard: whether `terminate_pod` and `remove_pod` are in effect, or still `ignore_updates`.
    watchers: called for each pod that comes to a node (1) or leaves it (-1).
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        pods: Sequence[Pod],
        placement: IntArray,
        *,
        pod_level: bool,
        by_sum: bool = False,
        renewed: Mapping[int, Pod] | None = None,
    ) -> None:
        """renewed: the pods whose replacements ask for something else, as these will be."""
        self._pod_level, self._by_sum = pod_level, by_sum
        self._home = placement
        self.where = placement.astype(np.int32, copy=True)
        self.alive = self.where.copy()
        self.clock = 0
        self.changed = np.zeros(len(nodes), dtype=np.int64)
        self.altered = -1
        self.heard = True
        self.watchers: list[Callable[[int, int, int], None]] = []
        self._leaving = np.array(
            [pod.metadata.deletionTimestamp is not None for pod in pods], dtype=np.bool_
        )
        self.alive[self._leaving] = -1
        self._rows: list[Requests] = []
        self._row_of = np.zeros(len(pods), dtype=np.int32)
        by_content = self._number_rows(pods)
        self._renewed = self._renew(renewed or {}, by_content)
        self._next_row_of = self._row_of.copy()
        for number, (_, row) in self._renewed.items():
            self._next_row_of[number] = row
        self.resources = self._names(nodes)
        self.index = {name: row for row, name in enumerate(self.resources)}
        self._amounts = self._table()
        self.allocatable = np.zeros((len(self.resources), len(nodes)), dtype=np.int64)
        self.slots = np.zeros(len(nodes), dtype=np.int64)
        for number, node in enumerate(nodes):
            for name, quantity in (node.status.allocatable or {}).items():
                if name == "pods":
                    self.slots[number] = scheduler_amount(name, quantity)
                elif name in self.index:
                    self.allocatable[self.index[name], number] = scheduler_amount(name, quantity)
        self._fill(len(nodes))

    def _number_rows(self, pods: Sequence[Pod]) -> dict[tuple[object, ...], int]:
        """Number what each pod takes; answers the rows by what they say."""
        by_spec: dict[int, int] = {}
        by_asking: dict[bytes, int] = {}
        by_content: dict[tuple[object, ...], int] = {}
        specials: dict[tuple[int, ...], bool] = {}
        for number, pod in enumerate(pods):
            status, special = pod.status, False
            if status.containerStatuses:
                # What pods have alike is shared, so an id stands for one of each.
                alike = (
                    id(pod.spec),
                    id(status.containerStatuses),
                    id(status.initContainerStatuses),
                    id(status.resources),
                    id(status.allocatedResources),
                )
                if alike not in specials:
                    specials[alike] = is_resized(pod)
                special = specials[alike]
            spec = id(pod.spec)
            if special:
                row = self._row(pod, by_content, special=True)
            elif spec in by_spec:
                row = by_spec[spec]
            else:
                same = requests_key(pod.spec)
                if same not in by_asking:
                    by_asking[same] = self._row(pod, by_content, special=False)
                row = by_spec[spec] = by_asking[same]
            self._row_of[number] = row
        return by_content

    def _row(self, pod: Pod, rows: dict[tuple[object, ...], int], *, special: bool) -> int:
        """The row of what the pod takes. rows: rows by what they say."""
        requests = self._requests(pod, special=special)
        content = (requests.cpu, requests.memory, *sorted(requests.plain.items()))
        row = rows.setdefault(content, len(self._rows))
        if row == len(self._rows):
            self._rows.append(requests)
        return row

    def _renew(
        self, renewed: Mapping[int, Pod], by_content: dict[tuple[object, ...], int]
    ) -> dict[int, tuple[int, int]]:
        """Pod to the rows of what it takes at home and of what its replacement takes elsewhere."""
        rows: dict[int, int] = {}
        answer = {}
        for number, pod in renewed.items():
            spec = id(pod.spec)  # which the snapshot keeps alive
            if spec not in rows:
                rows[spec] = self._row(pod, by_content, special=False)
            answer[number] = (int(self._row_of[number]), rows[spec])
        return answer

    def _requests(self, pod: Pod, *, special: bool) -> Requests:
        if special:
            return running_requests(pod, pod_level=self._pod_level, by_sum=self._by_sum)
        return running_requests(Pod(spec=pod.spec), pod_level=self._pod_level)

    def _names(self, nodes: Sequence[Node]) -> list[str]:
        names = {name for node in nodes for name in node.status.allocatable or {}}
        names -= {"pods", "cpu", "memory"}
        return ["cpu", "memory", *sorted(name for name in names if is_counted(name))]

    def _table(self) -> Int64Array:
        """(resources + 2, rows) what each distinct kind of pod takes; the last two are non-zero."""
        table = np.zeros((len(self.resources) + 2, len(self._rows)), dtype=np.int64)
        for column, row in enumerate(self._rows):
            for name, amount in row.plain.items():
                if name in self.index:
                    table[self.index[name], column] = amount
            table[-2:, column] = (row.cpu, row.memory)
        return table

    def _fill(self, nodes: int) -> None:
        bound = np.flatnonzero(self.where >= 0)
        at = self.where[bound]
        rows = self._row_of[bound]
        self.requested = np.zeros((len(self.resources), nodes), dtype=np.int64)
        self.nonzero = np.zeros((2, nodes), dtype=np.int64)
        for resource in range(len(self.resources)):
            taken = self._amounts[resource]
            if taken.any():
                np.add.at(self.requested[resource], at, taken[rows])
        for resource in range(2):
            np.add.at(self.nonzero[resource], at, self._amounts[resource - 2][rows])
        self.pods = np.bincount(at, minlength=nodes).astype(np.int64)

    def replacement_requests(self, pod: Pod) -> Requests:
        """What the replacement of this pod asks for."""
        return incoming_requests(pod.spec, pod_level=self._pod_level)

    def taken_amounts(self, row: int, pods: IntArray) -> Int64Array:
        """(k,) what each of these bound pods takes of the resource in that row."""
        amounts: Int64Array = self._amounts[row, self._row_of[pods]]
        return amounts

    def replacement_amounts(self, row: int, pods: IntArray) -> Int64Array:
        """(k,) what the replacement of each of these pods takes of the resource in that row."""
        amounts: Int64Array = self._amounts[row, self._next_row_of[pods]]
        return amounts

    def move(self, shift: Shift) -> None:
        """Move a pod for good: off its source, onto its destination; -1 is no node."""
        self.clock += 1
        for node, sign in ((shift.source, -1), (shift.destination, 1)):
            if sign > 0 and shift.pod in self._renewed:
                self._renew_row(shift)
            if node >= 0:
                self._take(shift.pod, node, sign)
                self.changed[node] = self.clock
        self.where[shift.pod] = shift.destination
        if not self._leaving[shift.pod]:
            self.alive[shift.pod] = shift.destination

    def _renew_row(self, shift: Shift) -> None:
        """Let a pod take elsewhere what its replacement takes.

        One that comes back to its node is renewed there; the same shift once more undoes that.
        """
        original, renewed = self._renewed[shift.pod]
        if shift.source == shift.destination:
            moved = int(self._row_of[shift.pod]) == original
        else:
            moved = shift.destination != int(self._home[shift.pod])
        self._row_of[shift.pod] = renewed if moved else original

    @contextmanager
    def terminate_pod(self, pod: int) -> Iterator[None]:
        """The state in which a pod is being deleted, but still holds what it has."""
        before = self.alive[pod]
        if self.heard:
            self.alive[pod] = -1
        try:
            yield
        finally:
            self.alive[pod] = before

    @contextmanager
    def ignore_updates(self) -> Iterator[None]:
        """The state in which nobody has heard the latest of a pod.

        One that is being deleted seems to stay, and one that is gone seems to be being deleted.
        """
        before, self.heard = self.heard, False
        try:
            yield
        finally:
            self.heard = before

    @contextmanager
    def remove_pod(self, pod: int) -> Iterator[None]:
        """The state in which a pod is gone."""
        node, before = int(self.where[pod]) if self.heard else -1, self.alive[pod]
        if node >= 0:
            self._take(pod, node, -1)
            self.altered = node
            self.where[pod] = -1
        self.alive[pod] = -1
        try:
            yield
        finally:
            if node >= 0:
                self._take(pod, node, 1)
                self.altered = -1
                self.where[pod] = node
            self.alive[pod] = before

    @contextmanager
    def place_pods(self, pods: IntArray, node: int) -> Iterator[None]:
        """The state in which these unbound pods are on that node."""
        for pod in pods.tolist():
            self._take(pod, node, 1)
            self.where[pod] = self.alive[pod] = node
        try:
            yield
        finally:
            for pod in pods.tolist():
                self._take(pod, node, -1)
                self.where[pod] = self.alive[pod] = -1

    def amounts_of(self, pods: IntArray, row: int) -> Int64Array:
        """What each of these pods takes of that resource, by its row."""
        answer: Int64Array = self._amounts[row, self._row_of[pods]]
        return answer

    def _take(self, pod: int, node: int, sign: int) -> None:
        amounts = self._amounts[:, self._row_of[pod]] * sign
        self.requested[:, node] += amounts[:-2]
        self.nonzero[:, node] += amounts[-2:]
        self.pods[node] += sign
        for watch in self.watchers:
            watch(pod, node, sign)

    def nodes_of(self, pods: IntArray) -> IntArray:
        """The nodes of those of these pods that are on one."""
        nodes: IntArray = self.where[pods]
        return nodes[nodes >= 0]

    def live_nodes_of(self, pods: IntArray) -> IntArray:
        """The nodes of those of these pods that are on one and not terminating."""
        nodes: IntArray = self.alive[pods]
        return nodes[nodes >= 0]

    def nodes_with_pods(self, pods: IntArray, nodes: int) -> BoolArray:
        """(nodes,) the nodes that hold any of these pods."""
        answer = np.zeros(nodes, dtype=np.bool_)
        answer[self.nodes_of(pods)] = True
        return answer

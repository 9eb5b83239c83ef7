"""The kubelets of a snapshot's nodes, and which of them would refuse a pod."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.kubelet.pod_admission import Managers, admit_pod
from rescheduler.kubelet.pod_wants import PodWants, pod_wants
from rescheduler.kubelet.reported_managers import Resident, possible
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot

_ADMITTING = frozenset({"", "none", "best-effort"})
"""Policies that admit whatever the hints are; kubelet's own default is `none`. Of these kubelets
only the memory manager refuses, and rarely: nothing certain being known of them is no obstacle."""

_NO_VERDICT = -1


class KubeletStates:
    """What each kubelet has to give, as far as the objects tell.

    policies: of each node, kubelet's topology manager policy; "" where no object names it. Nodes
    are looked at when they are first needed.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._topologies = {
            snapshot.node_index[topology.metadata.name]: topology
            for topology in snapshot.topologies
            if topology.metadata.name in snapshot.node_index
        }
        self.policies = [""] * len(snapshot.nodes)
        for node, topology in self._topologies.items():
            self.policies[node] = topology.kubelet[0]
        self._order = np.argsort(snapshot.pod_node, kind="stable")
        self._wants: dict[int, PodWants] = {}
        self._states: dict[int, list[Managers]] = {}
        self.odd: dict[int, str] = {}
        """Why nothing certain is known of nodes that were looked at and have an object."""
        self._verdicts: dict[int, NDArray[np.int8]] = {}

    def wants(self, pod: int) -> PodWants:
        """What a pod of the snapshot has wanted from its kubelet."""
        return self._wants_of(self._snapshot.pods[pod].spec)

    def next_wants(self, pod: int) -> PodWants:
        """What the replacement of that pod will want."""
        return self._wants_of(self._snapshot.next_pods.replacement(pod).spec)

    def _wants_of(self, spec: PodSpec) -> PodWants:
        # The snapshot keeps every spec alive, so an id means one spec.
        if id(spec) not in self._wants:
            self._wants[id(spec)] = pod_wants(spec)
        return self._wants[id(spec)]

    def doubtful(self, node: int) -> bool:
        """Whether nothing certain is known of a node that has a NodeResourceTopology."""
        return not self._states_of(node) and node in self.odd

    def refuses(
        self,
        pod: int,
        node: int,
        guests: Iterable[int] = (),
        given_back: Mapping[str, list[int]] | None = None,
    ) -> bool:
        """Whether the node's kubelet would or may refuse the pod.

        guests: who came before it, in their order. given_back: resource to what pods that left had,
        by zone. A kubelet that refuses what it cannot align counts as one that would, if nothing
        certain is known of it: a refused pod is created again at once, perhaps for ever.
        """
        wants = self.next_wants(pod)
        if not wants.any or node not in self._topologies:
            return False
        states = self._states_of(node)
        if not states:
            return self.policies[node] not in _ADMITTING
        return any(
            admit_pod(self._state_after(manager, guests, given_back or {}), wants) is None
            for manager in states
        )

    def refusals(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether each node's kubelet would or may refuse the pod if no pod had moved."""
        number = id(self.next_wants(pod))
        if number not in self._verdicts:
            self._verdicts[number] = np.full(len(self.policies), _NO_VERDICT, dtype=np.int8)
        verdicts = self._verdicts[number]
        for node in nodes[verdicts[nodes] == _NO_VERDICT].tolist():
            verdicts[node] = self.refuses(pod, node)
        return np.asarray(verdicts[nodes] == 1, dtype=np.bool_)

    def _state_after(
        self, state: Managers, guests: Iterable[int], given_back: Mapping[str, list[int]]
    ) -> Managers:
        if given_back:
            state = state.copy()
            for name, amounts in given_back.items():
                state.give_back(name, amounts)
        for guest in guests:
            state = admit_pod(state, self.next_wants(guest)) or state
        return state

    def _states_of(self, node: int) -> list[Managers]:
        if node not in self._states:
            self._states[node] = []
            first, last = np.searchsorted(
                self._snapshot.pod_node, [node, node + 1], sorter=self._order
            )
            rows = self._order[first:last].tolist()
            residents = [
                Resident(self.wants(row), _is_initialized(self._snapshot.pods[row])) for row in rows
            ]
            try:
                self._states[node] = possible(
                    self._topologies[node], self._snapshot.nodes[node], residents
                )
            except ValueError as error:  # an UnknownStateError, or a quantity that is none
                self.odd[node] = str(error)
        return self._states[node]


def _is_initialized(pod: Pod) -> bool:
    """Whether its init containers have ended."""
    initialized = [
        condition for condition in pod.status.conditions or () if condition.type == "Initialized"
    ]
    return pod.status.phase != "Pending" and all(
        condition.status == "True" for condition in initialized
    )

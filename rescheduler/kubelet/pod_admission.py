"""Whether one kubelet admits a pod, and what it has left then: the topology manager's Admit.

Source: pkg/kubelet/cm/topologymanager/scope_*.go; the managers are called in the
order of pkg/kubelet/cm/container_manager_linux.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rescheduler.kubelet.hints import Hint, Hints, merge_hints
from rescheduler.kubelet.managers import AdmissionError, MemoryZones, Pool
from rescheduler.kubelet.pod_wants import PodWants, Wants


@dataclass
class Managers:
    """What the managers of one kubelet have to give.

    zones: how many the machine has. policy, scope: of the topology manager. cpus, memory: None
    where that manager does not pin. devices: by resource, those that lie near some zone. dead: the
    resources whose devices are all out of order: who names one is refused, even for none of it.
    """

    zones: int
    policy: str
    scope: str
    cpus: Pool | None
    memory: MemoryZones | None
    devices: dict[str, Pool]
    dead: frozenset[str] = frozenset()

    def copy(self) -> "Managers":
        """The same, for another try."""
        return Managers(
            self.zones,
            self.policy,
            self.scope,
            self.cpus.copy() if self.cpus else None,
            self.memory.copy() if self.memory else None,
            {name: pool.copy() for name, pool in self.devices.items()},
            self.dead,
        )

    def give_back(self, name: str, amounts: Sequence[int]) -> None:
        """A pod left that had so much of a resource in each zone."""
        pool = self.cpus if name == "cpu" else self.devices.get(name)
        memory = self.memory.free.get(name) if self.memory else None
        free = pool.free if pool else memory or []
        for zone in range(len(free)):
            free[zone] += amounts[zone]


def admit_pod(before: Managers, pod: PodWants) -> Managers | None:
    """What is left once the pod is admitted; None where it is refused."""
    managers = before.copy()
    try:
        return managers if _admit(managers, pod) else None
    except AdmissionError:
        return None


def _admit(managers: Managers, pod: PodWants) -> bool:
    whole = Hint(None, preferred=False) if managers.policy == "none" else None
    if whole is None and managers.scope == "pod":
        whole, good = _best_hint(managers, pod.whole)
        if not good:
            return False
    for step in pod.steps:
        hint = whole
        if hint is None:
            hint, good = _best_hint(managers, step.wants)
            if not good:
                return False
        _allocate(managers, step.wants, hint, ends=step.ends)
    return True


def _best_hint(managers: Managers, wants: Wants) -> tuple[Hint, bool]:
    hints: list[Hints] = [
        managers.devices[name].hints(count)
        for name, count in wants.devices.items()
        if name in managers.devices
    ]
    if managers.cpus and wants.cpus:
        hints.append(managers.cpus.hints(wants.cpus))
    if managers.memory and wants.memory:
        # Where no zones hold it the list is empty, which says nothing: Allocate refuses later.
        hints += [hint for hint in [managers.memory.hints(wants.memory)] if hint]
    return merge_hints(hints, managers.policy, (1 << managers.zones) - 1)


def _allocate(managers: Managers, wants: Wants, hint: Hint, *, ends: bool) -> None:
    if managers.dead & wants.devices.keys():
        raise AdmissionError
    for name, count in wants.devices.items():
        if name in managers.devices:
            managers.devices[name].take(count, hint.mask, ends=ends, packed=False)
    if managers.cpus and wants.cpus:
        managers.cpus.take(wants.cpus, hint.mask, ends=ends, packed=True)
    if managers.memory and wants.memory:
        managers.memory.take(wants.memory, hint, ends=ends)

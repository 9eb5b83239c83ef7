"""What is requested of kubelet's CPU, memory and device managers, by container.

Source: pkg/kubelet/cm/{cpumanager,memorymanager}/policy_static.go and devicemanager/manager.go,
with kubelet's default feature gates (PodLevelResourceManagers is off).
"""

from dataclasses import dataclass

from rescheduler.kube.nodes.resource_names import HUGE_PAGES
from rescheduler.kube.objects import Container, PodSpec
from rescheduler.kube.pods.containers import all_containers, long_running, restartable
from rescheduler.kube.pods.pod_requests import (
    Amounts,
    aggregate_containers,
    amounts,
    container_requests,
)
from rescheduler.kube.pods.qos import is_guaranteed
from rescheduler.kube.quantity import NANO

_NOT_A_DEVICE = frozenset({"cpu", "memory", "ephemeral-storage"})


@dataclass(frozen=True, slots=True)
class Wants:
    """Exclusive CPUs, bytes of memory and huge pages, devices: each by its resource's name.

    A device that is requested zero times takes part all the same, as kubelet has it.
    """

    cpus: int
    memory: dict[str, int]
    devices: dict[str, int]


@dataclass(frozen=True, slots=True)
class ContainerStep:
    """A container in the order in which kubelet gives it what it wants.

    ends: whether it is an init container whose share the later ones of the pod take over.
    """

    wants: Wants
    ends: bool


@dataclass(frozen=True, slots=True)
class PodWants:
    """steps: each container. whole: the pod at once. lasting: what the containers that stay hold.

    held: what is not given to others while the pod lives, ended init containers' share included.
    odd_cpus: that it may hold, where a container does not get the very CPUs that an init container
    leaves: kubelet gives an odd one whose sibling is in use, and an even number as cores.
    most_cpus: that it may hold if nothing were left to anybody, as where they lie in other zones.
    """

    steps: tuple[ContainerStep, ...]
    whole: Wants
    lasting: Wants
    held: Wants
    odd_cpus: int
    most_cpus: int

    @property
    def any(self) -> bool:
        """Whether a manager looks at it at all."""
        return bool(self.held.cpus or self.held.memory or self.held.devices)


def pod_wants(spec: PodSpec) -> PodWants:
    """What a pod of this spec wants. Of pods with pod-level resources, devices alone are given."""
    pinned = spec.resources is None and is_guaranteed(spec)

    def wanted_amounts(container: Container) -> Amounts:
        return {
            name: amount
            for name, amount in amounts(container_requests(container)).items()
            if _device(name) or (pinned and (name != "cpu" or amount % NANO == 0))
        }

    steps = tuple(
        ContainerStep(
            _wants(wanted_amounts(container)),
            ends=not restartable(container) and number < len(inits),
        )
        for inits in [spec.initContainers or ()]
        for number, container in enumerate(all_containers(spec))
    )
    held = _wants(aggregate_containers(spec, wanted_amounts))
    lasting: Amounts = {}
    for container in long_running(spec):
        for name, amount in wanted_amounts(container).items():
            lasting[name] = lasting.get(name, 0) + amount
    # Of huge pages and memory, the pod's own hint counts what its containers ask for.
    own = {name for container in spec.containers for name in wanted_amounts(container)}
    whole = Wants(
        held.cpus, {name: size for name, size in held.memory.items() if name in own}, held.devices
    )
    return PodWants(
        steps,
        whole,
        _wants(lasting),
        held,
        _odd_cpus(steps, held.cpus),
        sum(step.wants.cpus for step in steps),
    )


def _odd_cpus(steps: tuple[ContainerStep, ...], held: int) -> int:
    """One more where some containers want odd and some even numbers: see PodWants."""
    sizes = [step.wants.cpus for step in steps if step.wants.cpus]
    ended = any(step.ends and step.wants.cpus for step in steps)
    return held + (ended and len({size % 2 for size in sizes}) > 1)


def _wants(requested: Amounts) -> Wants:
    units = {name: -(-amount // NANO) for name, amount in requested.items()}
    return Wants(
        units.get("cpu", 0),
        {name: n for name, n in units.items() if name == "memory" or name.startswith(HUGE_PAGES)},
        {name: n for name, n in units.items() if _device(name)},
    )


def _device(name: str) -> bool:
    return name not in _NOT_A_DEVICE and not name.startswith(HUGE_PAGES)

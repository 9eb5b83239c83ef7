"""What a cycle itself stands on, as far as its settings tell."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A host that a cycle asks. namespace: where a name without one is looked up.

    purpose: what answers there, as people name it.
    """

    host: str
    namespace: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The addresses that a cycle asks, and the pod that it runs in, if it does in one."""

    addresses: tuple[Address, ...] = ()
    namespace: str = ""
    pod: str = ""

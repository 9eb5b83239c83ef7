"""The addresses and the pod that a cycle depends on, by its settings."""

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

"""Plugin NodeName: a pod that names its node goes there alone."""

from typing import ClassVar, Self

from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.profile import Profile


class NodeName(Plugin):
    """A pod that its controller makes names no node, so it rejects nothing here."""

    name: ClassVar[str] = "NodeName"
    rejection: ClassVar[str] = "node(s) didn't match the requested node name"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True
    needs_pre_filter: ClassVar[bool] = False

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """It reads the pod alone."""
        return cls()

    def filter(self, pod: Replacement) -> Filter | None:  # noqa: ARG002
        """All nodes."""
        return None

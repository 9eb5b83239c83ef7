"""The faults of the rescheduler, in one tree.

    ReschedulerError
    ├── PolicyError            a policy file cannot be used
    ├── SettingsError          an option, URL or kubeconfig cannot be used
    ├── OutputError            the result cannot be written
    ├── NotFound               a pod or node that was named is not in the cluster
    ├── SourceError            something we read from failed
    │   ├── ClusterUnavailable     the API server cannot be read
    │   │   └── ObjectUnreadable       one object cannot be decoded, or may not be read; others can
    │   │       └── ObjectLate             what belongs to it does not come in time
    │   ├── MetricsUnavailable     Prometheus cannot be read
    │   ├── SnapshotUnreadable     a recorded snapshot cannot be used
    │   └── TrailUnreadable        there is no audit trail where one was named
    ├── PlanError              a plan file cannot be applied
    │   ├── PlanUnreadable         not a plan of this schema
    │   ├── PlanForeign            made for another cluster
    │   ├── PlanExpired            too old
    │   └── PlanDrifted            the cluster is no longer the one that was planned for
    └── ActionError            acting had to stop
        ├── TrailUnwritable        the audit trail cannot be written
        ├── RightMissing           the API server refuses what we have no right to
        ├── LockHeld               somebody else holds the lock
        ├── LockLost               the lock went away while acting
        ├── ImpossibleEvent        the record of a move cannot be what it is: a defect
        └── LedgerUnreadable       the durable state cannot be trusted
            └── LedgerFull             it has no room for what is to be written

Expected outcomes (a refused pod, a blocked eviction, a reading without data) are values with a
reason code and never pass through here.
"""

from typing import ClassVar, NamedTuple


class ReschedulerError(Exception):
    """A fault, reported in two lines: what happened with names and values, and what may help.

    Args:
        message: what happened, naming the thing and its value.
        hint: advice, without the leading "Maybe".
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  Maybe {self.hint}" if self.hint else self.message

    @property
    def sentence(self) -> str:
        """The fault in one line, for where it is reported as part of something else."""
        return f"{self.message}. Maybe {self.hint}" if self.hint else self.message


class ProblemLocation(NamedTuple):
    """Where in a file something is wrong. line, column: from 1. message: without the place."""

    file: str
    line: int
    column: int
    message: str


class PolicyError(ReschedulerError):
    """A policy file cannot be used; the message holds every problem, each as file:line:column.

    places: the same problems one by one, for machines; none where it is about no line of a file.
    """

    exit_code = 2

    def __init__(
        self, message: str, hint: str = "", places: tuple[ProblemLocation, ...] = ()
    ) -> None:
        super().__init__(message, hint)
        self.places = places


class SettingsError(ReschedulerError):
    """An option, an address or a credential cannot be used."""

    exit_code = 2


class OutputError(ReschedulerError):
    """The result cannot be written; what it is the result of was done all the same."""

    exit_code = 6


class NotFound(ReschedulerError):
    """A pod or node that was named is not in the cluster."""


class SourceError(ReschedulerError):
    """Something we read from failed."""


class ClusterUnavailable(SourceError):
    """The Kubernetes API server cannot be read."""


class ObjectUnreadable(ClusterUnavailable):
    """It does not serve the kind, refuses this one object, or it is not as we know its kind."""


class ObjectLate(ObjectUnreadable):
    """The API server answers, but what belongs to this one object was not read in time."""


class MetricsUnavailable(SourceError):
    """Prometheus cannot be read."""


class SnapshotUnreadable(SourceError):
    """A recorded snapshot cannot be used."""

    exit_code = 2


class TrailUnreadable(SourceError):
    """There is no audit trail where one was named."""

    exit_code = 2


class PlanError(ReschedulerError):
    """A plan file cannot be applied."""

    exit_code = 5


class PlanUnreadable(PlanError):
    """The file is not a plan of a schema that this version knows."""

    exit_code = 2


class PlanEdited(PlanError):
    """The file is not as it was written."""


class PlanNotApproved(PlanError):
    """The plan is another than the one that was approved."""


class PlanForeign(PlanError):
    """The plan was made for another cluster."""


class PlanExpired(PlanError):
    """The plan is older than it may be."""


class PlanDrifted(PlanError):
    """The cluster is no longer the one that the plan was made for."""


class ActionError(ReschedulerError):
    """Acting had to stop."""


class TrailUnwritable(ActionError):
    """The requested audit trail cannot be written, so nothing may be evicted."""


class RightMissing(ActionError):
    """The API server refuses a request that we have no right to."""


class LockHeld(ActionError):
    """Another instance holds the lock; nothing was done."""

    exit_code = 0


class LockLost(ActionError):
    """The lock went away while acting; nothing more was sent."""


class ClocksDiffer(ActionError):
    """The time is not reliable, so no budget can be computed and nothing may be evicted."""


class LedgerUnreadable(ActionError):
    """The durable state cannot be trusted, so nothing may be evicted."""


class LedgerFull(LedgerUnreadable):
    """The durable state has no room; what is stored is as it was."""


class ImpossibleEvent(ActionError):
    """Something happened to a move in a state in which it cannot: nothing of it was changed."""

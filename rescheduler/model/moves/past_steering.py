"""How the replacement of a past move was steered, as the ledger keeps it."""

from datetime import datetime

import msgspec

from rescheduler.model.moves.steering_entry import Strength


class PastSteering(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How the replacement of a move was steered; the fields of its `SteeringEntry` in the table.

    by: the name of the means. until: when its entry is taken out at the latest, and from when on a
    replacement that is required to go there may not be Pending any more. open: whether the entry
    may be in the table. missed: whether the replacement came without the affinity that it was to
    get. freed: whether it stayed Pending and was evicted, for its controller to create it again.
    shunned: the nodes that may bear a taint for it instead of an entry.
    """

    by: str
    strength: Strength
    hostnames: list[str]
    shunned: list[str] = []
    template: str = ""
    name: str = ""
    until: datetime
    open: bool = True
    missed: bool = False
    freed: bool = False

    def open_entry(self) -> None:
        """Its entry may be in the table from now on."""
        self.open = True

    def name_nodes(self, hostnames: list[str]) -> None:
        """It is steered to these nodes, as others of its controller are: pods are fungible."""
        self.hostnames = hostnames

    def put_off(self, until: datetime) -> None:
        """It is steered, or may be Pending, until then."""
        self.until = until

    def close_entry(self, *, again: bool) -> None:
        """Its entry was taken out. again: whether the move may be tried once more."""
        self.open = False
        if not again:
            self.hostnames, self.shunned = [], []

    def free(self) -> None:
        """Its replacement stayed Pending and was evicted, for another that nothing steers."""
        self.freed = True

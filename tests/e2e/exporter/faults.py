"""What can go wrong with metrics, switchable while the exporter runs."""

from typing import Literal

import msgspec

NODE_EXPORTER = "node-exporter"
DCGM_EXPORTER = "nvidia-dcgm-exporter"
KUBELET = "kubelet"
STATE_METRICS = "kube-state-metrics"
JOBS = (NODE_EXPORTER, DCGM_EXPORTER, KUBELET, STATE_METRICS)


class Faults(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One set of faults; the default is a healthy exporter.

    jobs: which of JOBS the faults befall (none named: all of them).
    target: `error` answers 500, `closed` hangs up without an answer, `hang` answers nothing until
        the scrape gives up, `empty` answers an empty page. The scrape fails in all but the last.
    explicit_timestamps: every sample carries the time of its page, as cAdvisor's do. Prometheus
        then sees no end of a series that vanishes, and it stays readable for five minutes.
    age: seconds that the samples' own timestamps lie in the past. Set it before the first scrape:
        Prometheus refuses samples that are older than those it has.
    frozen: the page stays as it was when the fault came. With explicit timestamps its samples
        grow old; without them the values are stuck and seem fresh.
    not_a_number: families (by prefix) whose values read NaN.
    duplicated: factor of a second copy of each node's series under another exporter pod, as 0.2;
        0 is no copy.
    missing_nodes: nodes without any series.
    missing_share: share of the nodes, 0-1, the last by name, that have no series either.
    hidden: families (by prefix) that are not served.
    zero: families (by prefix) whose values all drop to 0 at once.
    hostname_label: how dcgm-exporter spells the node's name: `Hostname`, newer ones `hostname`.
    """

    jobs: tuple[str, ...] = ()
    target: Literal["up", "error", "closed", "hang", "empty"] = "up"
    explicit_timestamps: bool = False
    age: float = 0.0
    frozen: bool = False
    not_a_number: tuple[str, ...] = ()
    duplicated: float = 0.0
    missing_nodes: tuple[str, ...] = ()
    missing_share: float = 0.0
    hidden: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    hostname_label: str = "Hostname"

    def of(self, job: str) -> "Faults":
        """The faults that befall one job."""
        return self if not self.jobs or job in self.jobs else HEALTHY


HEALTHY = Faults()

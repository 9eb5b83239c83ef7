"""What a named reading is made of; the catalogue's entries are written with it."""

from dataclasses import dataclass
from typing import Literal

GPU = "GPUs"
"""What stands for all resources that count accelerators, whoever made them."""

GPU_KEY = (
    "cluster,job,instance,namespace,pod,node,Hostname,hostname,UUID,uuid,gpu,GPU_I_ID,GPU_I_PROFILE"
)
"""Labels that distinguish a device, or a partition of it, from all others."""
GPU_DEVICE = GPU_KEY.replace("namespace,pod,", "")
"""The same without those that may be the pod's, where labels are honored, and change with it."""
OWNER = "exported_namespace,exported_pod,pod_namespace,pod_name"
"""Labels that may name the pod that has a device, where `namespace` and `pod` are the exporter's;
the last two are those of dcgm-exporter's `--use-old-namespace`."""
GPU_POD_KEY = f"{GPU_KEY},{OWNER}"
"""Besides, those of the pod that has it."""
LINKS = "(en[abcdopsuvxP]|eth|bond|ib).*"
"""The node's own links, as systemd.net-naming-scheme(7) or the kernel names them; never those of
pods, such as the `eni...` of Amazon's CNI."""

Fold = Literal["single", "worst", "gpu", "gpu-memory", "link", "pod-gpu"]


@dataclass(frozen=True, slots=True)
class Source:
    """One way to a reading.

    value: its query; where `weight` is given, the sum of the samples, and `weight` their number.
    fresh: the query for the time of the newest sample, with the labels of `value`; for pods one
    row a node instead. "" where the value vanishes with its series.
    scale: what a value is multiplied with. per_capacity: whether it is divided by the node's
    capacity. maker: of which accelerators it is, "" for readings of anything else.
    """

    value: str
    fresh: str = ""
    weight: str = ""
    scale: float = 1.0
    per_capacity: bool = False
    maker: str = ""


def growth_of_devices(metric: str, key: str, device: str) -> str:
    """How much a counter of each device has grown in the window, whichever pods had the device.

    A pod that ends with the error takes its series along, and the next one begins with the error:
    so what is now is compared with the least of the device. Where the counter was reset only
    `increase` shows what was before. device: labels of `key` that do not change with the pod.
    """
    series = f"{metric}{{$match}}"
    least = f"min by ({device}) (min_over_time({series}[$window]))"
    above = f"max by ({key}) ({series}) - on ({device}) group_left () {least}"
    grown = f"max by ({key}) (increase({series}[$window]))"
    return f"({grown} > {above}) or ({above}) or {grown}"


def gauge_of_devices(metric: str, key: str, scale: float, maker: str, only: str = "") -> Source:
    """The samples of the window of each series that `key` distinguishes. only: a matcher.

    A device whose pod changes has two series in one window; their sums and numbers of samples give
    its average over time.
    """
    series = f"{metric}{{$match {only}}}" if only else f"{metric}{{$match}}"
    return Source(
        value=f"sum by ({key}) (sum_over_time({series}[$window]))",
        weight=f"sum by ({key}) (count_over_time({series}[$window]))",
        fresh=f"max by ({key}) (timestamp({series}))",
        scale=scale,
        maker=maker,
    )


@dataclass(frozen=True, slots=True)
class Definition:
    """A named reading.

    unit: of the reading's values. highest: the largest legal value of one row, 0 is the smallest.
    fold: how rows become one value a node or pod. sources: in order of preference. beside: what
    the fold needs besides: the memory that is free, or the speed of a link.
    resource: the resource of a node's status that its capacity comes from, "" where it is
    measured. rate: whether young pods would read too low. only: which subjects have such a value.
    holders: the query for the newest sample of each device and pod that has it, or "".
    """

    name: str
    unit: str
    highest: float
    fold: Fold
    sources: tuple[Source, ...]
    beside: tuple[Source, ...] = ()
    resource: str = ""
    rate: bool = False
    only: Literal["all", "gpu", "own-network", "rdma"] = "all"
    holders: str = ""


def fill(template: str, window: float, match: str) -> str:
    """The query of a template. window: seconds. match: matchers with a trailing comma, or "".

    `$step` is a tenth of the window, and `$span` two of them: for quantiles over many short rates.
    """
    spans = {"$window": window, "$step": window / 10, "$span": window / 5}
    for name, seconds in spans.items():
        template = template.replace(name, _span(seconds))
    # A brace that is left with nothing but the matchers' trailing comma is valid PromQL.
    return template.replace("$match ", match).replace("$match", match)


def _span(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"

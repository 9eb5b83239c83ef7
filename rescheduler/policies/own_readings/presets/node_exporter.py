"""What node_exporter tells beside the built-in readings: disks, temperature, tables that fill up.

The queries keep the labels that name the node, whatever they are in a cluster.
"""

from rescheduler.policies.own_readings.definition import OwnReading, ReadingLabels

_DISKS = 'device=~"nvme.+|sd.+|vd.+|xvd.+"'
_FILES = 'fstype!~"tmpfs|ramfs|overlay|squashfs|iso9660|nsfs|fuse.*",mountpoint!~"/run.*|/var/lib/kubelet/pods.*"'  # noqa: E501 - one matcher
_TIME = "rate(node_time_seconds{$match}[$window])"
_CELSIUS = "node_hwmon_temp_celsius{$match}"


def _pressure(what: str) -> OwnReading:
    metric = f"node_pressure_{what}_seconds_total{{$match}}"
    return OwnReading(
        value=f"rate({metric}[$window]) / {_TIME}",
        fresh=f"timestamp({metric})",
        unit="ratio",
        highest=1.0,
    )


NODE_EXPORTER: dict[str, OwnReading] = {
    "node.disk.busy": OwnReading(
        value=f"rate(node_disk_io_time_seconds_total{{$match {_DISKS}}}[$window])"
        f" / ignoring (device) group_left () {_TIME}",
        fresh=f"timestamp(node_disk_io_time_seconds_total{{$match {_DISKS}}})",
        unit="ratio",
        labels=ReadingLabels(device="device"),
    ),
    "node.disk.space": OwnReading(
        value=f"1 - node_filesystem_avail_bytes{{$match {_FILES}}}"
        f" / node_filesystem_size_bytes{{$match {_FILES}}}",
        fresh=f"timestamp(node_filesystem_avail_bytes{{$match {_FILES}}})",
        unit="ratio",
        labels=ReadingLabels(device="mountpoint"),
    ),
    "node.io.pressure": _pressure("io_stalled"),
    "node.conntrack": OwnReading(
        value="node_nf_conntrack_entries{$match} / node_nf_conntrack_entries_limit{$match}",
        fresh="timestamp(node_nf_conntrack_entries{$match})",
        unit="ratio",
    ),
    "node.load": OwnReading(
        value="avg_over_time(node_load1{$match}[$window])"
        ' / count without (cpu,mode) (node_cpu_seconds_total{$match mode="idle"})',
        fresh="timestamp(node_load1{$match})",
        # Of the CPUs: more tasks may wait than there are CPUs, so this is no capacity.
        unit="ratio",
        highest=1e4,
    ),
    "node.temperature": OwnReading(
        value=f"max without (sensor) (avg_over_time({_CELSIUS}[$window]))",
        fresh=f"max without (sensor) (timestamp({_CELSIUS}))",
        unit="celsius",
        labels=ReadingLabels(device="chip"),
    ),
}

"""The cluster as it was read: the snapshot, workloads, gangs and readings."""

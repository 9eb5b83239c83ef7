"""Kind Numa: the devices, CPUs and memory of a pod in one NUMA zone."""

"""What nodes offer: labels, resources, accelerators and NUMA zones."""

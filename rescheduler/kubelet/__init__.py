"""Kubelet's topology manager: NUMA zones, and which pods a node admits."""

"""What kubelet does: NUMA zones, and which pods its topology manager admits."""

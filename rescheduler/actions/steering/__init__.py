"""What steering stores in the cluster: the table, taints and the extender's Lease."""

"""Messages to people outside of the cluster, sent after a cycle."""

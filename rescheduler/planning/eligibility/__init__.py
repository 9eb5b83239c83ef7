"""Whether a pod may be moved at all, whatever a policy would gain."""

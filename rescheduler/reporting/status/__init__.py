"""The status of a cluster: built from what was read, as a table and as JSON."""

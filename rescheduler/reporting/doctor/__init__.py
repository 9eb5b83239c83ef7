"""The checkup: the rules by which a cluster is judged, as a table and as JSON."""

"""Labels of the nodes as columns, which policies use too."""

from rescheduler.model.node_labels import Column, NodeLabels

__all__ = ["Column", "NodeLabels"]

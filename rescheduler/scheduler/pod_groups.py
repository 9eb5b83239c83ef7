"""Pods grouped by labels, which policies use too."""

from rescheduler.model.pod_groups import PodGroups

__all__ = ["PodGroups"]

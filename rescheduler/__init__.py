"""Looks again at where Kubernetes pods run, and moves the few that are worth moving."""

from importlib.metadata import version

__version__ = version("rescheduler")

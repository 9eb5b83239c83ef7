"""Looks again at where Kubernetes pods run, and moves the few that are worth moving."""

__version__ = "0.1.0"
"""Of this program; the distribution `kube-rescheduler` takes its own from here."""

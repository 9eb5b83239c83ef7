"""Which versions of Kubernetes the model of kube-scheduler was compared with, in one place."""

from collections.abc import Mapping

COMPARED: Mapping[int, str] = {36: "v1.36.3"}
"""Minor version of Kubernetes 1 to the release whose real kube-scheduler placed pods beside the
model in the e2e suite. Another patch of the same minor version counts as compared."""

NEWEST = max(COMPARED)
"""The newest minor version that was compared."""

"""Tenants: whose namespaces are whose, as far as labels of the namespaces say it."""

from functools import cached_property

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.limits import Limits


class Tenants:
    """The tenant of each namespace: what its `tenantLabel` says, else itself alone.

    Kubernetes does not know who owns a namespace. So nobody is a tenant of several unless that
    label is set in the Limits, and a namespace without it counts for itself.
    """

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._label = limits.tenantLabel or ""

    @property
    def noun(self) -> str:
        """What is counted."""
        return "tenant" if self._label else "namespace"

    def tenant_of(self, namespace: str) -> str:
        """Its tenant as sentences name it: `tenant acme`, or `namespace shop`."""
        labels = self._snapshot.namespace_labels.get(namespace, {}) if self._label else {}
        name = labels.get(self._label, "")
        return f"tenant {name}" if name else f"namespace {namespace}"

    @cached_property
    def of_pods(self) -> tuple[list[str], IntArray]:
        """The tenants that have pods; (pods,) the index of each pod's tenant in them."""
        firsts, template = self._snapshot.pod_template
        tenants = [
            self.tenant_of(self._snapshot.pods[pod].metadata.namespace) for pod in firsts.tolist()
        ]
        names = list(dict.fromkeys(tenants))
        numbers = {name: number for number, name in enumerate(names)}
        of_template = np.array([numbers[name] for name in tenants], dtype=np.int32)
        return names, of_template[template]

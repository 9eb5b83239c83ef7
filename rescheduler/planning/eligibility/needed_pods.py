"""The pods that a cycle, or the API server that it asks, stands on: ELG019.

Known are the pods behind the Services of the addresses that a cycle asks, of admission webhooks, of
API services and of DNS, and the pods of its own controller. Schedulers are known by their labels,
since nothing in the API ties a scheduler's name to its pods. Who may make a pod may name any: a
name keeps pods of other namespaces only where it is declared, or says that it is a scheduler. What
stands behind an address outside of the cluster's DNS, such as an ingress or a port-forward, is not
known; nor is what feeds a metric source: some of that is known by its labels, the rest belongs in
`protectedNamespaces`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from urllib.parse import urlsplit

from rescheduler.kube.controllers import Service
from rescheduler.kube.extensions import ServiceReference, WebhookConfiguration
from rescheduler.kube.objects import Labels, Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.opt_outs import refuse_needed

_NAME_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "k8s-app",
    "app",
    "component",
)
_DNS = frozenset({"kube-dns", "coredns"})
_SCHEDULER, _DEFAULT_SCHEDULER = "scheduler", "default-scheduler"
_MOST_ALIASES = 3
"""How many Services of type ExternalName are followed, one to the next."""


class NeededPods:
    """The needed pods of one snapshot; any pod may be checked, also one read afresh.

    schedulers: the names of those that are declared, or known otherwise.
    """

    def __init__(self, snapshot: Snapshot, schedulers: Collection[str] = ()) -> None:
        self._snapshot = snapshot
        self._declared = schedulers

    def refusal(self, pod: Pod) -> Problem | None:
        """ELG019: what needs the pod, or None."""
        why = self._own_pod_reason(pod) or self._service_reason(pod) or self._scheduling(pod)
        return Problem(code="ELG019", message=why) if why else refuse_needed(pod)

    def _own_pod_reason(self, pod: Pod) -> str:
        owner = pod.controller
        ours = owner is not None and owner.uid != "" and owner.uid == self._ours
        return "it is the rescheduler itself" if ours else ""

    @cached_property
    def _ours(self) -> str:
        """UID of the controller of the pod that this cycle runs in; "" where it is in none."""
        needs = self._snapshot.dependencies
        for pod in self._snapshot.pods if needs.pod else ():
            if (pod.metadata.namespace, pod.metadata.name) == (needs.namespace, needs.pod):
                return pod.controller.uid if pod.controller is not None else ""
        return ""

    def _service_reason(self, pod: Pod) -> str:
        labels = pod.metadata.labels or {}
        for selector, why in self._selectors.get(pod.metadata.namespace, ()):
            if all(labels.get(key) == value for key, value in selector.items()):
                return why
        return ""

    @cached_property
    def _selectors(self) -> dict[str, list[tuple[Labels, str]]]:
        """Namespace to what selects needed pods in it, and why they are needed."""
        selectors: dict[str, list[tuple[Labels, str]]] = defaultdict(list)
        for service, why in self._needed_services():
            namespace, selector = service.metadata.namespace, service.spec.selector
            if not selector:
                # Its endpoints were written by hand: any pod of the namespace may be one of them.
                name = service.metadata.name
                doubt = f"{why}, or another pod here does: Service {name} has no selector"
                selectors[namespace].append(({}, doubt))
            else:
                selectors[namespace].append((selector, why))
        return selectors

    def _needed_services(self) -> Iterator[tuple[Service, str]]:
        snapshot = self._snapshot
        for address in snapshot.dependencies.addresses:
            for service in self._services_of_host(address.host, address.namespace):
                yield service, f"it answers {address.purpose}"
        for webhook in snapshot.validating_webhooks:
            yield from self._webhook_services("ValidatingWebhookConfiguration", webhook)
        for webhook in snapshot.mutating_webhooks:
            yield from self._webhook_services("MutatingWebhookConfiguration", webhook)
        for api in snapshot.api_services:
            for service in self._referenced_services(api.spec.service):
                yield service, f"it serves APIService {api.metadata.name}"
        for service in snapshot.services:
            labels = service.metadata.labels or {}
            if _DNS & {service.metadata.name, labels.get("k8s-app", "")}:
                key = f"{service.metadata.namespace}/{service.metadata.name}"
                yield service, f"it answers DNS for Service {key}"

    def _webhook_services(
        self, kind: str, made: WebhookConfiguration
    ) -> Iterator[tuple[Service, str]]:
        for webhook in made.webhooks or ():
            why = f"it answers webhook {webhook.name} of {kind} {made.metadata.name}"
            config = webhook.clientConfig
            for service in self._referenced_services(config.service) or self._services_of_host(
                _host(config.url), ""
            ):
                yield service, why

    def _referenced_services(self, reference: ServiceReference | None) -> list[Service]:
        if reference is None:
            return []
        return self._services_by_name(reference.namespace, reference.name, _MOST_ALIASES)

    def _services_of_host(
        self, host: str, namespace: str, aliases: int = _MOST_ALIASES
    ) -> list[Service]:
        """The Services that this host may be: an address of theirs, or a name in cluster DNS.

        Source: the DNS-based service discovery specification 1.1. A name that only looks like one
        of the cluster's finds a Service by chance at worst, whose pods are then left alone.
        """
        host = host.rstrip(".").lower()
        if host in self._by_address:
            return self._by_address[host]
        parts = host.split(".")
        if len(parts) == 1:
            return self._services_by_name(namespace, host, aliases)
        names = [(parts[1], parts[0])]
        if len(parts) > 2:  # a pod of a headless Service: pod.service.namespace
            names.append((parts[2], parts[1]))
        return [
            service
            for space, name in names
            for service in self._services_by_name(space, name, aliases)
        ]

    def _services_by_name(self, namespace: str, name: str, aliases: int) -> list[Service]:
        service = self._by_name.get((namespace, name))
        if service is None:
            return []
        if service.spec.type != "ExternalName":
            return [service]
        return (
            self._services_of_host(service.spec.externalName, namespace, aliases - 1)
            if aliases
            else []
        )

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], Service]:
        services = self._snapshot.services
        return {
            (service.metadata.namespace, service.metadata.name): service for service in services
        }

    @cached_property
    def _by_address(self) -> dict[str, list[Service]]:
        """Address to its Services; several may claim one external address."""
        services: dict[str, list[Service]] = defaultdict(list)
        for service in self._snapshot.services:
            spec = service.spec
            for address in {spec.clusterIP, *(spec.clusterIPs or ()), *(spec.externalIPs or ())}:
                if address not in ("", "None"):
                    services[address.lower()].append(service)
        return services

    def _scheduling(self, pod: Pod) -> str:
        labels, namespace = pod.metadata.labels or {}, pod.metadata.namespace
        for key in _NAME_LABELS:
            called = labels.get(key, "")
            name = self._schedulers.get(called)
            if name is None:
                continue
            if name in self._declared or _SCHEDULER in called or name in self._named_in[namespace]:
                return f"it may be scheduler {name}, which pods name: {key}={called}"
        return ""

    @cached_property
    def _schedulers(self) -> dict[str, str]:
        """What the pods of a scheduler are called to the name by which pods ask for it."""
        named = {spec.schedulerName for spec in self._snapshot.specs if spec.schedulerName}
        schedulers = {called: name for name in named for called in (name, f"{name}-{_SCHEDULER}")}
        if _DEFAULT_SCHEDULER in named:
            schedulers["kube-scheduler"] = _DEFAULT_SCHEDULER
        return schedulers

    @cached_property
    def _named_in(self) -> dict[str, set[str]]:
        """Namespace to the schedulers that its own pods name."""
        schedulers: dict[str, set[str]] = defaultdict(set)
        for pod in self._snapshot.pods:
            schedulers[pod.metadata.namespace].add(pod.spec.schedulerName)
        return schedulers


def _host(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:
        return ""

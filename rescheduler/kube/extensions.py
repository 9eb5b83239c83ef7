"""What makes the API server call back into the cluster: admission webhooks and API services."""

import msgspec

from rescheduler.kube.objects import Base, ObjectMeta


class ServiceReference(Base):
    """The Service that is called."""

    namespace: str = ""
    name: str = ""


class ClientConfig(Base):
    """webhooks[].clientConfig: one of the two, and never its certificates."""

    service: ServiceReference | None = None
    url: str | None = None


class WebhookRule(Base):
    """webhooks[].rules[]: which requests it sees."""

    apiGroups: list[str] | None = None
    resources: list[str] | None = None
    operations: list[str] | None = None

    @property
    def sees_new_pods(self) -> bool:
        """Whether it sees pods as they are created."""
        return all(
            not {wanted, "*"}.isdisjoint(values or ())
            for wanted, values in (
                ("", self.apiGroups),
                ("pods", self.resources),
                ("CREATE", self.operations),
            )
        )


class Webhook(Base):
    """webhooks[] of a configuration."""

    name: str = ""
    clientConfig: ClientConfig = msgspec.field(default_factory=ClientConfig)
    failurePolicy: str = ""
    rules: list[WebhookRule] | None = None

    @property
    def sees_new_pods(self) -> bool:
        """Whether it sees pods as they are created."""
        return any(rule.sees_new_pods for rule in self.rules or ())


class WebhookConfiguration(Base):
    """A ValidatingWebhookConfiguration or MutatingWebhookConfiguration."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    webhooks: list[Webhook] | None = None


class APIServiceSpec(Base):
    """spec of an APIService; no service where the API server answers itself."""

    service: ServiceReference | None = None


class APIService(Base):
    """An APIService: a group and version of the API, such as that of custom metrics."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: APIServiceSpec = msgspec.field(default_factory=APIServiceSpec)

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


class Webhook(Base):
    """webhooks[] of a configuration."""

    name: str = ""
    clientConfig: ClientConfig = msgspec.field(default_factory=ClientConfig)


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

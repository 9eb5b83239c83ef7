"""`rescheduler webhook`: steers replacements as they are created, until it is stopped."""

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.steering.steering_watch import SteeringWatch
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.errors import ReschedulerError
from rescheduler.runtime.live_actor import NAMESPACE
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.json_server import JsonServer
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.runtime.servers.request_metrics import RequestMetrics
from rescheduler.runtime.servers.tls import (
    FromFiles,
    certificate_files,
    context_of,
    refuse_everybody,
)
from rescheduler.runtime.servers.webhook import admission_review
from rescheduler.runtime.servers.webhook.own_certificate import CONFIGURATION, PATH, SECRET, Own
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.client import Connection, connect

SERVICE = "rescheduler-webhook"
CHECKED = 60.0
"""Seconds between two looks whether the certificate has changed or ends soon."""


def serve_webhook(settings: Settings) -> int:
    """Answer until SIGTERM or SIGINT; the exit code.

    Raises:
        ReschedulerError: it cannot be started with these settings.
    """
    stop = Stop()
    connection = connect(settings.kubeconfig, settings.context)
    clock = ServerClock()
    presented = _certificate_source(settings, connection, clock)
    current = presented.pair()
    entries = OpenEntries(clock.now)
    watch = SteeringWatch(connection.api, NAMESPACE, entries.replace, clock)
    metrics = RequestMetrics("webhook")
    server = JsonServer(
        settings.listen,
        {PATH: lambda body: admission_review.answer(entries, body)},
        healthy=lambda: watch.problem,
        metrics=metrics.text,
        observe=metrics.observe,
        context=context_of(current, settings),
    )
    server.expect(presented.secret)
    stop.on_signals()
    watch.start()
    server.start()
    logger().info("answering", port=server.port)
    try:
        while not stop.wait(CHECKED):
            try:
                pair = presented.pair()
                if pair != current:
                    server.present(context_of(pair, settings))
                    current = pair
            except (ReschedulerError, ValueError) as error:
                logger().error("the certificate was not checked", error=str(error))
    finally:
        server.stop()
        watch.stop()
    logger().info("stopped", reason=stop.reason())
    return 0


def _certificate_source(
    settings: Settings, connection: Connection, clock: ServerClock
) -> FromFiles | Own:
    files = certificate_files(settings)
    if files is not None:
        refuse_everybody(
            settings,
            "give --client-ca-file, and the API server a certificate of that authority for "
            "webhooks; or leave the certificate out, and the path has a secret.",
        )
        return files
    secrets = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    return Own(
        StoredObject(connection.api, secrets, SECRET, clock=clock, makes_namespace=False),
        StoredObject(connection.api, hooks, CONFIGURATION, clock=clock, makes_namespace=False),
        [f"{SERVICE}.{NAMESPACE}.svc", f"{SERVICE}.{NAMESPACE}.svc.cluster.local"],
        clock.now,
    )

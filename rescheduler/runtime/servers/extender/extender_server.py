"""`rescheduler extender`: a server that kube-scheduler asks about nodes, until it is stopped."""

import socket
from datetime import timedelta

import msgspec

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.steering.steering_watch import SteeringWatch
from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import SettingsError
from rescheduler.runtime.live_actor import NAMESPACE, extender_lease
from rescheduler.runtime.logs import logger
from rescheduler.runtime.parts import policies_of
from rescheduler.runtime.servers.extender.advice_refresh import Refreshing
from rescheduler.runtime.servers.extender.extender_answers import Answers
from rescheduler.runtime.servers.extender.extender_tls import tls_context
from rescheduler.runtime.servers.extender.lease_writer import Showing
from rescheduler.runtime.servers.extender.problem_log import ProblemLog
from rescheduler.runtime.servers.extender.protocol import ExtenderArgs
from rescheduler.runtime.servers.json_server import Answer, JsonServer
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.runtime.servers.request_metrics import RequestMetrics
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.client import connect

PERIOD = timedelta(minutes=1)
MOST_BODY = 64 * 2**20
"""Bytes of one request: 5,000 whole nodes are about 50 MB."""

_encode = msgspec.json.Encoder().encode


def serve_extender(settings: Settings) -> int:
    """Answer until SIGTERM or SIGINT; the exit code.

    Raises:
        ReschedulerError: it cannot be started with these settings.
    """
    stop = Stop()
    policies_of(settings)  # what is wrong with them must show at once
    connection = connect(settings.kubeconfig, settings.context)
    clock = ServerClock()
    entries = OpenEntries(clock.now)
    answers = Answers(entries, clock.now)

    lease = extender_lease(connection.api, clock)
    showing = Showing(lease, entries, answers, socket.gethostname())
    watch = SteeringWatch(
        connection.api, NAMESPACE, showing.replace_and_show(entries.replace), clock
    )
    metrics = RequestMetrics("extender")
    server = JsonServer(
        settings.listen,
        answers_by_path(answers),
        healthy=lambda: "",  # without data it answers too: neutrally
        metrics=metrics.text,
        observe=metrics.observe,
        context=tls_context(settings),
        most_body=MOST_BODY,
    )
    table = ProblemLog("the table of replacements", lambda: watch.problem)

    def refresh_server() -> None:
        _present(server, settings)
        table.look()

    refreshing = Refreshing(settings, settings.every or PERIOD, stop, showing.know, refresh_server)
    stop.on_signals()
    watch.start()
    showing.start()
    server.start()
    logger().info("answering", port=server.port)
    try:
        refreshing.run()
    finally:
        server.stop()
        watch.stop()
        showing.stop()
    logger().info("stopped", reason=stop.reason())
    return 0


def _present(server: JsonServer, settings: Settings) -> None:
    """Use the certificates that the files hold now; who renews them may be in the middle of it."""
    try:
        context = tls_context(settings)
        if context is not None:
            server.present(context)
    except SettingsError as error:
        logger().error("the certificates were not read again", error=error.message)


def answers_by_path(answers: Answers) -> dict[str, Answer]:
    """What answers each verb of the extender, from JSON to JSON."""
    return {
        "/filter": lambda body: _encode(answers.filter(decode_json(body, ExtenderArgs))),
        "/prioritize": lambda body: _encode(answers.prioritize(decode_json(body, ExtenderArgs))),
    }

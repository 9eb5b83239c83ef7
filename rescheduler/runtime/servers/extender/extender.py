"""`rescheduler extender`: a server that kube-scheduler asks about nodes, until it is stopped."""

import socket
from datetime import timedelta

import msgspec

from rescheduler.actions.steering.steering_watch import SteeringWatch
from rescheduler.actions.transport import ServerClock
from rescheduler.kube.nesting import decoded
from rescheduler.model.errors import SettingsError
from rescheduler.runtime.live_actor import NAMESPACE, extender_lease
from rescheduler.runtime.logs import logger
from rescheduler.runtime.parts import policies_of
from rescheduler.runtime.servers.entries import Entries
from rescheduler.runtime.servers.extender.answers import Answers
from rescheduler.runtime.servers.extender.problem_log import ProblemLog
from rescheduler.runtime.servers.extender.protocol import ExtenderArgs
from rescheduler.runtime.servers.extender.refreshing import Refreshing
from rescheduler.runtime.servers.extender.securing import secured
from rescheduler.runtime.servers.extender.showing import Showing
from rescheduler.runtime.servers.request_metrics import RequestMetrics
from rescheduler.runtime.servers.serving import Answer, JsonServer
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
    entries = Entries(clock.now)
    answers = Answers(entries, clock.now)

    lease = extender_lease(connection.api, clock)
    showing = Showing(lease, entries, answers, socket.gethostname())
    watch = SteeringWatch(connection.api, NAMESPACE, showing.told(entries.replace), clock)
    metrics = RequestMetrics("rescheduler_extender")
    server = JsonServer(
        settings.listen,
        answers_by_path(answers),
        healthy=lambda: "",  # without data it answers too: neutrally
        metrics=metrics.text,
        observe=metrics.observe,
        context=secured(settings),
        most_body=MOST_BODY,
    )
    table = ProblemLog("the table of replacements", lambda: watch.problem)

    def each() -> None:
        _present(server, settings)
        table.look()

    refreshing = Refreshing(settings, settings.every or PERIOD, stop, showing.know, each)
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
        context = secured(settings)
        if context is not None:
            server.present(context)
    except SettingsError as error:
        logger().error("the certificates were not read again", error=error.message)


def answers_by_path(answers: Answers) -> dict[str, Answer]:
    """What answers each verb of the extender, from JSON to JSON."""
    return {
        "/filter": lambda body: _encode(answers.filter(decoded(body, ExtenderArgs))),
        "/prioritize": lambda body: _encode(answers.prioritize(decoded(body, ExtenderArgs))),
    }

"""How long the extender and the webhook take to answer, over HTTP, one connection each.

python -m tests.bench.bench_answers [--nodes 5000] [--requests 2000]
"""

import argparse
import http.client
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.planning.advice import STEPS, Advice
from rescheduler.runtime.servers.extender.extender_answers import Answers, known_of
from rescheduler.runtime.servers.extender.extender_server import answers_by_path
from rescheduler.runtime.servers.json_server import JsonServer
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.runtime.servers.webhook import admission_review

CONTROLLERS = 10_000


def measured(port: int, path: str, bodies: Callable[[int], bytes], requests: int) -> list[float]:
    """Milliseconds of each answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for number in range(requests):
        body = bodies(number)
        began = time.perf_counter()
        connection.request("POST", path, body)
        response = connection.getresponse()
        response.read()
        times.append((time.perf_counter() - began) * 1000)
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status}")
    connection.close()
    return times


def main() -> None:
    """Print the median, the 99th percentile and the worst of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--requests", type=int, default=2000)
    given = parser.parse_args()
    nodes = [f"node-{number:05d}.eu-west-1.compute.internal" for number in range(given.nodes)]
    rng = np.random.default_rng(1)
    costs = rng.integers(0, STEPS, (CONTROLLERS, given.nodes), dtype=np.uint8)
    entries = OpenEntries(lambda: datetime.now(UTC))
    far = datetime.now(UTC) + timedelta(hours=1)
    entries.replace(
        SteeringEntry(
            owner=f"uid-{n}", namespace="web", template="abc", hostnames=tuple(nodes[n : n + 20]),
            strength="Require", deadline=far, plan="p", pod=f"old-{n}",
        )
        for n in range(500)
    )  # fmt: skip
    answers = Answers(entries, lambda: datetime.now(UTC))
    rows = {f"uid-{number}": number for number in range(CONTROLLERS)}
    answers.known = known_of(Advice(nodes, rows, costs), {node: node for node in nodes})

    def pod(number: int) -> dict[str, object]:
        owner = {"kind": "ReplicaSet", "name": "web", "controller": True}
        return {
            "metadata": {
                "name": f"web-{number}",
                "namespace": "web",
                "uid": f"new-{number}",
                "labels": {"pod-template-hash": "abc"},
                "ownerReferences": [{**owner, "uid": f"uid-{number % 1000}"}],
            },
            "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "x" * 4000}]}]},
        }

    names = json.dumps(nodes)

    def asked(number: int) -> bytes:
        return f'{{"Pod":{json.dumps(pod(number))},"Nodes":null,"NodeNames":{names}}}'.encode()

    def review(number: int) -> bytes:
        request = {"uid": f"r-{number}", "namespace": "web", "object": pod(number)}
        return msgspec.json.encode({"request": request})

    paths = {
        **answers_by_path(answers),
        "/steer": lambda body: admission_review.answer(entries, body),
    }
    server = JsonServer("127.0.0.1:0", paths, healthy=lambda: "")
    server.start()
    try:
        for path, bodies in (("/filter", asked), ("/prioritize", asked), ("/steer", review)):
            times = np.array(measured(server.port, path, bodies, given.requests))
            quantiles = np.percentile(times, [50, 99, 100])
            print(  # noqa: T201 - a program
                f"{path:12} {given.nodes} nodes  median {quantiles[0]:.2f} ms  "
                f"p99 {quantiles[1]:.2f} ms  worst {quantiles[2]:.2f} ms"
            )
    finally:
        server.stop()


if __name__ == "__main__":
    main()

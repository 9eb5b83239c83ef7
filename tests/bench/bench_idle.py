"""What telling of idle GPUs costs: python -m tests.bench.bench_idle

IdleGPUs on 5,000 nodes with 8 GPUs each, of which every pod has one, two, four or eight. A
Prometheus of its own process answers with two series for each GPU, its profile and its utilization,
which are compared; they are labeled as by dcgm-exporter. Its time is not counted.
"""

import argparse
import contextlib
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.policies.match import Match
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.cluster import NOW, node, pod, snapshot
from tests.sources.server import Reply, Request, serving

GPUS = 8
SAMPLES = 96
IDLE = 10
"""One of so many pods is idle."""


def fleet(nodes: int) -> Snapshot:
    """The nodes, full of pods that have run for a day."""
    room = {"cpu": "128", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    pods = []
    for number in range(nodes):
        gpus = (1, 2, 4, 8)[number % 4]
        for index in range(GPUS // gpus):
            made = pod(
                f"train-{number}-{index}", f"n{number}", requests={"nvidia.com/gpu": str(gpus)}
            )
            made.status.startTime = NOW - timedelta(days=1)
            pods.append(made)
    return snapshot([node(f"n{number}", allocatable=room) for number in range(nodes)], pods)


def series(nodes: int) -> list[str]:
    """The labels of each GPU's series, as JSON."""
    found = []
    for number in range(nodes):
        gpus = (1, 2, 4, 8)[number % 4]
        found += [
            f'{{"Hostname":"n{number}","UUID":"GPU-0acc970a-bc65-52a2-ba9f-{number:08x}{index:04x}",'
            f'"gpu":"{index}","instance":"10.0.{number >> 8}.{number & 255}:9400",'
            f'"job":"dcgm-exporter","namespace":"gpu-operator","pod":"dcgm-exporter-{number:05d}",'
            f'"exported_namespace":"default","exported_pod":"train-{number}-{index // gpus}"}}'
            for index in range(GPUS)
        ]
    return found


class Answers:
    """Every GPU is busy, but for those of every tenth pod."""

    def __init__(self, nodes: int) -> None:
        self._labels = series(nodes)
        pods = [text[text.rindex("train-") : text.rindex('"')] for text in self._labels]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(pods))}
        self._idle = [numbers[pod] % IDLE == 0 for pod in pods]

    def __call__(self, request: Request) -> Reply:
        query, given = request.query["query"], request.query
        known = "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in query or "DCGM_FI_DEV_GPU_UTIL" in query
        if "end" not in given:
            at = float(given.get("time", NOW.timestamp()))
            if query.endswith("vector(1)"):
                rows = [f'{{"metric":{{}},"value":[{at},"1"]}}']
            else:
                rows = [
                    f'{{"metric":{labels},"value":[{at},"{self._value(query, at, idle)}"]}}'
                    for labels, idle in zip(self._labels, self._idle, strict=True)
                    if known
                ]
            return _reply("vector", rows)
        start, end, step = (float(given[parameter]) for parameter in ("start", "end", "step"))
        times = [start + step * k for k in range(round((end - start) / step) + 1)]
        rows = []
        texts = {
            idle: ",".join(f'[{at},"{self._value(query, at, idle)}"]' for at in times)
            for idle in (True, False)
        }
        for labels, idle in zip(self._labels, self._idle, strict=True):
            if known:
                rows.append(f'{{"metric":{labels},"values":[{texts[idle]}]}}')
        return _reply("matrix", rows)

    def _value(self, query: str, at: float, idle: bool) -> str:
        if "timestamp(" in query:
            return repr(at - 7.5)
        if "count_over_time" in query:
            return str(SAMPLES)
        share = 0.0117234 if idle else 0.8712345
        return repr(SAMPLES * share * (100 if "GPU_UTIL" in query else 1))


def _reply(kind: str, rows: list[str]) -> Reply:
    data = f'{{"resultType":"{kind}","result":[{",".join(rows)}]}}'
    return Reply(f'{{"status":"success","data":{data}}}'.encode())


def _serve(nodes: int, told: Connection) -> None:
    with serving(Answers(nodes)) as served:
        told.send(served.url)
        told.recv()
        told.send([request.query["query"][:60] for request in served.requests])


@contextlib.contextmanager
def prometheus(nodes: int) -> Iterator[tuple[str, list[str]]]:
    """The address, and after the block all queries."""
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(nodes, theirs))
    process.start()
    asked: list[str] = []
    try:
        yield ours.recv(), asked
        ours.send("end")
        asked += ours.recv()
    finally:
        process.join(10)
        process.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_idle")
    parser.add_argument("--nodes", type=int, default=5000)
    options = parser.parse_args()
    policy = IdleGPUs(name="idle", match=Match(all=True))
    with prometheus(options.nodes) as (url, asked):
        before = fleet(options.nodes)
        base = _peak()
        source = Prometheus(url, timeout=600.0, deadline=3600.0)
        wall, cpu = time.monotonic(), time.process_time()
        read = read_readings(source, policy.requests(), before)
        reading = time.process_time() - cpu
        waited = time.monotonic() - wall - reading
        source.close()
    cpu = time.process_time()
    term = policy.compile(replace(before, readings=read))
    evaluating = time.process_time() - cpu
    if isinstance(term, Problem):
        sys.stdout.write(f"{term.code}: {term.message}\n")
        return 1
    held = sum(holder.gpus for holder in term.idle())
    sys.stdout.write(
        f"{len(before.nodes):,} nodes, {GPUS * len(before.nodes):,} GPUs, "
        f"{len(before.pods):,} pods: "
        f"{len(asked)} queries, reading {reading:.1f} s of CPU (waited {waited:.1f} s), "
        f"evaluating {evaluating:.2f} s, {_peak() - base:.0f} MiB above the {base:.0f} of the "
        f"snapshot; {int(term.cost()):,} of {term.scope():,} pods are idle with {held:,.0f} GPUs\n"
    )
    return 0 if term.scope() == len(before.pods) and term.cost() > 0 else 1


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())

"""Make the recording that the demo plays: a real control plane of 100 nodes, with trouble in it.

Run as `python -m tests.recordings.record`.
"""

import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.e2e.builders.cluster import Cluster, Places
from tests.e2e.builders.kubelets import Kubelets
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import Manifest, nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment, job, stateful_set
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.program import ROOT, Program, install_program

HERE = Path(__file__).parent

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATES = {"key": "nvidia.com/gpu", "operator": "Exists"}
SHARED = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}

MODELS = (
    "asr-whisper", "chat-7b", "code-complete", "embed-large", "ocr", "translate", "tts",
    "vision-caption", "guardrail", "rerank", "search-rank", "summarize",
)  # fmt: skip
SHOPS = (
    "cart", "checkout", "catalog", "search", "login", "profile", "orders", "payments", "invoices",
    "reviews", "wishlist", "shipping", "returns", "coupons", "banners", "feeds", "images", "mail",
    "push", "chat", "support", "status", "docs", "blog",
)  # fmt: skip

Row = tuple[Manifest, Places]


def on(pool: str) -> dict[str, Any]:
    """Where pods of GPUs go: to their pool, whose taint they tolerate."""
    return {"node_selector": {"pool": pool}, "tolerations": [TOLERATES]}


def serving() -> Iterator[Row]:
    """Models that share GPUs. Four GPUs of one node and two of another have two busy pods each.

    In the order of their names the device plugin gives each pod the GPU that the fewest have: on
    inference-2 two busy pods come first, then two calm ones, then the busy ones that make two hot.
    """
    busy, calm = Load(gpu=0.47, cpu=2.0, memory=12 << 30), Load(gpu=0.12, cpu=1.0, memory=6 << 30)
    shape = {"cpu": 2, "memory": "16Gi", "gpus": 1, "namespace": "serving", **on("inference")}
    spare = cycle(f"inference-{number}" for number in range(3, 17))
    hot = ["inference-1"] * 8 + ["inference-2"] * 4
    for name, place in zip(MODELS, hot, strict=True):
        yield deployment(name, 3, load=busy, **shape), [place, *islice(spare, 2)]
    calm_places = ["inference-2", "inference-2", "inference-5", "inference-9"]
    yield deployment("router", 4, load=calm, **shape), calm_places


def training() -> Iterator[Row]:
    """Jobs that fill whole nodes, notebooks that idle, and small pods where a gang could go."""
    whole, none = Load(gpu=0.93, cpu=30.0, memory=200 << 30), Load(gpu=0.01, cpu=0.1)
    for name, first, count in (
        ("mixtral-pretrain", 1, 6),
        ("diffusion-xl", 7, 4),
        ("rlhf", 11, 3),
        ("vision-sft", 20, 2),
    ):
        own = job(name, count, namespace="research", cpu=48, memory="384Gi", gpus=8, load=whole,
                  labels={"scheduling.x-k8s.io/pod-group": name}, **on("training"))  # fmt: skip
        yield own, [f"train-{first + number}" for number in range(count)]
    notebooks = {"notebook-anna": 2, "notebook-ben": 1, "notebook-chen": 4, "notebook-dana": 2}
    for name, gpus in notebooks.items():
        own = stateful_set(name, 1, namespace="research-dev", cpu=4, memory="32Gi", gpus=gpus,
                           load=none, **on("training"))  # fmt: skip
        yield own, ["train-14" if name != "notebook-dana" else "train-15"]
    # The scheduler prefers nodes with more CPU and memory left: train-16 and 17 have the least.
    loader = job("data-loader", 2, namespace="research", cpu=40, memory="320Gi",
                 load=Load(cpu=20.0), **on("training"))  # fmt: skip
    yield loader, ["train-16", "train-17"]
    small = Load(gpu=0.6, cpu=1.0, memory=8 << 30)
    shape: dict[str, Any] = {"cpu": 2, "memory": "16Gi", "gpus": 1, "namespace": "research-dev"}
    for name, home in (
        ("eval-mmlu", "train-16"),
        ("lora-legal", "train-17"),
        ("probe", "train-17"),
    ):
        own = deployment(name, 3, load=small, **shape, **on("training"))
        yield own, [home, "train-18", "train-19"]


def web() -> Iterator[Row]:
    """Services whose pods are in zones a and c only: zone b was away, and came back."""
    plain = [number for number in range(1, 60) if (number - 1) % 3 != 1]
    for number, name in enumerate(SHOPS):
        places = [f"web-{plain[(number * 7 + step * 3) % len(plain)]}" for step in range(6)]
        load = Load(cpu=0.2, memory=512 << 20)
        yield deployment(name, 6, namespace="shop", cpu="500m", memory="1Gi", load=load), places


def build(cluster: Cluster) -> None:
    """59 plain nodes, 16 whose GPUs are shared, 21 for training, and 4 whose NUMA zones count."""
    base = BaseLoad(cpu=1.0, memory=4 << 30)
    zones = ["a", "b", "c"]
    for name in ("serving", "research", "research-dev", "simulation", "shop"):
        cluster.namespace(name)
    gpu: dict[str, Any] = {
        "cpu": 64, "memory": "512Gi", "load": base, "taints": [TAINT], "zones": zones,
    }  # fmt: skip
    inference, train, hpc = {"pool": "inference"}, {"pool": "training"}, {"pool": "hpc"}
    cluster.create(
        *nodes(16, "inference-", gpus=16, labels={**SHARED, **inference}, **gpu),
        *nodes(21, "train-", gpus=8, labels=train, **gpu),
        *nodes(4, "hpc-", gpus=8, labels=hpc, **gpu),
        *nodes(59, "web-", cpu=16, memory="64Gi", load=base, zones=zones),
    )
    rows = [*serving(), *training(), *web()]
    cluster.create(
        *(
            budget(app["metadata"]["name"], namespace=app["metadata"]["namespace"],
                   max_unavailable=1)
            for app, _ in rows if app["kind"] == "Deployment"
        )
    )  # fmt: skip
    cluster.arrange(rows, deadline=240)


def split(cluster: Cluster, kubelets: Kubelets) -> None:
    """A solver with one GPU in each of two NUMA zones, and a node that has room in one."""
    load = Load(gpu=0.7, cpu=4.0)
    shape = {"cpu": 2, "memory": "16Gi", "namespace": "simulation", "load": load, **on("hpc")}
    cluster.arrange([(deployment("mesh-render", 4, gpus=3, **shape), {"hpc-1": 2, "hpc-2": 2})])
    cluster.arrange([(deployment("cfd-solver", 2, gpus=2, **shape), ["hpc-1", "hpc-3"])])
    cluster.until(lambda: len(kubelets.lies) == 6, "the kubelets' admission", 90)


def wait(cluster: Cluster) -> None:
    """A gang that waits for two whole nodes."""
    cluster.create(
        job("llama-70b", 2, namespace="research", cpu=16, memory="128Gi", gpus=8,
            labels={"scheduling.x-k8s.io/pod-group": "llama-70b"}, **on("training"))
    )  # fmt: skip
    cluster.until(lambda: len(cluster.pods("llama-70b")) == 2, "the gang's pods", 60)


def main() -> None:
    """Build, measure, record, stop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plane = ControlPlane(folder / "plane")
        metrics = None
        try:
            cluster = Cluster(plane)
            build(cluster)
            numa = {"hpc-1": "best-effort", "hpc-2": "single-numa-node"}
            numa |= {"hpc-3": "restricted", "hpc-4": "restricted"}
            with Kubelets(cluster, numa) as kubelets:
                split(cluster, kubelets)
                wait(cluster)
                metrics = Metrics(folder / "metrics", plane.exporter_kubeconfig)
                metrics.warm(45)
                binary = install_program(folder)
                program = Program(binary, plane.kubeconfig, metrics.url)
                file = ROOT / "tests" / "recordings" / "gpu-cluster.snapshot"
                done = program.run("record", "--out", file, "--policies", HERE / "policies")
                if done.code:
                    raise SystemExit(done.stderr)
        finally:
            if metrics is not None:
                metrics.stop()
            plane.stop()


if __name__ == "__main__":
    main()

"""Real metric back ends on loopback, all of which read the exporter of one test cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.controlplane.versions import BACKENDS
from tests.e2e.exporter.prometheus import Prometheus, scrape_config


class Engine:
    """One program that answers to Prometheus' HTTP API. url: its base address."""

    def __init__(self, name: str, command: list[str], folder: Path, url: str, ready: str) -> None:
        """Start it, and wait until it says at the path `ready` that it is."""
        folder.mkdir(parents=True, exist_ok=True)
        self.url = url
        self.process = Process(name, command, folder)
        self.process.wait_until(lambda: _answers(f"{url}{ready}"), 30)

    def query(self, promql: str) -> list[dict[str, Any]]:
        """The rows of an instant query."""
        answer = _session().get(
            f"{self.url}/api/v1/query", params={"query": promql, "nocache": "1"}, timeout=10
        )
        answer.raise_for_status()
        return list(answer.json()["data"]["result"])

    def stop(self) -> None:
        """End it."""
        self.process.stop()


def prometheus3(folder: Path, exporter_port: int, **labels: str) -> Prometheus:
    """The newest Prometheus, as it is built from its module."""
    return Prometheus(folder, exporter_port, binary=binaries()["prometheus"], labels=labels)


def thanos(name: str, arguments: list[str], folder: Path) -> Engine:
    """One of its programs."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    command = [str(binaries()["thanos"]), *arguments, f"--http-address={address}"]
    command += ["--log.level=warn", "--http-grace-period=0s"]
    return Engine(name, command, folder, f"http://{address}", "/-/ready")


def _sidecar(prometheus: Prometheus) -> tuple[str, list[str]]:
    """Where the sidecar of a Prometheus serves its series, and its arguments."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    arguments = ["sidecar", f"--prometheus.url={prometheus.url}"]
    return address, [*arguments, f"--tsdb.path={prometheus.data}", f"--grpc-address={address}"]


def _querier(stores: list[str], *replica_labels: str) -> list[str]:
    """The arguments of a querier of these, which drops these labels."""
    (port,) = free_ports(1)
    arguments = ["query", f"--grpc-address=127.0.0.1:{port}"]
    arguments += [f"--endpoint-strict={store}" for store in stores]
    return [*arguments, *(f"--query.replica-label={label}" for label in replica_labels)]


class Thanos:
    """Two Prometheus with their sidecars, and the queriers in front of them.

    The two stand for two replicas or for two clusters, by which of their labels a querier drops:
    one has replica="0" and cluster="eu-1", the other replica="1" and cluster="us-1".
    """

    def __init__(self, folder: Path, exporter_port: int) -> None:
        """Start all of it; `stop` ends what there is, also after a failed start."""
        self._folder = folder
        self._port = exporter_port
        self._stops: list[Callable[[], None]] = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        stores = [self._replica(n, cluster) for n, cluster in enumerate(("eu-1", "us-1"))]
        self.deduplicated = self._query("query", stores, "replica", "cluster")
        """One answer of two replicas."""
        self.of_two_clusters = self._query("global", stores, "replica")
        """Both are there, each with its own label."""
        self.frontend = self._engine(
            "query-frontend",
            ["query-frontend", f"--query-frontend.downstream-url={self.deduplicated.url}"],
        )
        """Aligns ranges to their step, as it does unless it is told not to."""

    def _replica(self, number: int, cluster: str) -> str:
        """The address of the sidecar of a Prometheus of its own."""
        labels = {"replica": str(number), "cluster": cluster}
        prometheus = prometheus3(self._folder / f"replica-{number}", self._port, **labels)
        self._stops.append(prometheus.stop)
        address, arguments = _sidecar(prometheus)
        self._engine(f"sidecar-{number}", arguments)
        return address

    def _query(self, name: str, stores: list[str], *replica_labels: str) -> Engine:
        return self._engine(name, _querier(stores, *replica_labels))

    def _engine(self, name: str, arguments: list[str]) -> Engine:
        engine = thanos(name, arguments, self._folder)
        self._stops.append(engine.stop)
        return engine

    def lose_a_replica(self) -> None:
        """The second sidecar and its Prometheus are gone, and the queriers do not know it yet."""
        for stop in self._stops[2:4]:
            stop()

    def stop(self) -> None:
        """End all, the last first."""
        while self._stops:
            self._stops.pop()()


def victoria_metrics(folder: Path, exporter_port: int | None, interval: int = 1) -> Engine:
    """A single node that scrapes by itself, or without a port what it is sent."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "victoria-metrics.yaml"
    scrapes = {} if exporter_port is None else scrape_config(exporter_port, interval)
    config.write_text(yaml.safe_dump(scrapes))
    (port,) = free_ports(1)
    command = [
        str(binaries(BACKENDS)["victoria-metrics"]),
        f"-storageDataPath={folder / 'data'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-promscrape.config={config}",
        "-loggerLevel=WARN",
    ]
    return Engine("victoria-metrics", command, folder, f"http://127.0.0.1:{port}", "/health")


class Written:
    """Back ends to which a Prometheus sends what it scrapes. urls: where the API of each is."""

    def __init__(self, folder: Path) -> None:
        """Nothing runs yet; what does is in `_stops`."""
        self._folder = folder
        self._stops: list[Callable[[], None]] = []
        folder.mkdir(parents=True, exist_ok=True)

    def _engine(self, name: str, command: list[str], port: int, ready: str) -> None:
        engine = Engine(name, command, self._folder, f"http://127.0.0.1:{port}", ready)
        self._stops.append(engine.stop)

    def _send(self, exporter_port: int, url: str, **more: Any) -> None:
        """Scrape the exporter and send that to `url`, at once rather than in great batches."""
        queue = {"batch_send_deadline": "500ms", "max_shards": 2}
        target = {"url": url, "queue_config": queue, **more}
        binary = binaries()["prometheus"]
        sender = Prometheus(self._folder, exporter_port, binary=binary, remote_write=[target])
        self._stops.append(sender.stop)

    def stop(self) -> None:
        """End all, the last first."""
        while self._stops:
            self._stops.pop()()


class VictoriaCluster(Written):
    """The cluster version of VictoriaMetrics with two stores, each of which has half the series."""

    def __init__(self, folder: Path, exporter_port: int) -> None:
        """Start all of it; `stop` ends what there is, also after a failed start."""
        super().__init__(folder)
        try:
            self._start(exporter_port)
        except BaseException:
            self.stop()
            raise

    def _start(self, exporter_port: int) -> None:
        programs = binaries(BACKENDS)
        inserts, selects = [], []
        for number in range(2):
            http, insert, select = free_ports(3)
            command = [
                str(programs["vmstorage"]),
                f"-storageDataPath={self._folder / f'store-{number}'}",
                f"-httpListenAddr=127.0.0.1:{http}",
                f"-vminsertAddr=127.0.0.1:{insert}",
                f"-vmselectAddr=127.0.0.1:{select}",
            ]
            self._engine(f"vmstorage-{number}", command, http, "/health")
            inserts.append(f"-storageNode=127.0.0.1:{insert}")
            selects.append(f"-storageNode=127.0.0.1:{select}")
        insert, select = free_ports(2)
        command = [str(programs["vminsert"]), f"-httpListenAddr=127.0.0.1:{insert}", *inserts]
        self._engine("vminsert", command, insert, "/health")
        command = [str(programs["vmselect"]), f"-httpListenAddr=127.0.0.1:{select}", *selects]
        self._engine("vmselect", [*command, f"-cacheDataPath={self._folder}"], select, "/health")
        self.url = f"http://127.0.0.1:{select}/select/0/prometheus"
        write = f"http://127.0.0.1:{insert}/insert/0/prometheus/api/v1/write"
        self._send(exporter_port, write)

    def lose_a_store(self) -> None:
        """The second store is gone, and with it half of all series."""
        self._stops.pop(1)()


TENANT = "X-Scope-OrgID"


class Mimir(Written):
    """All of Mimir in one process, with tenants: `team-a` has the series."""

    def __init__(self, folder: Path, exporter_port: int | None) -> None:
        """Start all of it; `stop` ends what there is, also after a failed start.

        exporter_port: None where somebody else sends series.
        """
        super().__init__(folder)
        http, grpc, gossip = free_ports(3)
        config = folder / "mimir.yaml"
        config.write_text(yaml.safe_dump(_mimir_config(folder, http, grpc, gossip)))
        try:
            program = str(binaries(BACKENDS)["mimir"])
            self._engine("mimir", [program, f"-config.file={config}"], http, "/ready")
            self.url = f"http://127.0.0.1:{http}/prometheus"
            self.write = f"http://127.0.0.1:{http}/api/v1/push"
            if exporter_port is not None:
                self._send(exporter_port, self.write, headers={TENANT: "team-a"})
        except BaseException:
            self.stop()
            raise


class SameSamples:
    """Prometheus, Thanos, Mimir and VictoriaMetrics, all with the samples of the same scrapes."""

    def __init__(self, folder: Path, page: str) -> None:
        """Start all, and scrape what is served at `page`, an address and path, every second."""
        self._stops: list[Callable[[], None]] = []
        try:
            mimir = Mimir(folder / "mimir", None)
            self._stops.append(mimir.stop)
            victoria = victoria_metrics(folder / "victoria", None)
            self._stops.append(victoria.stop)
            tenant = {TENANT: "team-a"}
            sending = {
                "queue_config": {"batch_send_deadline": "500ms"},
                "write_relabel_configs": [{"action": "labeldrop", "regex": "replica"}],
            }
            targets = [
                {"url": mimir.write, "headers": tenant, **sending},
                {"url": f"{victoria.url}/api/v1/write", **sending},
            ]
            host, _, path = page.removeprefix("http://").partition("/")
            job = {
                "job_name": "page",
                "metrics_path": f"/{path}",
                "honor_labels": True,
                "static_configs": [{"targets": [host]}],
            }
            prometheus = Prometheus(
                folder / "prometheus", 0, binary=binaries()["prometheus"],
                labels={"replica": "0"}, jobs=[job], remote_write=targets,
            )  # fmt: skip
            self._stops.append(prometheus.stop)
            store, arguments = _sidecar(prometheus)
            self._stops.append(thanos("sidecar", arguments, folder).stop)
            querier = thanos("query", _querier([store], "replica"), folder)
            self._stops.append(querier.stop)
        except BaseException:
            self.stop()
            raise
        self.engines: dict[str, tuple[str, dict[str, str]]] = {
            "prometheus": (prometheus.url, {}),
            "thanos": (querier.url, {}),
            "mimir": (mimir.url, tenant),
            "victoria-metrics": (victoria.url, {}),
        }
        """Name to address and headers."""

    def ask(self, engine: str, endpoint: str, form: dict[str, str]) -> list[dict[str, Any]]:
        """The rows of a query; AssertionError where it is refused or only answered in part."""
        url, headers = self.engines[engine]
        answer = _session().post(
            f"{url}/api/v1/{endpoint}", data={**form, "nocache": "1"}, headers=headers, timeout=30
        )
        assert answer.status_code == 200, f"{engine}: {answer.text[:300]}: {form['query']}"
        found = answer.json()
        warnings = found.get("warnings", ())
        assert all(warning.startswith("PromQL info:") for warning in warnings), (engine, warnings)
        return list(found["data"]["result"])

    def stop(self) -> None:
        """End all, the last first."""
        while self._stops:
            self._stops.pop()()


def _mimir_config(folder: Path, http: int, grpc: int, gossip: int) -> dict[str, Any]:
    """One replica of everything, on loopback, with files below the folder."""
    local = {"instance_addr": "127.0.0.1", "kvstore": {"store": "inmemory"}}
    alone = {**local, "replication_factor": 1}
    return {
        "multitenancy_enabled": True,
        "usage_stats": {"enabled": False},
        "activity_tracker": {"filepath": str(folder / "activity.log")},
        "server": {
            "http_listen_address": "127.0.0.1",
            "http_listen_port": http,
            "grpc_listen_address": "127.0.0.1",
            "grpc_listen_port": grpc,
            "log_level": "warn",
        },
        "memberlist": {"bind_addr": ["127.0.0.1"], "bind_port": gossip},
        "blocks_storage": {
            "backend": "filesystem",
            "filesystem": {"dir": str(folder / "blocks")},
            "tsdb": {"dir": str(folder / "tsdb")},
            "bucket_store": {"sync_dir": str(folder / "sync")},
        },
        "ruler": {"rule_path": str(folder / "ruler"), "ring": local},
        "ruler_storage": {"backend": "filesystem", "filesystem": {"dir": str(folder / "rules")}},
        "compactor": {"data_dir": str(folder / "compactor"), "sharding_ring": local},
        "distributor": {"ring": local},
        "ingester": {"ring": {**alone, "min_ready_duration": "0s"}},
        "store_gateway": {"sharding_ring": alone},
        "frontend": {"address": "127.0.0.1"},
        "limits": {"ingestion_rate": 1e6, "ingestion_burst_size": 10_000_000},
    }


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return session


def _answers(url: str) -> bool:
    try:
        return _session().get(url, timeout=2).status_code == 200
    except requests.RequestException:
        return False

"""F67-F75: security."""

import io
import logging
import random
import re
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import structlog
from kubernetes.client import Configuration
from prometheus_client.parser import text_string_to_metric_families
from pydantic import TypeAdapter, ValidationError

from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.documents.promql import SeriesSelector
from rescheduler.documents.strict_yaml import MAX_BYTES, MAX_DEPTH
from rescheduler.documents.strict_yaml import read as read_yaml
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.errors import ClusterUnavailable, PolicyError, SettingsError
from rescheduler.model.trails.trail import Record
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.plan_json import to_json
from rescheduler.reporting.formats.terminal import render_table
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.live_actor import FINDING_HISTORY, LEASE, STATE
from rescheduler.runtime.logs import configure, logger
from rescheduler.runtime.report_keeping import LAST_REPORT
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.settings import Settings, check_url
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.policy_files import load_policies
from rescheduler.sources.prometheus.http.access import Access
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.catalogue.kit import cycles, hot, moved
from tests.deploy.image import stages, versions
from tests.deploy.manifests import KUSTOMIZE, documents, overlay, pods
from tests.deploy.policies_configmap import ROOT
from tests.reporting.hostile import PAYLOADS, clean_tags, poisoned
from tests.reporting.hostile import read as read_page
from tests.runtime.skewed import parts, skewed, spread
from tests.simulation.scenario import simulated
from tests.simulation.virtual_time import running
from tests.simulation.weather import Strike
from tests.simulation.wire import CANARY
from tests.sources.connected import connected, kubeconfig, small
from tests.sources.server import Reply, serving
from tests.sources.two_nodes import two_nodes


def test_f67_no_credential_is_in_a_log_or_in_the_trail(tmp_path: Path) -> None:
    """A debug flag prints every Authorization header, and a traceback every local variable."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    try:
        configure(Settings(debug=True), "debug", stream)
        log = logger()
        log.info("asked", token="canary-1", url="http://me:canary-2@host/", h="Bearer canary-3")
        try:
            secret = ["canary-4"]
            int(secret[0][:3])
        except ValueError:
            log.exception("failed")
        logging.getLogger("urllib3").warning("at https://a:canary-5@host/")
    finally:
        root.handlers[:], root.level = before, level
        structlog.reset_defaults()
    assert len(stream.getvalue().splitlines()) == 3
    assert "canary" not in stream.getvalue()
    connection = connect(kubeconfig(tmp_path, "https://127.0.0.1:1"), None)
    with closing(connection.api):
        assert not connection.api.configuration.debug
    assert not Configuration().debug
    assert CANARY not in all_that_a_run_writes()


def all_that_a_run_writes() -> str:
    """What comes out of cycles that sent a token with each request, wherever it goes."""
    records: list[Record] = []
    telemetry = Telemetry("Enforce")
    told: list[str] = []
    with simulated():
        run = hot()
        for fault in (None, "401 or 403", "nonsense"):
            process = run.process()
            if fault is not None:
                process.weather = Strike(fault, "metric", random.Random(1), times=100)
            with running(process):
                process._parts = replace(process._put_together(), record=records.append)
            cycle = process.run()
            assert cycle.report is not None
            telemetry.observe(cycle.report)
            told += [to_json(cycle.report).decode(), render_page(cycle.report)]
            told.append(render_table(cycle.report, width=200, color=False))
            run.cluster.timeline.advance(300.0)
        assert moved(run)
        assert run.ground.broken == [], "no request has it in its body"
    assert records
    stored = [repr(manifest) for manifest in run.cluster.objects.values()]
    return "".join([*told, *stored, repr(records), telemetry.text().decode()])


INJECTIONS = [
    'rtt"} or up{x="',
    'rtt{a="b"} or up',
    "rtt[5m]",
    "sum(rtt)",
    "rtt #",
    'rtt{a="b}',
    "rtt\nup",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_f68_nothing_that_is_filled_into_a_query_gets_out_of_its_place(text: str) -> None:
    """One quote in a matcher, and other tenants' data is read."""
    with pytest.raises(ValidationError):
        TypeAdapter(SeriesSelector).validate_python(text)
    with pytest.raises(SettingsError, match="is not a list of label matchers"):
        Prometheus("https://prometheus", selector=text)


@pytest.mark.parametrize("payload", PAYLOADS[:24])
def test_f69_text_of_the_cluster_is_never_live_in_a_report(payload: str) -> None:
    """An annotation, a message or a label that is a script."""
    plan = poisoned("plan", payload)
    page = read_page(render_page(plan))
    assert page.bad == []
    assert set(page.tags) == clean_tags("plan")
    table = render_table(plan, width=100, color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", table)
    outcome = read_page(render_page(poisoned("outcome", payload)))
    assert outcome.bad == []
    assert set(outcome.tags) == clean_tags("outcome")


Right = tuple[str, str, str, str, str]
"""Kind of the role, API group, resource, verb, and the names that it is held to."""
HOOKS = "mutatingwebhookconfigurations"
REMEMBERING = {("Role", "", "configmaps", "update", f"{FINDING_HISTORY},{LAST_REPORT}")}
TABLED = {("Role", "", "configmaps", "update", TABLE)}
ENFORCE = {
    ("ClusterRole", "", "pods/eviction", "create", ""),
    ("ClusterRole", "events.k8s.io", "events", "create", ""),
    ("Role", "coordination.k8s.io", "leases", "create", ""),
    ("Role", "coordination.k8s.io", "leases", "update", LEASE),
    ("Role", "", "configmaps", "update", STATE),
    *REMEMBERING,
}
FOLLOWED = ("Role", "", "configmaps", "watch", TABLE)
WRITES: dict[str, set[Right]] = {
    "overlays/enforce-cronjob": ENFORCE,
    "overlays/enforce-deployment": ENFORCE,
    "acting": ENFORCE - REMEMBERING,
    "remembering": REMEMBERING,
    "remembering/objects": REMEMBERING,
    "kueue-restart": {("ClusterRole", "kueue.x-k8s.io", "workloads", "delete", "")},
    "steering-taint": {("ClusterRole", "", "nodes", "patch", "")},
    "steering-table": TABLED,
    "steering-table/objects": TABLED,
    "steering-policy": TABLED,
    "steering-policy-v1beta1": TABLED,
    "addons/steering-v1": TABLED,
    "addons/steering-v1beta1": TABLED,
    # Reviews are answered and never stored.
    "page-access": {
        ("ClusterRole", "authentication.k8s.io", "tokenreviews", "create", ""),
        ("ClusterRole", "authorization.k8s.io", "subjectaccessreviews", "create", ""),
    },
    "steering-extender": {
        *TABLED,
        FOLLOWED,
        ("Role", "coordination.k8s.io", "leases", "update", EXTENDER),
    },
    "steering-webhook": {
        *TABLED,
        FOLLOWED,
        ("Role", "", "secrets", "update", "rescheduler-webhook"),
        ("ClusterRole", "admissionregistration.k8s.io", HOOKS, "update", TABLE),
    },
}
"""By folder all that may be written or watched; where a folder is not named, nothing."""
FOLDERS = [path.parent for path in sorted(KUSTOMIZE.rglob("kustomization.yaml"))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(KUSTOMIZE)))
def test_f70_it_may_do_what_it_needs_and_nothing_else(folder: Path) -> None:
    """Anybody who takes over an evictor with wide rights has the cluster."""
    found = list(documents(folder))
    granted = {
        (role["kind"], group, resource, verb, ",".join(rule.get("resourceNames", [])))
        for role in found
        for rule in role.get("rules", [])
        for group in rule.get("apiGroups", [""])
        for resource in rule.get("resources") or rule["nonResourceURLs"]
        for verb in rule["verbs"]
    }
    assert not {right for right in granted if "*" in "".join(right)}
    writes = {right for right in granted if right[3] not in ("get", "list")}
    assert writes == WRITES.get(str(folder.relative_to(KUSTOMIZE)), set())
    reads = {right for right in granted if right[3] in ("get", "list")}
    assert not {right for right in reads if "/" in right[2].lstrip("/")}, "pods/exec, nodes/proxy"
    assert not {right for right in reads if right[2] == "secrets" and not right[4]}
    for bound in (manifest for manifest in found if manifest["kind"].endswith("RoleBinding")):
        names = {(subject["kind"], subject["name"]) for subject in bound["subjects"]}
        accounts = {"rescheduler", "rescheduler-audit", "rescheduler-webhook"}
        assert names <= {("ServiceAccount", name) for name in accounts}
    if folder.parent.name == "overlays":
        (pod,) = pods(folder.name)
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]


RUN = (sys.executable, "-c", "from rescheduler.cli.main import main; main()", "run")
SERVICE = (
    *("--every", "1h", "--listen", "127.0.0.1:0", "--log-format", "json"),
    *("--policies", "tests/recordings/policies"),
    *("--snapshot", "tests/recordings/gpu-cluster.snapshot", "--listen-token-file"),
)


def curl(url: str, token: str = "") -> tuple[int, str]:
    """The answer to a GET that shows this token, "" for none."""
    asked = urllib.request.Request(
        url, headers={"Authorization": f"Bearer {token}"} if token else {}
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_f71_metrics_are_not_open_and_name_no_pod(tmp_path: Path) -> None:
    """Scraped by anybody, they list what runs where."""
    file, log = tmp_path / "token", tmp_path / "log"
    file.write_text("canary-of-the-scraper")
    with log.open("w") as said:
        service = subprocess.Popen([*RUN, *SERVICE, str(file)], cwd=ROOT, stderr=said)
    try:
        while not (port := re.search(r'"port": ?(\d+)', log.read_text())):
            assert service.poll() is None, log.read_text()
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port[1]}"
        paths = ("/livez", "/metrics", "/", "/history")
        while curl(f"{url}/metrics", "canary-of-the-scraper")[0] != 200:
            time.sleep(0.05)
        assert [curl(f"{url}{path}")[0] for path in paths] == [200, 401, 401, 401]
        assert [curl(f"{url}{path}", "canary-of-another")[0] for path in paths[1:]] == [401] * 3
        code, text = curl(f"{url}/metrics", "canary-of-the-scraper")
        assert (code, "rescheduler_planned_moves" in text) == (200, True)
    finally:
        service.kill()
        service.wait()
    assert "canary" not in log.read_text()
    assert Settings().listen.startswith("127.0.0.1:"), "unless somebody says otherwise"
    for name in ("audit-deployment", "enforce-deployment"):
        policies = [manifest for manifest in overlay(name) if manifest["kind"] == "NetworkPolicy"]
        assert policies, "where all addresses are listened at, only the scraper comes in"
        rules = [rule for policy in policies for rule in policy["spec"]["ingress"]]
        assert all("Ingress" in policy["spec"]["policyTypes"] for policy in policies)
        assert rules
        for rule in rules:
            assert rule["from"]
            assert all("namespaceSelector" in peer for peer in rule["from"])
            assert [port["port"] for port in rule["ports"]] == [8080]
    telemetry = Telemetry()
    telemetry.observe(run_cycle(parts()))
    names = {node.metadata.name for node in skewed().nodes}
    for pod in skewed().pods:
        names |= {pod.metadata.name, pod.metadata.namespace}
    assert named_in(telemetry, names) == set()
    with simulated():
        run, acted = hot(), Telemetry("Enforce")
        objects = [*run.cluster.of("pods"), *run.cluster.of("nodes")]
        (cycle,) = cycles(run, 1)
        assert cycle.report is not None
        assert moved(run)
        acted.observe(cycle.report)
    objects += [*run.cluster.of("pods"), *run.cluster.of("deployments")]
    assert named_in(acted, {manifest["metadata"]["name"] for manifest in objects}) == set()


def named_in(telemetry: Telemetry, names: set[str]) -> set[str]:
    """Which of the names are in a label, alone or as a word of it."""
    text = telemetry.text().decode()
    assert "rescheduler_planned_moves" in text
    labels = re.findall(r'="([^"]*)"', text)
    return {word for label in labels for word in (label, *re.split(r"[^\w.-]+", label))} & names


def test_f72_the_credential_goes_to_the_address_of_the_deployment_alone(tmp_path: Path) -> None:
    """A policy that names a URL, or a redirect, sends the token to anybody who wrote it."""
    token = tmp_path / "token"
    token.write_text("canary")
    with serving(lambda _: Reply(b"{}")) as thief:
        for status in (301, 302, 303, 307, 308):
            moved = Reply(b"", status, {"Location": f"{thief.url}/api/v1/query"})
            with serving(always(moved)) as served:
                prometheus = Prometheus(served.url, access=Access(token_file=token))
                readings = read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
                prometheus.close()
            assert {e.headers.get("authorization") for e in served.requests} == {"Bearer canary"}
            assert thief.requests == []
            assert readings.entries[0].problem is not None
            assert np.isnan(readings.entries[0].values).all()
            api = small()
            api.fail = always(moved)
            with connected(api, tmp_path) as (connection, asked):
                with pytest.raises(ClusterUnavailable):
                    read_cluster(connection)
                assert asked.requests
            assert thief.requests == [], "nor does that of the API server"
    readings_of, spread_of = (
        (ROOT / "policies" / name).read_text() for name in ("readings.yaml", "spread.yaml")
    )
    file = tmp_path / "policies.yaml"
    file.write_text(f"{readings_of}\n---\n{spread_of}")
    assert load_policies(file).policies
    for key in ("url", "address", "endpoint", "server", "host", "prometheus", "source"):
        for texts in ((named(readings_of, key), spread_of), (readings_of, named(spread_of, key))):
            file.write_text("\n---\n".join(texts))
            with pytest.raises(PolicyError, match=key):
                load_policies(file)
    with pytest.raises(SettingsError, match="in the clear"):
        Prometheus("http://prometheus.monitoring:9090", access=Access(token_file=token))
    with pytest.raises(SettingsError, match="holds credentials"):
        check_url("https://user:canary@prometheus")
    schema = (ROOT / "policies" / "schema.json").read_text()
    assert not re.search(r'"(url|address|endpoint|server)"\s*:', schema, re.IGNORECASE)


def always(reply: Reply) -> Callable[[object], Reply]:
    return lambda _: reply


def named(text: str, key: str) -> str:
    """The document with an address under this key."""
    return text.replace("\nspec:\n", f"\nspec:\n  {key}: https://thief.example\n", 1)


def test_f73_a_bomb_of_aliases_is_not_expanded() -> None:
    """340 bytes become 34 MB."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 8):
        same = ", ".join([f"*a{number - 1}"] * 9)
        levels.append(f"a{number}: &a{number} [{same}]")
    for text in ("\n".join(levels), "[" * (MAX_DEPTH + 1), "a: 1\n" * MAX_BYTES):
        _, problems = read_yaml(text)
        assert problems


def test_f74_only_what_was_reviewed_is_installed() -> None:
    """A poisoned release of a dependency looks for the secrets of the cluster."""
    for name in ("requirements.lock", "requirements-clouds.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]
        assert lines
        assert all(re.match(r"[\w.\-\[\]]+==\S+ .*--hash=sha256:[0-9a-f]{64}", e) for e in lines)
    installs = [
        command
        for stage in stages()
        for word, rest in stage
        if word == "RUN"
        for command in re.findall(r"pip install [^&]*", rest)
    ]
    assert installs
    assert all("--require-hashes" in install or "--no-index" in install for install in installs)
    locks = {"tools.lock", '"$LOCK"'}
    assert {lock for install in installs for lock in re.findall(r"-r (\S+)", install)} == locks
    assert ("ARG", "LOCK=requirements.lock") in stages()[1]
    commands = [rest for stage in stages() for word, rest in stage if word == "RUN"]
    assert any("requirements-dev.lock > tools.lock" in command for command in commands)
    assert any(word == "ENV" and "PIP_ONLY_BINARY=:all:" in rest for word, rest in stages()[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for lock, wanted in (
        ("requirements.lock", project["project"]["dependencies"]),
        ("requirements-clouds.lock", project["project"]["dependencies"]),
        ("requirements-dev.lock", project["build-system"]["requires"]),
    ):
        names = {re.split(r"[\[><=~! ;]", requirement)[0].lower() for requirement in wanted}
        assert names
        assert names <= {name.lower() for name in versions(lock)}
    for name in ("Makefile", ".ci/run"):
        for command in re.findall(r"pip install .*", (ROOT / name).read_text()):
            assert "--require-hashes" in command or "--no-deps --no-build-isolation" in command, (
                command
            )


NASTY = 'a"} 1\nevil{x="y\\'


def test_f75_a_label_cannot_write_a_series_of_its_own() -> None:
    """One quote blinded 1,275 series; names that vary without end blind all of them."""
    nasty = spread().model_copy(update={"name": NASTY})
    telemetry = Telemetry()
    telemetry.observe(run_cycle(parts(policies=lambda: policy_set([nasty]))))
    text = telemetry.text().decode()
    families = {metric.name: metric for metric in text_string_to_metric_families(text)}
    assert "evil" not in families
    labels = {v for f in families.values() for s in f.samples for v in s.labels.values()}
    assert NASTY in labels
    series = sum(len(family.samples) for family in families.values())
    for _ in range(3):
        telemetry.observe(run_cycle(parts(policies=lambda: policy_set([nasty]))))
    again = text_string_to_metric_families(telemetry.text().decode())
    assert sum(len(metric.samples) for metric in again) == series

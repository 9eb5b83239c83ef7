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
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import structlog
from kubernetes.client import Configuration
from prometheus_client.parser import text_string_to_metric_families
from pydantic import TypeAdapter, ValidationError

from rescheduler.documents.promql import SeriesSelector
from rescheduler.documents.strict_yaml import MAX_BYTES, MAX_DEPTH
from rescheduler.documents.strict_yaml import read as read_yaml
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.errors import SettingsError
from rescheduler.model.trails.trail import Record
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.reporting.formats.machine import to_json
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.terminal import render_table
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.logs import configure, logger
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.settings import Settings, check_url
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.prometheus.http.access import Access
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.catalogue.kit import hot, moved
from tests.deploy.policies_configmap import ROOT
from tests.deploy.test_image import stages
from tests.deploy.test_manifests import OVERLAYS, overlay, pods, rights
from tests.reporting.test_hostile import PAYLOADS, clean_tags, poisoned
from tests.reporting.test_hostile import read as read_page
from tests.runtime.skewed import parts, skewed, spread
from tests.simulation.scenario import simulated
from tests.simulation.virtual_time import running
from tests.simulation.weather import Strike
from tests.simulation.wire import CANARY
from tests.sources.server import Reply, serving
from tests.sources.test_kubernetes import kubeconfig
from tests.sources.test_prometheus_faults import two_nodes


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
    stored = [repr(each) for each in run.cluster.objects.values()]
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


@pytest.mark.parametrize("name", OVERLAYS)
def test_f70_it_may_do_what_it_needs_and_nothing_else(name: str) -> None:
    """Whoever takes over an evictor with wide rights has the cluster."""
    found = rights(name)
    assert not {right for right in found if "*" in right[1:3]}
    assert not {right for right in found if right[1] in ("secrets", "pods/exec", "nodes/proxy")}
    writes = {right[1] for right in found if right[2] not in ("get", "list")}
    assert writes <= {"pods/eviction", "events", "leases", "configmaps"}
    assert ("pods/eviction" in writes) == name.startswith("enforce")
    (pod,) = pods(name)
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
        assert [curl(f"{url}{each}")[0] for each in paths] == [200, 401, 401, 401]
        assert [curl(f"{url}{each}", "canary-of-another")[0] for each in paths[1:]] == [401] * 3
        code, text = curl(f"{url}/metrics", "canary-of-the-scraper")
        assert (code, "rescheduler_planned_moves" in text) == (200, True)
    finally:
        service.kill()
        service.wait()
    assert "canary" not in log.read_text()
    assert Settings().listen.startswith("127.0.0.1:"), "unless somebody says otherwise"
    for name in ("audit-deployment", "enforce-deployment"):
        policies = [each for each in overlay(name) if each["kind"] == "NetworkPolicy"]
        assert policies, "where all addresses are listened at, only the scraper comes in"
        assert any("Ingress" in each["spec"]["policyTypes"] for each in policies)
    telemetry = Telemetry()
    telemetry.observe(run_cycle(parts()))
    text = telemetry.text().decode()
    assert "rescheduler_planned_moves" in text
    names = {each.metadata.name for each in skewed().nodes}
    for each in skewed().pods:
        names |= {each.metadata.name, each.metadata.namespace}
    assert set(re.findall(r'="([^"]*)"', text)).isdisjoint(names)


def test_f72_the_credential_goes_to_the_address_of_the_deployment_alone(tmp_path: Path) -> None:
    """A policy that names a URL, or a redirect, sends the token to whoever wrote it."""
    token = tmp_path / "token"
    token.write_text("canary")
    with serving(lambda _: Reply(b"{}")) as thief:
        moved = Reply(b"", 302, {"Location": f"{thief.url}/api/v1/query"})
        with serving(lambda _: moved) as served:
            prometheus = Prometheus(served.url, access=Access(token_file=token))
            readings = read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
            prometheus.close()
        assert served.requests
        assert thief.requests == []
    assert readings.entries[0].problem is not None
    assert np.isnan(readings.entries[0].values).all()
    with pytest.raises(SettingsError, match="in the clear"):
        Prometheus("http://prometheus.monitoring:9090", access=Access(token_file=token))
    with pytest.raises(SettingsError, match="holds credentials"):
        check_url("https://user:canary@prometheus")
    schema = (ROOT / "policies" / "schema.json").read_text()
    assert not re.search(r'"(url|address|endpoint|server)"\s*:', schema, re.IGNORECASE)


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
        lines = [each for each in text.splitlines() if each.strip() and each.strip()[0] != "#"]
        assert lines
        assert all(re.match(r"[\w.\-\[\]]+==\S+ .*--hash=sha256:[0-9a-f]{64}", e) for e in lines)
    installs = [
        each
        for stage in stages()
        for word, rest in stage
        if word == "RUN"
        for each in re.findall(r"pip install [^&]*", rest)
    ]
    assert installs
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"]


NASTY = 'a"} 1\nevil{x="y\\'


def test_f75_a_label_cannot_write_a_series_of_its_own() -> None:
    """One quote blinded 1,275 series; names that vary without end blind all of them."""
    nasty = spread().model_copy(update={"name": NASTY})
    telemetry = Telemetry()
    telemetry.observe(run_cycle(parts(policies=lambda: policy_set([nasty]))))
    text = telemetry.text().decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert "evil" not in families
    labels = {v for f in families.values() for s in f.samples for v in s.labels.values()}
    assert NASTY in labels
    series = sum(len(each.samples) for each in families.values())
    for _ in range(3):
        telemetry.observe(run_cycle(parts(policies=lambda: policy_set([nasty]))))
    again = text_string_to_metric_families(telemetry.text().decode())
    assert sum(len(each.samples) for each in again) == series

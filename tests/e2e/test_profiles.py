"""Schedulers that are configured otherwise: what the real one does against what is declared."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.running_scheduler import read_scheduler
from rescheduler.sources.policy_files import load_policies
from tests.e2e.builders.nodes import node
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.programs import Layout
from tests.e2e.controlplane.versions import KUBERNETES, MINOR
from tests.e2e.landing.deciding import Deciding
from tests.e2e.landing.decision import REFUSED
from tests.e2e.landing.landing_cluster import LandingCluster
from tests.e2e.landing.landing_summary import LandingSummary
from tests.e2e.landing.mix import Mix

pytestmark = pytest.mark.e2e

FOLDER = Path(__file__).parent / "profiles"
KUSTOMIZE = Path(__file__).parents[2] / "deploy" / "kustomize"
READER = KUSTOMIZE / "scheduler-reading" / "scheduler-reader.yaml"
CONFIGURATION = FOLDER / "kube-scheduler.yaml"
NAMES = [
    profile["schedulerName"] for profile in yaml.safe_load(CONFIGURATION.read_text())["profiles"]
]
CONFIGURED: list[str] = [name for name in NAMES if name != "default-scheduler"]
SEEDS = range(11, 31)
EACH, ENOUGH = 75, 60
"""Decisions in one cluster, and of one profile."""


class ProfiledMix(Mix):
    """A cluster whose pods are spread over all of the schedulers."""

    def workloads(self) -> list[Manifest]:
        made = super().workloads()
        for number, manifest in enumerate(e for e in made if "template" in e.get("spec", {})):
            manifest["spec"]["template"]["spec"]["schedulerName"] = _chosen(number)
        return made

    def pod(self, number: int) -> list[Manifest]:
        *needed, manifest = super().pod(number)
        manifest["spec"]["schedulerName"] = _chosen(number)
        return [*needed, manifest]


def _chosen(number: int) -> str:
    return CONFIGURED[number % len(CONFIGURED)]


def options(layout: Layout) -> list[str]:
    """The profiles, and a certificate that can be checked: the scheduler makes its own there."""
    configuration = yaml.safe_load(CONFIGURATION.read_text())
    kubeconfig = str(layout.kubeconfig("system-kube-scheduler"))
    configuration["clientConnection"] = {"kubeconfig": kubeconfig, "qps": 1000, "burst": 2000}
    configuration["leaderElection"] = {"leaderElect": False}
    path = layout.root / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    return [f"--config={path}", f"--cert-dir={layout.root / 'scheduler'}"]


@pytest.fixture(scope="module")
def landing_cluster() -> Iterator[LandingCluster]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-profiles-"))
    made = LandingCluster(folder, options)
    try:
        yield made
    finally:
        made.stop()
        made.log._file.close()
        shutil.rmtree(folder, ignore_errors=True)


def authority(landing_cluster: LandingCluster) -> Path:
    return landing_cluster.plane.layout.root / "scheduler" / "kube-scheduler.crt"


def declared() -> PolicySet:
    return load_policies(FOLDER / "policies")


def test_configz_of_the_real_scheduler_agrees_with_its_file(
    landing_cluster: LandingCluster,
) -> None:
    reported = read_scheduler(
        landing_cluster.connection,
        landing_cluster.plane.scheduler_url,
        ca_file=authority(landing_cluster),
    )
    assert reported.problem is None
    assert reported.version == f"v{KUBERNETES.version}"
    assert reported.gates.get("NodeDeclaredFeatures", False) == (MINOR >= 36)
    snapshot = replace(landing_cluster.observe(), scheduler=reported)
    alone = schedulers_of(snapshot)
    both = schedulers_of(snapshot, declared().schedulers)
    unasked = schedulers_of(landing_cluster.observe(), declared().schedulers)
    assert not alone.guards
    assert sorted(alone.by_name) == sorted(NAMES)
    assert not [
        scheduler.profile.problem
        for scheduler in both.by_name.values()
        if scheduler.profile.problem
    ]
    assert alone.profiles == both.profiles == unasked.profiles
    assert "as /configz of" in both.by_name["packer"].source


def test_a_document_that_differs_is_reported_with_both_values(
    landing_cluster: LandingCluster, tmp_path: Path
) -> None:
    document: dict[str, Any] = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "mine"},
        "spec": {"weights": {"ImageLocality": 5}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document))
    shutil.copy(FOLDER / "policies" / "spread.yaml", tmp_path)
    reported = read_scheduler(
        landing_cluster.connection,
        landing_cluster.plane.scheduler_url,
        ca_file=authority(landing_cluster),
    )
    snapshot = replace(landing_cluster.observe(), scheduler=reported)
    [mine] = load_policies(tmp_path).schedulers
    problem = schedulers_of(snapshot, [mine]).profiles["default-scheduler"].problem
    assert "weights.ImageLocality is declared as 5 and runs as 1" in problem


def test_a_scheduler_that_cannot_be_asked_holds_the_cycle(landing_cluster: LandingCluster) -> None:
    url, connection = landing_cluster.plane.scheduler_url, landing_cluster.connection
    unchecked = read_scheduler(connection, url, verify=False)
    assert unchecked.problem is None
    foreign = read_scheduler(connection, url)
    exporter = connect(landing_cluster.plane.kubeconfig_for("default", "default"), None)
    forbidden = read_scheduler(exporter, url, ca_file=authority(landing_cluster))
    nobody = read_scheduler(connection, "https://127.0.0.1:1", ca_file=authority(landing_cluster))
    for reported, expected in (
        (foreign, "certificate"),
        (forbidden, "403"),
        (nobody, "127.0.0.1:1/configz cannot be read"),
    ):
        assert reported.problem is not None
        assert expected in reported.problem.message
        [guard] = schedulers_of(replace(landing_cluster.observe(), scheduler=reported)).guards
        assert guard.code == "GRD010"


def test_the_rights_of_the_reader_suffice(landing_cluster: LandingCluster) -> None:
    role, *_ = yaml.safe_load_all(READER.read_text())
    namespace, account = "default", "default"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role["metadata"]["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
    landing_cluster.api.create(role)
    landing_cluster.api.create(binding)
    reader = connect(landing_cluster.plane.kubeconfig_for(namespace, account), None)
    reported = read_scheduler(
        reader, landing_cluster.plane.scheduler_url, ca_file=authority(landing_cluster)
    )
    landing_cluster.api.delete(binding)
    assert reported.problem is None


def test_the_program_says_whom_it_asked_and_holds_where_nobody_answers(
    landing_cluster: LandingCluster, tmp_path: Path
) -> None:
    landing_cluster.api.create(node("lonely"))
    for url, guards in (
        (landing_cluster.plane.scheduler_url, []),
        ("https://127.0.0.1:1", ["GRD010"]),
    ):
        out = tmp_path / "plan.json"
        command = [sys.executable, "-m", "rescheduler", "plan", "-o", "json", "--out", str(out)]
        command += ["--policies", str(FOLDER / "policies"), "--scheduler-url", url]
        command += ["--kubeconfig", str(landing_cluster.plane.kubeconfig)]
        command += ["--scheduler-ca-file", str(authority(landing_cluster))]
        done = subprocess.run(command, check=False, capture_output=True)
        assert done.returncode == (1 if guards else 0), done.stderr
        plan = json.loads(out.read_text())
        assert [guard["code"] for guard in plan["guards"]] == guards
        reported = {scheduler["name"]: scheduler for scheduler in plan["schedulers"]}
        assert sorted(reported) == sorted(NAMES)
        assert bool(reported["packer"]["problem"]) == bool(guards)
        assert ("/configz of 127.0.0.1" in reported["packer"]["source"]) != bool(guards)
    landing_cluster.api.delete_path("/api/v1/nodes/lonely")


def test_landings_of_every_profile_are_those_of_the_real_scheduler(
    landing_cluster: LandingCluster, record_property: Callable[[str, object], None]
) -> None:
    landing_cluster.scheduler = read_scheduler(
        landing_cluster.connection,
        landing_cluster.plane.scheduler_url,
        ca_file=authority(landing_cluster),
    )
    assert landing_cluster.scheduler.problem is None
    summary = LandingSummary()
    decided: Counter[str] = Counter()
    for seed in SEEDS:
        if min(decided[name] for name in CONFIGURED) >= ENOUGH:
            break
        mix = ProfiledMix(seed, (8, 24))
        landing_cluster.build(mix)
        for decision, forecast in Deciding(landing_cluster, seed, mix).run(EACH):
            summary.add(decision)
            if decision.verdict != REFUSED:
                decided[forecast.snapshot.pods[forecast.pod].spec.schedulerName] += 1
    sys.stderr.write("\n" + "\n".join([*summary.lines(), f"profiles: {dict(decided)}"]) + "\n")
    summary.recorded(record_property)
    assert min(decided[name] for name in CONFIGURED) >= ENOUGH
    assert not summary.missed()

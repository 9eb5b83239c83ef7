"""The component `notifications` mounts the Secret where the program looks, and opens its way."""

from typing import Any

import pytest
import yaml

from rescheduler.policies.notifications import Notifications
from rescheduler.runtime.settings import Settings
from rescheduler.sources.policy_files import load_policies
from tests.deploy.manifests import KUSTOMIZE, overlay
from tests.deploy.policies_configmap import ROOT

FOLDER = KUSTOMIZE / "notifications"
PLACES = {"Deployment": "/spec/template/spec", "CronJob": "/spec/jobTemplate/spec/template/spec"}


def patches() -> dict[str, list[dict[str, Any]]]:
    """The operations on each kind."""
    component = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    return {
        patch["target"]["kind"]: yaml.safe_load((FOLDER / patch["path"]).read_text())
        for patch in component["patches"]
    }


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "deployment"), ("CronJob", "cronjob")])
def test_the_secret_is_mounted_where_the_program_looks(kind: str, name: str) -> None:
    mount, volume = patches()[kind]
    assert mount["path"] == f"{PLACES[kind]}/containers/0/volumeMounts/-"
    assert volume["path"] == f"{PLACES[kind]}/volumes/-"
    assert mount["value"]["mountPath"] == str(Settings().notification_files)
    assert mount["value"]["readOnly"] is True
    assert mount["value"]["name"] == volume["value"]["name"]
    assert volume["value"]["secret"]["optional"] is True
    assert any(manifest["kind"] == kind for manifest in overlay(f"audit-{name}"))


def test_alertmanager_is_reached() -> None:
    policy = yaml.safe_load((FOLDER / "networkpolicy.yaml").read_text())
    [rule] = policy["spec"]["egress"]
    assert {"protocol": "TCP", "port": 9093} in rule["ports"]
    [peer] = rule["to"]
    assert "monitoring" in peer["namespaceSelector"]["matchExpressions"][0]["values"]


def test_the_example_of_the_page_can_be_used(tmp_path: Any) -> None:
    page = (ROOT / "docs" / "install" / "notifications.md").read_text()
    example = page.partition("One example of each type")[2]
    lines = [line[4:] for line in example.splitlines() if line.startswith("    ")]
    (tmp_path / "notifications.yaml").write_text("\n".join(lines))
    (tmp_path / "spread.yaml").write_text((ROOT / "policies" / "spread.yaml").read_text())
    made = load_policies(tmp_path).notifications
    assert isinstance(made, Notifications)
    assert {receiver.type for receiver in made.receivers} == {
        "Webhook",
        "Slack",
        "Teams",
        "Alertmanager",
    }
    for receiver in made.receivers:
        assert f"--from-file={receiver.addressFile}" in page

"""What the settings and the environment tell of what a cycle stands on."""

from pathlib import Path

import pytest

from rescheduler.model.dependencies import Address
from rescheduler.runtime import process_dependencies
from rescheduler.runtime.process_dependencies import dependencies_of
from rescheduler.runtime.settings import Settings


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the namespace of a pod's service account stands; outside of a pod there is no file."""
    path = tmp_path / "namespace"
    monkeypatch.setattr(process_dependencies, "_ACCOUNT", path)
    return path


@pytest.mark.usefixtures("account")
def test_every_address_of_the_settings_is_asked() -> None:
    found = dependencies_of(
        Settings(
            prometheus_url="http://prom.monitoring:9090/prefix?token=x",
            scheduler_url="https://[fd00::5]:10259",
        ),
        {"POD_NAMESPACE": "ours", "POD_NAME": "rescheduler-1"},
        "host",
    )
    assert found.addresses == (
        Address("prom.monitoring", "ours", "Prometheus at http://prom.monitoring:9090"),
        Address("fd00::5", "ours", "kube-scheduler at https://[fd00::5]:10259"),
    )
    assert (found.namespace, found.pod) == ("ours", "rescheduler-1")


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("name", ["prom", "prom:9090", "https:prom:web"])
def test_a_service_behind_the_proxy_of_the_api_server_is_seen(name: str) -> None:
    url = f"https://api.example.org/api/v1/namespaces/monitoring/services/{name}/proxy/"
    (address,) = dependencies_of(Settings(prometheus_url=url), {}, "laptop").addresses
    assert address.host == "prom.monitoring.svc"


def test_a_pod_that_is_not_named_has_the_name_of_its_host(account: Path) -> None:
    outside = dependencies_of(Settings(), {}, "laptop")
    assert (outside.addresses, outside.namespace, outside.pod) == ((), "rescheduler", "")
    account.write_text("ours\n", encoding="utf-8")
    inside = dependencies_of(Settings(), {}, "rescheduler-1")
    assert (inside.namespace, inside.pod) == ("ours", "rescheduler-1")

"""Settings refuse what contradicts itself, and name each option once."""

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.settings import Settings, env_names
from tests.cases import every


@every(
    [
        ({"prometheus_url": "localhost:9090"}, "not an http or https address"),
        ({"prometheus_url": "ftp://x"}, "not an http or https address"),
        ({"prometheus_url": "http://"}, "not an http or https address"),
        ({"prometheus_url": "http://x:99999"}, "Port out of range"),
        ({"prometheus_url": "http://me:hunter2@x:9090"}, "credentials"),
        ({"scheduler_url": "http://x:10259"}, "not an https address"),
        ({"scheduler_url": "https://x:10259/configz"}, "without a path"),
        ({"scheduler_url": "https://:10259"}, "not an https address"),
        ({"scheduler_url": "https://x:99999"}, "Port out of range"),
        ({"scheduler_url": "https://me:hunter2@x:10259"}, "credentials"),
        ({"scheduler_url": "https://me:hunter2/x@x:10259"}, "(with credentials)"),
        ({"scheduler_url": "https//me:hunter2@x:10259"}, "(with credentials)"),
        ({"scheduler_url": "http:/me:hunter2@x:10259"}, "(with credentials)"),
        ({"scheduler_url": "https://me:hunter2%41/x@x:10259"}, "(with credentials)"),
        ({"dataset_catalogs": "d=https://me:hunter2/x@x:1/d"}, "(with credentials)"),
        ({"dataset_catalogs": "d=https://me:hunter2,x@x:1/d"}, "(with credentials)"),
        ({"dataset_catalogs": "https://me:hunter2@x,d=https://x"}, "(with credentials)"),
        ({"dataset_catalogs": "d=https://x:99999/d"}, "d=https://x:99999/d: Port out of range"),
        ({"every": timedelta(minutes=5), "cron": "* * * * *"}, "--every and --cron"),
        ({"every": timedelta(milliseconds=1)}, "too short"),
        ({"cycle_deadline": timedelta(0)}, "too short"),
        ({"search_time": timedelta(0)}, "too short"),
        ({"search_steps": 0}, "1 or more"),
        ({"digest": ""}, "not the beginning of a digest"),
        ({"digest": "1f0c42aa91d"}, "not the beginning of a digest"),
        ({"snapshot": Path("x"), "mode": "Enforce"}, "recorded snapshot"),
        ({"snapshot": Path("x"), "prometheus_url": "http://x:9090"}, "holds its readings"),
    ]
)
def test_a_contradiction_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**given)
    assert said in caught.value.message
    assert caught.value.hint
    assert "hunter2" not in str(caught.value)


def test_audit_is_the_default_and_a_tls_address_is_fine() -> None:
    assert Settings(prometheus_url="https://prometheus.example/path").mode == "Audit"


def test_every_option_has_a_variable_and_a_sentence() -> None:
    for field in fields(Settings):
        assert env_names(field.name)[0] == "RESCHEDULER_" + field.name.upper()
        assert field.metadata["help"].endswith(".")

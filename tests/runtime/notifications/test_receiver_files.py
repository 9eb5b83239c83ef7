"""Files of receivers: read as they are now, and refused without a word of what is in them."""

from pathlib import Path

import pytest

from rescheduler.runtime.notifications.receiver_files import FilesUnusable, delivery_of
from tests.runtime.notifications.receivers import TOKEN, receiver


def test_an_address_is_read_as_it_is_now(tmp_path: Path) -> None:
    for url in ("https://a.example/x", "https://b.example/y"):
        (tmp_path / "address").write_text(f"{url}\n")
        assert delivery_of(receiver(), tmp_path).url == url


@pytest.mark.parametrize("end", ["", "/", "/api/v2/alerts"])
def test_the_path_of_alertmanager_is_added_once(tmp_path: Path, end: str) -> None:
    (tmp_path / "address").write_text(f"http://alertmanager.monitoring:9093/am{end}")
    url = delivery_of(receiver(type="Alertmanager"), tmp_path).url
    assert url == "http://alertmanager.monitoring:9093/am/api/v2/alerts"


@pytest.mark.parametrize(
    ("address", "fields", "why"),
    [
        ("hooks.example/secret", {}, "no http or https address"),
        ("file:///etc/secret", {}, "no http or https address"),
        ("https://[secret", {}, "no http or https address"),
        ("https://secret:secret@hooks.example/", {}, "credentials"),
        ("http://hooks.example/secret", {"type": "Slack"}, "in the clear"),
        ("http://hooks.example/secret", {"type": "Teams"}, "in the clear"),
        ("http://hooks.example/secret", {"tokenFile": "token"}, "in the clear"),
        ("https://hooks.example/secret two", {}, "one line of ASCII"),
        ("", {}, "one line of ASCII"),
        ("https://hooks.example/secret", {"tokenFile": "missing"}, "cannot be read"),
        ("https://hooks.example/secret", {"caFile": "missing"}, "does not exist"),
    ],
)
def test_what_cannot_be_used_is_refused_and_not_shown(
    tmp_path: Path, address: str, fields: dict[str, str], why: str
) -> None:
    (tmp_path / "address").write_text(address)
    (tmp_path / "token").write_text(TOKEN)
    with pytest.raises(FilesUnusable, match=why) as caught:
        delivery_of(receiver(**fields), tmp_path)
    assert TOKEN not in str(caught.value)
    assert "secret" not in str(caught.value).replace("a secret would travel", "")


def test_plain_http_is_fine_for_what_holds_no_secret(tmp_path: Path) -> None:
    (tmp_path / "address").write_text("http://hooks.tools:8080/in")
    assert delivery_of(receiver(), tmp_path).url == "http://hooks.tools:8080/in"

"""What went wrong on the network is reported without its wrappings."""

import socket

import pytest
import requests
import urllib3

from rescheduler.sources.network_faults import cause


def closed() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_a_refused_connection_is_reported_as_such() -> None:
    with pytest.raises(requests.ConnectionError) as caught:
        requests.get(f"http://127.0.0.1:{closed()}", timeout=1)
    assert cause(caught.value) == "Connection refused"
    with pytest.raises(urllib3.exceptions.HTTPError) as wrapped:
        urllib3.PoolManager(retries=False).request("GET", f"http://127.0.0.1:{closed()}")
    assert cause(wrapped.value) == "Connection refused"


def test_an_error_without_words_is_reported_by_its_type() -> None:
    assert cause(ValueError()) == "ValueError"
    assert cause(RuntimeError("two\n lines")) == "two lines"
    error = ValueError("itself")
    error.__cause__ = error
    assert cause(error) == "itself"

"""Answers end in time and within their size, however slowly or hugely they come."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import urllib3

from rescheduler.wire.answers import TooLarge, read_body, within_wall_time
from tests.sources.server import Reply, serving

MIB = 2**20


def manager() -> urllib3.PoolManager:
    made = urllib3.PoolManager()
    within_wall_time(made)
    within_wall_time(made)  # more than once does no harm
    return made


def body_of(url: str, timeout: float = 5.0, most: int = MIB) -> bytes:
    response = manager().request(
        "GET", url, timeout=timeout, retries=False, redirect=False, preload_content=False
    )
    return read_body(response, most)


@contextmanager
def dripping(text: bytes, pause: float = 0.02) -> Iterator[str]:
    """A server that sends these bytes, one at a time, to anybody who connects."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for byte in text:
                if over.wait(pause):
                    return
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        thread.join()
        listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 500


@pytest.mark.parametrize(
    "text",
    [HEAD + b"x" * 1000, b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 500, CHUNKED],
    ids=["body", "headers", "chunks"],
)
def test_a_byte_at_a_time_is_late_when_the_whole_is_late(text: bytes) -> None:
    with dripping(text) as url:
        began = time.monotonic()
        with pytest.raises((urllib3.exceptions.TimeoutError, TimeoutError)):
            body_of(url, timeout=0.5)
        assert time.monotonic() - began < 10, "all of it would take more than twice as long"


def test_a_bomb_is_not_inflated() -> None:
    bomb = gzip.compress(bytes(40 * MIB))
    gzipped = {"Content-Encoding": "gzip"}
    with serving(lambda _request: Reply(bomb, headers=gzipped)) as served:
        with pytest.raises(TooLarge, match="larger than 1 MiB"):
            body_of(served.url)
        assert body_of(served.url, most=40 * MIB) == bytes(40 * MIB)


def test_connections_are_kept_and_their_next_answer_has_its_own_time() -> None:
    pools = manager()
    with serving(lambda _request: Reply(b"x" * 200_000)) as served:
        for _ in range(5):
            response = pools.request("GET", served.url, timeout=0.3, preload_content=False)
            assert len(read_body(response, MIB)) == 200_000
            time.sleep(0.1)
        (pool,) = [pools.connection_from_url(served.url)]
        assert pool.num_connections == 1
        assert pool.num_requests == 5


def test_without_a_timeout_there_is_none() -> None:
    with dripping(HEAD.replace(b"1000", b"5") + b"hello", pause=0.001) as url:
        response = manager().request("GET", url, timeout=None, preload_content=False)
        assert read_body(response, MIB) == b"hello"

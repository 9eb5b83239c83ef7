"""Posts one message to one receiver, within a time and without following it elsewhere."""

from urllib.parse import urlsplit

import requests
import urllib3

from rescheduler.runtime.notifications.receiver_files import Delivery
from rescheduler.sources.network_faults import cause
from rescheduler.wire.answers import read_body, session_within_wall_time
from rescheduler.wire.hosts import is_loopback

_MOST_ANSWER = 2**16
"""Bytes of an answer; nothing in it is used."""


class NotTaken(Exception):
    """The receiver did not take the message; why holds no part of its address."""


def post_notice(delivery: Delivery, body: bytes, timeout: float) -> None:
    """Post the body; timeout: seconds to connect, and again for the whole answer.

    Raises:
        NotTaken: there is no answer in time, or none of 2xx.
    """
    headers = {"Content-Type": "application/json"}
    if delivery.token:
        headers["Authorization"] = f"Bearer {delivery.token}"
    try:
        with _session(delivery) as session:
            answer = session.post(
                delivery.url,
                data=body,
                headers=headers,
                timeout=timeout,
                stream=True,
                allow_redirects=False,
            )
            with answer:
                read_body(answer.raw, _MOST_ANSWER)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise NotTaken(_without_address(cause(error), delivery)) from None
    if not 200 <= answer.status_code < 300:
        raise NotTaken(f"it answered {answer.status_code}")


def _session(delivery: Delivery) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no credentials from ~/.netrc
    session.verify = delivery.ca_file or True
    host = urlsplit(delivery.url).hostname or ""
    if not is_loopback(host):
        environment = requests.utils.get_environ_proxies(delivery.url)
        proxy = requests.utils.select_proxy(delivery.url, environment)
        if proxy:
            scheme = delivery.url.partition(":")[0]
            session.proxies = {scheme: proxy if "://" in proxy else f"http://{proxy}"}
    session_within_wall_time(session)
    return session


def _without_address(why: str, delivery: Delivery) -> str:
    """What went wrong, without any part of the address and without the token."""
    parts = urlsplit(delivery.url)
    secrets = (delivery.url, parts.netloc, parts.hostname, parts.path, parts.query, delivery.token)
    for secret in filter(None, secrets):
        if len(secret) > 1:  # a path may be a slash alone
            why = why.replace(secret, "(its address)")
    return why

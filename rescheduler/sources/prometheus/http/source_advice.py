"""What to do about a metric source that does not answer, or refuses to."""

import re

import requests
import urllib3

from rescheduler.sources.network_faults import cause

_STATUS = {
    401: "it wants credentials: --prometheus-token-file or --prometheus-basic-auth-file.",
    403: "the credentials lack the right to query.",
    404: "the path prefix of the address is wrong.",
    407: "the proxy wants a login: put it into HTTPS_PROXY, or the host into NO_PROXY.",
    422: "the query does not fit its data; see the message.",
    503: "it is starting up, or overloaded.",
}
_TENANT = re.compile(r"no org ?id|X-Scope-OrgID|tenant", re.IGNORECASE)
_GIVE_CERTIFICATE = (
    "give your own with --prometheus-client-cert-file and --prometheus-client-key-file."
)
_TLS = (
    # The alerts by which servers refuse a client that shows no certificate, or another's.
    (r"alert (certificate required|bad certificate|handshake failure|unknown ca|access denied)",
     "it does not let us in without a client certificate that it trusts", _GIVE_CERTIFICATE),
    (r"Hostname mismatch|IP address mismatch|doesn't match",
     "its certificate is another name's", "use the name of the certificate in the address."),
    (r"has expired|not yet valid", "its certificate is out of date", "renew it."),
    (r"wrong version number|record layer failure",
     "it does not speak TLS", "write the address with http://."),
    (r"certificate verify failed",
     "its certificate is not trusted", "give its CA file."),
    (r"EOF occurred in violation of protocol|reset by peer|broken pipe", "it closed the connection",
     "it is overloaded, or wants our certificate: --prometheus-client-cert-file."),
)  # fmt: skip


def advice_on_status(status: int, text: str) -> str:
    """The advice on an answer that is an error; "" where there is none."""
    if status in (400, 401, 403, 422) and _TENANT.search(text):
        return "it keeps tenants apart: give yours with --prometheus-header X-Scope-OrgID=@FILE."
    return _STATUS.get(status, "")


def explain_fault(error: Exception, *, proxied: bool) -> tuple[str, str]:
    """What a fault of the network was, and the advice on it."""
    why = cause(error)
    if isinstance(error, requests.exceptions.ProxyError):
        return (
            f"the proxy of HTTPS_PROXY or HTTP_PROXY cannot be used: {why}",
            "correct it, or put the host into NO_PROXY.",
        )
    for pattern, what, hint in _TLS:
        if re.search(pattern, why.replace("_", " "), re.IGNORECASE):
            return f"{what}: {why}", hint
    if isinstance(error, requests.exceptions.SSLError):
        return f"TLS failed: {why}", "see its own log for the reason."
    through = "it, or the proxy on the way," if proxied else "it"
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
        return "it did not answer in time", "it is overloaded, or the network drops the packets."
    if isinstance(error, requests.ConnectionError):
        return f"it cannot be reached: {why}", f"{through} is down, or the address is wrong."
    return " ".join(str(error).split()) or type(error).__name__, "a proxy garbles its answers."

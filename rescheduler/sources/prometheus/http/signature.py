"""Signature Version 4, by which Amazon's services know who sent a request and that it is whole.

After https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
botocore has it as well, but asks for versions of libraries that ours do not go with.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_PLAIN = "-_.~"


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs, for which service where. token: that of a session, or ""."""

    key: str
    secret: str
    token: str
    region: str
    service: str

    def headers(
        self, method: str, url: str, body: bytes, kind: str, at: datetime
    ) -> dict[str, str]:
        """What the request is to carry besides. kind: its Content-Type or "". at: now, in UTC."""
        parts, moment = urlsplit(url), at.strftime("%Y%m%dT%H%M%SZ")
        signed = {"host": parts.netloc.rpartition("@")[2], "x-amz-date": moment}
        signed |= {"content-type": kind} if kind else {}
        signed |= {"x-amz-security-token": self.token} if self.token else {}
        names = ";".join(sorted(signed))
        parameters = sorted(parse_qsl(parts.query, keep_blank_values=True))
        canonical = "\n".join(
            (
                method,
                quote(parts.path or "/", safe=f"/{_PLAIN}"),  # encoded already, and once more
                "&".join(f"{quote(k, safe=_PLAIN)}={quote(v, safe=_PLAIN)}" for k, v in parameters),
                *(f"{name}:{signed[name]}" for name in sorted(signed)),
                "",
                names,
                hashlib.sha256(body).hexdigest(),
            )
        )
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        signature = f"AWS4{self.secret}".encode()
        for part in (*scope.split("/"), f"{_ALGORITHM}\n{moment}\n{scope}\n{digest}"):
            signature = hmac.new(signature, part.encode(), hashlib.sha256).digest()
        del signed["host"]  # the client sends it itself
        signed["authorization"] = (
            f"{_ALGORITHM} Credential={self.key}/{scope}, SignedHeaders={names}, "
            f"Signature={signature.hex()}"
        )
        return signed

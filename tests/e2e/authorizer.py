"""An authorizer that kube-apiserver asks before RBAC, as some clouds and companies have one.

It refuses what a test says, from the next request on, and leaves all else to RBAC.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """To do these verbs to pods of a namespace is refused. name: only to the pod of that name.

    A list that is of one name by its field selector names that pod, too.
    """

    user: str
    verbs: tuple[str, ...]
    namespace: str
    name: str = ""

    def meets(self, spec: Json) -> bool:
        """Whether it is about what this SubjectAccessReview asks."""
        asked = spec.get("resourceAttributes") or {}
        return (
            spec.get("user") == self.user
            and (asked.get("resource"), asked.get("subresource", "")) == ("pods", "")
            and asked["verb"] in self.verbs
            and asked.get("namespace") == self.namespace
            and self.name in ("", asked.get("name"))
        )


class Authorizer:
    """The webhook, on loopback."""

    def __init__(self) -> None:
        """Start it; it refuses nothing."""
        self.refusals: tuple[Refusal, ...] = ()
        handler = type("Handler", (_Handler,), {"authorizer": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def options(self, folder: Path) -> list[str]:
        """The options of a kube-apiserver that asks it, each time again; its file is put there."""
        path = folder / "authorizer.kubeconfig"
        cluster = {"server": f"http://127.0.0.1:{self._server.server_address[1]}"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "authorizer",
            "clusters": [{"name": "authorizer", "cluster": cluster}],
            "users": [{"name": "kube-apiserver", "user": {}}],
            "contexts": [
                {
                    "name": "authorizer",
                    "context": {"cluster": "authorizer", "user": "kube-apiserver"},
                }
            ],
        }
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return [
            "--authorization-mode=Webhook,RBAC",
            f"--authorization-webhook-config-file={path}",
            "--authorization-webhook-version=v1",
            "--authorization-webhook-cache-authorized-ttl=0s",
            "--authorization-webhook-cache-unauthorized-ttl=0s",
        ]

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    authorizer: Authorizer
    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are two packets, which must not wait for each other.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        denied = any(refusal.meets(review["spec"]) for refusal in self.authorizer.refusals)
        status = {"allowed": False, "denied": denied, "reason": "a test refuses it"}
        text = json.dumps({**review, "status": status}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

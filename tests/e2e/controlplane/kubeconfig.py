"""Kubeconfig files for static users and for ServiceAccounts."""

from pathlib import Path

import yaml

from tests.e2e.controlplane.api import Api


def write(path: Path, user: str, token: str, server: str, authority: Path) -> Path:
    """Write a kubeconfig with one context of the user's name; answers `path`."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": user,
        "clusters": [
            {
                "name": "e2e",
                "cluster": {"server": server, "certificate-authority": str(authority)},
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": "e2e", "user": user}}],
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    path.chmod(0o600)
    return path


def connect(path: Path) -> Api:
    """A client that connects as the user of a kubeconfig that `write` made."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    cluster = config["clusters"][0]["cluster"]
    token = config["users"][0]["user"]["token"]
    return Api(cluster["server"], token, Path(cluster["certificate-authority"]))


def for_service_account(
    api: Api, namespace: str, name: str, folder: Path, seconds: int = 86400
) -> Path:
    """A kubeconfig of one ServiceAccount, by a token from the TokenRequest API.

    seconds: how long the token holds; a day outlasts the longest soak.

    The ServiceAccount must exist. What it may do is what RBAC grants it.
    """
    answer = api.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        },
    )
    path = folder / f"{namespace}-{name}.kubeconfig"
    return write(path, f"{namespace}-{name}", answer["status"]["token"], api.server, api.authority)

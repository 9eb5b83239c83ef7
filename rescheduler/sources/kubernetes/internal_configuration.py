"""The configuration as kube-scheduler up to 1.35 writes it: its internal types, by their Go names.

Source: cmd/kube-scheduler/app/server.go, and pkg/scheduler/apis/config/types.go, whose fields have
no JSON tags. Since 1.36 it writes kubescheduler.config.k8s.io/v1.
"""

from typing import Any

_API = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
_NAMES = {"URLPrefix": "urlPrefix", "TLSConfig": "tlsConfig", "HTTPTimeout": "httpTimeout"}
_TAGGED = frozenset({"AddedAffinity", "DefaultConstraints"})
"""Fields of the API's own types, whose names are right, and whose keys may be anybody's labels."""


def as_written(reported: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the names of its fields in kubescheduler.config.k8s.io/v1."""
    if "kind" in reported or "Profiles" not in reported:
        return reported
    renamed: dict[str, Any] = _rename_keys(reported)
    return {**_API, **renamed}


def _rename_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            _NAMES.get(key, f"{key[:1].lower()}{key[1:]}"): child
            if key in _TAGGED
            else _rename_keys(child)
            for key, child in value.items()
        }
    return [_rename_keys(element) for element in value] if isinstance(value, list) else value

"""Policies that want pods near each other."""

from rescheduler.policies.locality.policy import Locality


def near(name: str, weight: float, one: str, other: str) -> Locality:
    """Pods of one on the hosts of the other."""
    match = [{"labels": {"matchLabels": {"app": app}}} for app in (one, other)]
    return Locality.model_validate(
        {
            "name": name,
            "weight": weight,
            "match": {"all": True},
            "pairs": [{"pods": match[0], "near": match[1]}],
            "levels": [{"name": "host", "labels": ["kubernetes.io/hostname"]}],
        }
    )

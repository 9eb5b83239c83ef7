"""A quota of a namespace."""

QUOTA = {
    "metadata": {"name": "q", "namespace": "default"},
    "status": {"hard": {"requests.cpu": "8", "pods": "20"}, "used": {"requests.cpu": "6500m"}},
}

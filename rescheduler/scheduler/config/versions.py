"""Which versions of Kubernetes the model of kube-scheduler was compared with, in one place."""

from collections.abc import Collection, Mapping

COMPARED: Mapping[int, str] = {34: "v1.34.4", 35: "v1.35.4", 36: "v1.36.3", 37: "v1.37.2"}
"""Minor version of Kubernetes 1 to the release whose real kube-scheduler placed pods beside the
model in the e2e suite. Another patch of the same minor version counts as compared."""

NEWEST = max(COMPARED)
"""The newest minor version that was compared."""


def never_compared(name: str, version: str, allowed: Collection[str], document: str) -> str:
    """That this scheduler's predictions were never held against a real one, or "".

    version: `1.36`. allowed: the versions that a document of this name allows it.
    """
    minor = version.removeprefix("1.")
    if not minor.isdigit() or int(minor) in COMPARED:
        return ""
    releases = ", ".join(COMPARED[minor_version] for minor_version in sorted(COMPARED))
    text = f"{name} is of {version}, and was compared with the model in {releases} only; "
    if version in allowed:
        allowing = f"which is allowed by document {document}"
        return f"{text}it is predicted as the model knows this version, {allowing}"
    advice = f'its Scheduler document has `allowVersions: ["{version}"]`'
    return f"{text}nothing is moved unless {advice}"

"""The scheduler's own words for why no node was feasible, counted by plugin."""

import re
from collections import Counter

_WORDS = {
    "node(s) were unschedulable": "NodeUnschedulable",
    "node(s) had untolerated taint": "TaintToleration",
    "node(s) didn't match Pod's node affinity/selector": "NodeAffinity",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]": "NodeAffinity",
    "node(s) didn't match scheduler-enforced node affinity": "NodeAffinity",
    "node(s) didn't have free ports": "NodePorts",
    "Insufficient": "NodeResourcesFit",
    "Too many pods": "NodeResourcesFit",
    "node(s) had no available disk": "VolumeRestrictions",
    "due to PersistentVolumeClaim with ReadWriteOncePod": "VolumeRestrictions",
    "node(s) exceed max volume count": "NodeVolumeLimits",
    "node(s) didn't find available persistent volumes to bind": "VolumeBinding",
    "node(s) had volume node affinity conflict": "VolumeBinding",
    "node(s) didn't match PersistentVolume's node affinity": "VolumeBinding",
    "node(s) did not have enough free storage": "VolumeBinding",
    "node(s) unavailable due to one or more pvc(s)": "VolumeBinding",
    "cannot allocate all claims": "DynamicResources",
    "node(s) didn't match Pod's required features": "NodeDeclaredFeatures",
    "node(s) had no available volume zone": "VolumeZone",
    "node(s) didn't match pod topology spread constraints": "PodTopologySpread",
    "node(s) didn't match pod affinity rules": "InterPodAffinity",
    "node(s) didn't match pod anti-affinity rules": "InterPodAffinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "InterPodAffinity",
}
_SEVERAL = {"NodeResourcesFit", "VolumeBinding"}
"""Plugins that give several reasons for one node."""
_COUNTED = re.compile(r"^(\d+) (.*)$")


def explained(message: str) -> tuple[dict[str, list[int]], list[str]]:
    """Counts of nodes by plugin, one for each reason, and the reasons that are not known here.

    A node is counted once for each reason of the first plugin that rejects it.
    """
    text = message.split(": ", 1)[1] if message.startswith("0/") else message
    # What follows is about claims and preemption.
    text = text.split(". ", 1)[0].rstrip(".")
    found: dict[str, list[int]] = {}
    unknown: list[str] = []
    for part in re.split(r", (?=\d+ )", text):
        counted = _COUNTED.match(part)
        name = next((n for words, n in _WORDS.items() if counted and words in counted[2]), None)
        if counted is None or name is None:
            unknown.append(part)
        else:
            found.setdefault(name, []).append(int(counted[1]))
    return found, unknown


def differences(message: str, predicted: Counter[str]) -> tuple[list[str], int]:
    """How the message differs from the predicted rejections, and how many plugins were compared.

    predicted: plugin -> nodes that it rejects first.
    """
    found, unknown = explained(message)
    reported = [f"reason not understood: {reason}" for reason in unknown]
    names = sorted({*found, *(name for name, count in predicted.items() if count)})
    for name in names:
        counts = found.get(name, [])
        least, most = max(counts, default=0), sum(counts)
        if name not in _SEVERAL:
            least = most
        if not least <= predicted[name] <= most:
            reported.append(f"{name} rejects {predicted[name]}, in its own words {counts}")
    return reported, len(names)

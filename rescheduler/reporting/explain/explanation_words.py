"""How explanations name checks, plugins and landings."""

from collections.abc import Iterable, Sequence

from rescheduler.model.explanation import Header, Verdict
from rescheduler.model.moves.plan import LandingShare
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text
from rescheduler.reporting.phrasing import amount, percent, signed_gain, stamp

TITLES = {
    "ELG001": "has a controller",
    "ELG002": "no DaemonSet",
    "ELG003": "no static pod",
    "ELG004": "Running",
    "ELG005": "not being deleted",
    "ELG006": "Ready",
    "ELG007": "age",
    "ELG008": "namespace",
    "ELG009": "priority",
    "ELG010": "no local storage",
    "ELG011": "no opt-out",
    "ELG012": "enough replicas",
    "ELG013": "no rollout",
    "ELG014": "Job failure policy",
    "ELG015": "supported owner",
    "ELG016": "no gang",
    "ELG017": "not tied to its node",
    "ELG019": "not needed by the rescheduler",
    "ELG020": "node Ready",
    "ELG021": "no resize",
    "ELG022": "no cool-down",
    "ELG023": "no crash loop elsewhere",
    "ELG024": "all others Ready",
    "ELG025": "arrivals go well",
    "ELG027": "gang can spare it",
    "ELG029": "Kueue leaves or restarts its gang",
    "ELG030": "gang complete",
    "ELG034": "nobody waits for its quota",
    "ELG035": "its queue admits it again",
    "ELG036": "its owners above are read or allowed",
    "ELG037": "no eviction responders",
    "ELG038": "nothing is missing in its namespace since earlier moves",
    "ELG039": "pods of its kind land where predicted",
    "ELG040": "its namespace is read in time",
    "ELG041": "its replacement is like it",
    "ELG042": "its replacement is admitted",
    "DAT001": "objects decoded",
    "BUD001": "at most one PDB",
    "BUD002": "PDB allows it",
    "BUD003": "PDB status usable",
    "BUD004": "ResourceQuota",
    "PAC007": "slow start",
}
"""What each check checks; those of limits on moves are in the catalogue of reasons."""

HEADINGS = {
    "TaintToleration": "taints",
    "NodeAffinity": "affin.",
    "PodTopologySpread": "spread",
    "InterPodAffinity": "pods",
    "NodeResourcesFit": "fit",
    "NodeResourcesBalancedAllocation": "balance",
    "ImageLocality": "images",
    "VolumeBinding": "volumes",
    "DynamicResources": "devices",
}
"""Plugins that score, as narrow as a column."""


def title(code: str) -> str:
    """What the check with this reason code checks: `moves per node`."""
    reason = CATALOG.get(code)
    return TITLES.get(code) or (reason.check if reason else "") or code


def where_and_when(header: Header) -> str:
    """`prod-gpu-1  2026-11-21 14:02:07 UTC  Kubernetes v1.36.3; from a recording`."""
    cluster = header.cluster.name or header.cluster.uid
    version = f"  Kubernetes {header.cluster.version}" if header.cluster.version else ""
    recorded = "; from a recording" if header.recorded else ""
    return f"{cluster}  {stamp(header.taken)}{version}{recorded}"


def landing_words(landing: Sequence[LandingShare], most: int) -> str:
    """The likeliest nodes: `n12 80 %, n15 15 % and 3 more`, or `8 nodes, 12 % each: n1, n2`."""
    chances = [share.probability for share in landing]
    if len(chances) > 1 and max(chances) - min(chances) < 1e-9:
        shown = more_words([share.node for share in landing[:most]], len(landing), "")
        return f"{len(landing)} nodes, {percent(chances[0])} each: {shown}"
    shown = ", ".join(f"{share.node} {percent(share.probability)}" for share in landing[:most])
    more_count = len(landing) - most
    rest = sum(share.probability for share in landing[most:])
    return f"{shown} and {more_count} more, {percent(rest)} in all" if more_count > 0 else shown


def verdict_words(verdict: Verdict) -> str:
    """What becomes of a pod, in one word or two."""
    if verdict.outcome == "moves":
        audit = " (Audit)" if verdict.mode == "Audit" else ""
        return f"moves, batch {verdict.batch}{audit}"
    return {"stays": "stays", "held": "held", "unknown": "no verdict"}[verdict.outcome]


def worth_words(verdict: Verdict) -> str:
    """What the move gains and costs, as far as that is known."""
    parts = []
    if verdict.gain is not None:
        parts.append(f"gain {signed_gain(verdict.gain)} weighted")
    if verdict.disruption is not None:
        parts.append(f"disruption {amount(verdict.disruption)}")
    return ", ".join(parts)


def more_words(names: Iterable[str], count: int, noun: str) -> str:
    """`n1, n2 and 3 more nodes`."""
    shown = list(names)
    more_count = count - len(shown)
    more = count_text(more_count, f"more {noun}") if noun else f"{more_count} more"
    return ", ".join(shown) + (f" and {more}" if more_count > 0 else "")

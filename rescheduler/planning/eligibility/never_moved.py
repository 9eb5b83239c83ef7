"""Policies that select only pods that may never be moved, whatever their state."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.base import Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_pods


def never_moved(policy: Policy, snapshot: Snapshot, eligibility: Eligibility) -> Iterator[str]:
    """Why, by the commonest reason; nothing where one pod may be moved, or none is selected.

    What protects a pod is the same for all pods that are alike, so one of each group is checked.
    """
    match = getattr(policy, "match", None)
    if not policy.moves_pods or not isinstance(match, Match):
        return
    representatives, of_pod = snapshot.pod_kin
    groups, sizes = np.unique(of_pod[select_pods(match, snapshot)], return_counts=True)
    counts: Counter[str] = Counter()
    for group, size in zip(groups.tolist(), sizes.tolist(), strict=True):
        refusal = eligibility.protection(int(representatives[group]))
        if refusal is None:
            return
        counts[refusal.code] += size
    if counts:
        code, size = counts.most_common(1)[0]
        some = "" if len(counts) == 1 else f", {count_text(size, 'pod')} because"
        reason = CATALOG[code].sentence.rstrip(".")
        yield f"match: no pod that it selects may be moved{some or ':'} {reason} ({code})"

"""Pod-affinity terms: which pods one is about.

kube-scheduler reads the selector of a term alone: the API server has merged `matchLabelKeys` and
`mismatchLabelKeys` into it when the pod was made, and readers of stored pods leave it at that.
Source: kube-scheduler framework/types.go, newAffinityTerm.
"""

from collections.abc import Iterator, Mapping

from rescheduler.kube.objects import (
    Affinity,
    Labels,
    LabelSelectorRequirement,
    PodAffinityTerm,
)
from rescheduler.kube.selectors import matches


def listed_namespaces(term: PodAffinityTerm, own: str) -> frozenset[str]:
    """The namespaces that a term names, or its pod's own where it neither names nor selects any.

    Source: kube-scheduler framework/types.go, getNamespacesFromPodAffinityTerm.
    """
    if not term.namespaces and term.namespaceSelector is None:
        return frozenset({own})
    return frozenset(term.namespaces or ())


def term_namespaces(
    term: PodAffinityTerm, own: str, labels: Mapping[str, Labels]
) -> frozenset[str] | None:
    """The namespaces that a term is about: those it lists and those it selects; None is all.

    own: the namespace of the pod that has it. labels: those of every namespace, by name.
    Source: plugins/interpodaffinity/plugin.go, mergeAffinityTermNamespacesIfNotEmpty.
    """
    listed = listed_namespaces(term, own)
    selector = term.namespaceSelector
    if selector is None:
        return listed
    if not selector.matchLabels and not selector.matchExpressions:
        return None
    return listed.union(name for name, label in labels.items() if matches(selector, label))


def is_about(term: PodAffinityTerm, own: str, namespace: str, labels: Mapping[str, Labels]) -> bool:
    """Whether a term is about pods of that namespace."""
    chosen = term_namespaces(term, own, labels)
    return chosen is None or namespace in chosen


def every_term(affinity: Affinity | None) -> Iterator[PodAffinityTerm]:
    """All terms of a pod: of affinity and anti-affinity, required and preferred."""
    for part in (affinity.podAffinity, affinity.podAntiAffinity) if affinity else ():
        if part is not None:
            yield from part.requiredDuringSchedulingIgnoredDuringExecution or ()
            for term in part.preferredDuringSchedulingIgnoredDuringExecution or ():
                yield term.podAffinityTerm


def merge_label_keys(term: PodAffinityTerm, labels: Mapping[str, str]) -> None:
    """Put the pod's own values of the label keys into the selector, in place, as admission does.

    A term without a selector is about nobody, and stays so; one that is merged already stays as it
    is. Source: pkg/registry/core/pod/strategy.go, applyMatchLabelKeysAndMismatchLabelKeys.
    """
    selector = term.labelSelector
    if selector is None:
        return
    merged = list(selector.matchExpressions or ())
    for operator, keys in (("In", term.matchLabelKeys), ("NotIn", term.mismatchLabelKeys)):
        for key in keys or ():
            if key in labels:
                wanted = LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
                merged += [] if wanted in merged else [wanted]
    selector.matchExpressions = merged or None

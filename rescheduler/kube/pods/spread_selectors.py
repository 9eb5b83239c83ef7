"""Which pods a topology spread constraint counts."""

from collections.abc import Mapping

from rescheduler.kube.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    TopologySpreadConstraint,
)


def spread_selector(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> LabelSelector | None:
    """The selector with the pod's own values of `matchLabelKeys`; None selects nobody.

    Both must hold: where the selector asks for another value of such a label, nobody is selected.
    Often the API server has merged them already, which changes nothing.
    Source: plugins/podtopologyspread/common.go, mergeLabelSetWithSelector.
    """
    selector = constraint.labelSelector
    if selector is None or not constraint.matchLabelKeys:
        return selector
    wanted = dict(selector.matchLabels or {})
    expressions = list(selector.matchExpressions or ())
    for key in constraint.matchLabelKeys:
        value = labels.get(key)
        if value is not None and wanted.setdefault(key, value) != value:
            expressions.append(LabelSelectorRequirement(key=key, operator="In", values=[value]))
    return LabelSelector(matchLabels=wanted or None, matchExpressions=expressions or None)


def selects_everybody(selector: LabelSelector | None) -> bool:
    """Whether a selector is there and empty."""
    return selector is not None and not selector.matchLabels and not selector.matchExpressions

"""The page for people who come from descheduler, written from the converter's own tables."""

from collections.abc import Iterator
from typing import get_args

from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion.default_evictor import DefaultEvictorArgs
from rescheduler.policies.conversion.helm_values import CHART_VALUES, POLICY
from rescheduler.policies.conversion.koordinator import (
    CONTROLLER,
    EVICTOR_FIELDS,
    LOW_NODE_LOAD,
    ControllerArgs,
    LowNodeLoadArgs,
)
from rescheduler.policies.conversion.kube_descheduler import (
    PROFILES,
    KubeDescheduler,
    profile_plugins,
)
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Outcome, Same, outcome_of
from rescheduler.policies.conversion.plugins import PLUGINS
from rescheduler.policies.conversion.policy_fields import DeschedulerPolicy

_INTRODUCTION = """\
# Coming from descheduler

    rescheduler convert descheduler values.yaml --out policies/descheduler.yaml
    rescheduler check policies/descheduler.yaml
    rescheduler test policies/descheduler_test.yaml
    rescheduler plan --policies policies/descheduler.yaml

The file may be a DeschedulerPolicy (`descheduler/v1alpha1` or `v1alpha2`), values of its Helm chart
(also in a HelmRelease of Flux or an Application of Argo CD), a ConfigMap that holds one of these, a
KubeDescheduler of OpenShift, or a DeschedulerConfiguration of Koordinator. Each field becomes a
field of ours, or a comment above the policy with why and what to do instead. Some of these fields
keep pods from being evicted: where a table below says so, the policy has `mode: Audit` until that
is done. A field that descheduler refuses is an error here, with its line.

    helm get values -a descheduler -n kube-system | rescheduler convert descheduler -

With `-a` Helm prints all values: without it those are missing that the chart has by default, such
as its profiles.

What is different:

- A pod is moved only where kube-scheduler will most likely put it elsewhere, and if that lowers the
  cost by more than `margin` of the Limits. So mostly fewer pods are moved in a cycle.
- LowNodeUtilization evicts nothing while no node is below all `thresholds`, or while at most
  `numberOfNodes` are. A policy does not wait for such nodes, so it can move pods where descheduler
  evicts none. It has `mode: Audit` until you take that away.
- RemovePodsViolatingNodeTaints counts also the taints that Kubernetes sets, as on a cordoned node.
  `nodeTaints` counts these only where `only` names them.
- The Limits hold across cycles and restarts; what the file does not limit has their defaults.
- Bare pods, DaemonSets, static pods, system-critical pods and kube-system are never touched.
- Pods that have ended are reported and stay: removing them is Kubernetes' own garbage collection.

This page is generated from the converter's tables; change it there.
"""
_HEAD = ("| field | here |", "|---|---|")


def from_descheduler() -> str:
    """The text of policies/from-descheduler.md."""
    parts = [
        _INTRODUCTION,
        "## Plugins",
        "",
        "| plugin | extension point | here |",
        "|---|---|---|",
    ]
    parts += [
        f"| [{name}](#{name.lower()}) | {plugin.point} | {plugin.becomes} |"
        for name, plugin in PLUGINS.items()
    ]
    parts.append("")
    for name, plugin in PLUGINS.items():
        parts += _section(f"### {name}", plugin.arguments)
    parts += _section("### DefaultEvictor", DefaultEvictorArgs)
    parts += _section("## The policy", DeschedulerPolicy)
    parts += [_V1ALPHA1, "## Helm values", "", *_HEAD, f"| `{POLICY}` | the policies and Limits |"]
    parts += [_row(name, outcome) for name, outcome in CHART_VALUES.items()]
    parts += ["", "## OpenShift", "", "| profile | plugins |", "|---|---|"]
    parts += [f"| {name} | {', '.join(profile_plugins(name))} |" for name in PROFILES]
    parts.append("")
    parts += _section("### KubeDescheduler", KubeDescheduler)
    parts += ["## Koordinator", "", f"LowNodeLoad becomes {LOW_NODE_LOAD.becomes}.", ""]
    parts += _section("### LowNodeLoad", LowNodeLoadArgs)
    parts += _section(f"### {CONTROLLER}", ControllerArgs)
    same = ", ".join(f"`{name}`" for name in EVICTOR_FIELDS)
    parts += [
        f"{same} are those of [DefaultEvictor](#defaultevictor); all others are a comment.",
        "",
    ]
    return "\n".join(parts).rstrip() + "\n"


_V1ALPHA1 = """\
A policy of v1alpha1 has the same fields under other names: each of its `strategies` is a profile
with one plugin, and its `params` are arguments. `thresholdPriority` and
`thresholdPriorityClassName` are `priorityThreshold` of DefaultEvictor.
"""


def _section(title: str, model: type[Strict]) -> list[str]:
    return [title, "", *_HEAD, *_rows(model, ""), ""]


def _rows(model: type[Strict], prefix: str) -> Iterator[str]:
    """A row for each field, those of nested models by their path."""
    for name, field in model.model_fields.items():
        outcome = outcome_of(model, name)
        inner = nested_model(field.annotation)
        if outcome is not None:
            yield _row(f"{prefix}{name}", outcome)
        elif inner is not None:
            yield from _rows(inner, f"{prefix}{name}.")


def nested_model(annotation: object) -> type[Strict] | None:
    """The model in the type of a field, or None."""
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        return annotation
    return next(filter(None, map(nested_model, get_args(annotation))), None)


def _row(name: str, outcome: Outcome) -> str:
    text = outcome.text.replace("|", "\\|")
    match outcome:
        case Becomes():
            return f"| `{name}` | {text} |"
        case Same():
            return f"| `{name}` | left out: {text} |"
        case Lost(restricts=True):
            return f"| `{name}` | a comment, and `mode: Audit`: {text} |"
    return f"| `{name}` | a comment: {text} |"

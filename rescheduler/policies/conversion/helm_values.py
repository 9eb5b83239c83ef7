"""Values of descheduler's Helm chart: its policy, and how its own pod runs.

Source: sigs.k8s.io/descheduler, charts/descheduler/values.yaml, chart 0.19 to 0.36.
"""

from rescheduler.documents.strict_yaml import Tree
from rescheduler.policies.conversion.descheduler_policy import fields_of
from rescheduler.policies.conversion.draft import Conversion
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Outcome, Same, note_of

POLICY, VERSION = "deschedulerPolicy", "deschedulerPolicyAPIVersion"

_OWN_POD = Same("descheduler's own pod")
_WHEN = Lost(
    "When cycles run is an option: `rescheduler run --every 5m`, `--cron`, or the schedule of a "
    "CronJob that has `run --once`."
)
_ROLE = Lost("Standbys are replicas of the Deployment; they elect one by a Lease by themselves.")
_WATCHING = Lost("Metrics are served by `run` with `--listen`; deploy/README.md says how.")

CHART_VALUES: dict[str, Outcome] = {
    VERSION: Becomes("the form of the policy"),
    **dict.fromkeys(
        (
            "schedule",
            "timeZone",
            "suspend",
            "startingDeadlineSeconds",
            "deschedulingInterval",
            "kind",
        ),
        _WHEN,
    ),
    **dict.fromkeys(("replicas", "leaderElection"), _ROLE),
    **dict.fromkeys(("service", "serviceMonitor"), _WATCHING),
    "cmdOptions": Lost(
        "Flags of descheduler: `dry-run` is `--mode Audit`, all others are about its own pod."
    ),
    **dict.fromkeys(
        (
            "activeDeadlineSeconds",
            "affinity",
            "automountServiceAccountToken",
            "command",
            "commonLabels",
            "cronJobAnnotations",
            "cronJobApiVersion",
            "cronJobLabels",
            "deploymentAnnotations",
            "dnsConfig",
            "env",
            "extraServiceAccountVolumeMounts",
            "extraServiceAccountVolumes",
            "failedJobsHistoryLimit",
            "fullnameOverride",
            "global",
            "hostNetwork",
            "image",
            "imagePullSecrets",
            "initContainers",
            "jobAnnotations",
            "jobLabels",
            "livenessProbe",
            "logLevel",
            "nameOverride",
            "namespaceOverride",
            "nodeSelector",
            "podAnnotations",
            "podDisruptionBudget",
            "podLabels",
            "podSecurityContext",
            "podSecurityPolicy",
            "ports",
            "priorityClassName",
            "rbac",
            "resources",
            "securityContext",
            "serviceAccount",
            "successfulJobsHistoryLimit",
            "tolerations",
            "topologySpreadConstraints",
            "ttlSecondsAfterFinished",
        ),
        _OWN_POD,
    ),
}
"""Values of the chart, and what becomes of them."""
ALL_VALUES = "the chart's own values are missing: `helm get values RELEASE -a` prints all"
"""What may be wrong with values, and what to do."""
_UNKNOWN = Lost("descheduler's chart has no such value, so nothing is made of it.")


def policy_of_values(tree: Tree, conversion: Conversion) -> Tree:
    """The policy in the values, with the apiVersion that the chart gives it."""
    fields = fields_of(tree)
    for name, child in fields.items():
        outcome = CHART_VALUES.get(name, _UNKNOWN)
        if name != POLICY and child.value is not None and not isinstance(outcome, Becomes):
            conversion.notes.append(note_of(child, conversion.paths, outcome))
    dry = fields_of(fields.get("cmdOptions")).get("dry-run")
    conversion.reports_only |= dry is not None and dry.value is not False
    policy, version = fields[POLICY], fields.get(VERSION)
    first = "strategies" in fields_of(policy)
    if not first and "profiles" not in fields_of(policy):
        message = (
            f"{POLICY}: has no profiles, so those of the chart hold, which are not in the file"
        )
        conversion.complain(policy, message, ALL_VALUES)
    assumed = f"descheduler/v1alpha{1 if first else 2}"
    version = version if version is not None else conversion.tree_at(assumed, policy)
    kind = conversion.tree_at("DeschedulerPolicy", policy)
    values = {"apiVersion": version, "kind": kind} | fields_of(policy)
    keys = {name: policy.keys.get(name, policy.mark) for name in values}
    return conversion.put_at(Tree(dict(values), policy.mark, keys), policy)

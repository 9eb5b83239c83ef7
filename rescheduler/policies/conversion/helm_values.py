"""Values of descheduler's Helm chart: its policy, and how its own pod runs.

Source: sigs.k8s.io/descheduler, charts/descheduler/values.yaml, chart 0.19 to 0.36.
"""

import re

from rescheduler.documents.strict_yaml import Tree
from rescheduler.policies.conversion.descheduler_policy import fields_of
from rescheduler.policies.conversion.draft import Conversion
from rescheduler.policies.conversion.foreign_fields import parse_selector
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Outcome, Same, note_of

POLICY, VERSION = "deschedulerPolicy", "deschedulerPolicyAPIVersion"
SELECTOR = "nodeSelector"

_OWN_POD = Same("descheduler's own pod")
_WHEN = Lost(
    "When cycles run is an option: `rescheduler run --every 5m`, `--cron`, or the schedule of a "
    "CronJob that has `run --once`."
)
_ROLE = Lost("Standbys are replicas of the Deployment; they elect one by a Lease by themselves.")
_WATCHING = Lost("Metrics are served by `run` with `--listen`; deploy/README.md says how.")
_SUSPENDED = Lost(
    "A suspended CronJob evicts nothing. Take `mode: Audit` away when the policies shall act.",
    (False,),
    restricts=True,
)
_COMMAND = Lost(
    "Flags of another command are not read. Take `mode: Audit` away when none of them keeps pods "
    "from being evicted.",
    (["/bin/descheduler"],),
    restricts=True,
)

CHART_VALUES: dict[str, Outcome] = {
    VERSION: Becomes("the form of the policy"),
    **dict.fromkeys(
        (
            "schedule",
            "timeZone",
            "startingDeadlineSeconds",
            "deschedulingInterval",
            "kind",
        ),
        _WHEN,
    ),
    "suspend": _SUSPENDED,
    "command": _COMMAND,
    **dict.fromkeys(("replicas", "leaderElection"), _ROLE),
    **dict.fromkeys(("service", "serviceMonitor"), _WATCHING),
    "cmdOptions": Becomes(
        "the policies too: `dry-run` is `mode: Audit`, `node-selector` is `nodes`, "
        "`max-pods-to-evict-per-node` is `movesPerNode`; other flags are a comment"
    ),
    **dict.fromkeys(
        (
            "activeDeadlineSeconds",
            "affinity",
            "automountServiceAccountToken",
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

_DRY_RUN = Lost("Nothing is evicted there, so the policies have `mode: Audit`.", (False,))
_LOG_FLAGS = re.compile(
    r"v|vmodule|(also)?logtostderr|(log|logging|otel)-.+|stderrthreshold|skip-(log-)?headers|"
    r"one-output|add-dir-header"
)
_SERVING_FLAGS = re.compile(
    r"(tls|http2)-.+|bind-address|secure-port|cert-dir|disable-metrics|"
    r"(enable|disable)-http2(-serving)?|permit-(address|port)-sharing"
)
_FLAG = Lost(
    "It is not known whether this flag keeps pods from being evicted. Take `mode: Audit` away when "
    "the policies say all that it says.",
    restricts=True,
)


def policy_of_values(tree: Tree, conversion: Conversion) -> Tree:
    """The policy in the values, with the apiVersion that the chart gives it."""
    fields = fields_of(tree)
    for name, child in fields.items():
        outcome = CHART_VALUES.get(name, _UNKNOWN)
        if name != POLICY and child.value is not None and not isinstance(outcome, Becomes):
            _note(child, outcome, conversion)
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
    if "cmdOptions" in fields:
        values |= _read_flags(fields["cmdOptions"], values.get(SELECTOR), conversion)
    keys = {name: policy.keys.get(name, policy.mark) for name in values}
    return conversion.put_at(Tree(dict(values), policy.mark, keys), policy)


def _note(tree: Tree, outcome: Outcome, conversion: Conversion) -> None:
    """Say what becomes of a value; one that restricts evictions keeps all policies from acting."""
    note = note_of(tree, conversion.paths, outcome)
    conversion.notes.append(note)
    conversion.restricted |= note.restricts


def _read_flags(flags: Tree, selector: Tree | None, conversion: Conversion) -> dict[str, Tree]:
    """What the flags of descheduler add to the policy. selector: the policy's own of nodes."""
    if flags.value is not None and not isinstance(flags.value, dict):
        _note(flags, _FLAG, conversion)
    fields: dict[str, Tree] = {}
    for name, flag in fields_of(flags).items():
        if name == "dry-run":
            _note(flag, _DRY_RUN, conversion)
            conversion.reports_only |= flag.value is not False
        elif name == "node-selector" and _is_selector(flag):
            fields[SELECTOR] = _joined_selector(flag, selector, conversion)
        elif name == "max-pods-to-evict-per-node" and str(flag.value).isdecimal():
            conversion.limits.limit("movesPerNode", int(str(flag.value)) or None)
        else:
            _note(flag, _flag_outcome(name), conversion)
    return fields


def _flag_outcome(name: str) -> Outcome:
    if name == "descheduling-interval":
        return _WHEN
    if name.startswith("leader-elect"):
        return _ROLE
    if _SERVING_FLAGS.fullmatch(name):
        return _WATCHING
    return _OWN_POD if _LOG_FLAGS.fullmatch(name) else _FLAG


def _is_selector(flag: Tree) -> bool:
    try:
        return isinstance(flag.value, str) and bool(parse_selector(flag.value))
    except ValueError:
        return False


def _joined_selector(flag: Tree, selector: Tree | None, conversion: Conversion) -> Tree:
    """Both selectors in one, as text; a selector that is no text is refused where it is read."""
    if selector is None or selector.value is None:
        return flag
    if not isinstance(selector.value, str):
        return selector
    return conversion.tree_at(f"{flag.value},{selector.value}", selector)

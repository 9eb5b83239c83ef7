"""What cannot be converted is refused, with its line, its value, and what to do."""

import pytest

from tests.cases import every
from tests.policies.conversion.converting import refusal
from tests.policies.conversion.inputs import (
    CONFIG_MAP,
    HELM,
    KOORDINATOR,
    OPENSHIFT,
    V1ALPHA1,
    V1ALPHA2,
)


@every(
    [
        (V1ALPHA2.replace("v1alpha2", "v1alpha3", 1),
         "1:13: apiVersion: `descheduler/v1alpha3` of DeschedulerPolicy is not known", "v1alpha2"),
        (V1ALPHA2.replace("DeschedulerPolicy", "DeschedulerPolice"),
         "2:7: kind: `DeschedulerPolice` holds nothing", "`DeschedulerPolicy`"),
        (OPENSHIFT.replace("io/v1", "io/v1beta1"),
         "`operator.openshift.io/v1beta1` of KubeDescheduler is not known", "io/v1`"),
        (V1ALPHA2.replace("RemoveDuplicates", "RemoveDuplicate"),
         "`RemoveDuplicate` is no plugin that is known", "`RemoveDuplicates`"),
        (V1ALPHA1.replace("PodLifeTime", "PodLifetimes"),
         "`PodLifetimes` is no plugin that is known", "`PodLifeTime`"),
        (V1ALPHA2.replace("podRestartThreshold: 7", "podRestartThreshold: '7'"),
         "podRestartThreshold: must be a whole number (got '7')", "without quotes"),
        (V1ALPHA2.replace("podRestartThreshold: 7", "podRestarts: 7"),
         "podRestarts: unknown field `podRestarts`", "`podRestartThreshold`"),
        (V1ALPHA2.replace("{cpu: 20, memory: 20}", "{cpu: 120}"),
         "thresholds.cpu: must be 100 or less (got 120", ""),
        (V1ALPHA2.replace("minPodAge: 20m0s", "minPodAge: 20"),
         "minPodAge: must be a duration of Go such as 90s", ""),
        (V1ALPHA2.replace("nodeSelector: pool=web,!spot", "nodeSelector: pool=web,=spot"),
         "3:15: nodeSelector: must be a label selector", ""),
        (V1ALPHA2.replace("[shop, bank]", "[openshift-*]"),
         "must be the name of a namespace", "there are no wildcards"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
         "data: holds 0 documents that could be converted", ""),
        (CONFIG_MAP.replace("[Job]", "[Job"),
         "1 problem in 1 of 1 file\nfile.yaml:13:39: not YAML", ""),
        (CONFIG_MAP.replace("RemoveDuplicates\n", "RemoveDuplicate\n"), "12:9: `RemoveDuplicate`",
         "`RemoveDuplicates`"),
        (V1ALPHA2.replace("operator: NotIn, values: [db]", "operator: DoesNotExist")
         .replace("key: tier", "key: app"),
         "RemovePodsViolatingNodeTaints: no pod has the labels that it and DefaultEvictor ask for",
         "correct one labelSelector"),
        (V1ALPHA2.replace("nodeSelector: pool=web,", "nodeSelector: pool=-web,"),
         "3:15: nodeSelector: must be a label selector, and must be a label value", ""),
        ("apiVersion: v1\nkind: List\nitems: [{kind: Pod}, {kind: Pod}]\n",
         "3:8: items: holds 2 objects", "a file of its own"),
        (f"{V1ALPHA2}---\n{HELM}", "the file holds 2 documents: line 1", "a file of its own"),
        ("", "the file holds no document", ""),
        ("a: [1, 2\nb: 3\n", "not YAML", "the indentation, a quote or a colon"),
        (f"{{{{- if .Values.x }}}}\n{HELM}", "not YAML", "the file is a template: render it first"),
        (HELM.replace("deschedulerPolicy:", "descheduler:"), "apiVersion: is required",
         "Helm values with `deschedulerPolicy`"),
        ('USER-SUPPLIED VALUES:\nschedule: "*/5 * * * *"\n', "apiVersion: is required",
         "`helm get values RELEASE -a`"),
        ("USER-SUPPLIED VALUES:\nnull\n", "not YAML", "`helm get values RELEASE -a`"),
        ("deschedulerPolicy: {maxNoOfPodsToEvictTotal: 5}\n",
         "deschedulerPolicy: has no profiles, so those of the chart hold",
         "`helm get values RELEASE -a`"),
        (V1ALPHA1.replace("enabled: true", "enabled: false"), "none is enabled", "enable one"),
        (V1ALPHA2.replace("profiles:", "profile:"), "profiles: is required", ""),
        (OPENSHIFT.replace("AffinityAndTaints", "AffinityAndTaint"), "spec.profiles.0: must be",
         "`AffinityAndTaints`"),
        (KOORDINATOR.replace("name: LowNodeLoad", "name: LowNodeLoads"),
         "`LowNodeLoads` is no plugin that is known", "`LowNodeLoad`"),
    ]
)  # fmt: skip
def test_it_says_where_and_what_to_do(text: str, message: str, advice: str) -> None:
    said = refusal(text)
    assert message in said
    assert advice in said
    assert said.startswith(("1 problem", "2 problems", "3 problems", "4 problems", "converted"))


@pytest.mark.parametrize("text", ["[]\n", "3\n", "apiVersion: [1]\nkind: {a: b}\n", "a: &b [*b]\n"])
def test_odd_documents_are_refused_and_nothing_breaks(text: str) -> None:
    assert "problem" in refusal(text)

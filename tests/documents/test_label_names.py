"""Names that Kubernetes refuses are refused in policies too, at their place."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from rescheduler.documents.label_names import (
    LabelKey,
    LabelKeyTemplate,
    LabelValue,
    NamespaceName,
    TaintPattern,
)
from rescheduler.model.errors import PolicyError
from rescheduler.sources.policy_files import load_policies
from tests.cases import every

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: {kind}\nmetadata: {{name: s}}\nspec:\n"


def accepts(kind: Any, text: str) -> bool:
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True


@every(
    [
        (
            LabelKey,
            ["a", "A_b.c-1", "x" * 63, "a.b/c", f"{'p' * 253}/x", "topology.kubernetes.io/zone"],
            [
                "",
                " ",
                "a b",
                "/a",
                "a/",
                "a/b/c",
                "-a",
                "a-",
                "A.b/c",
                "x" * 64,
                "a\n",
                "a=b",
                "é",
                f"{'p' * 254}/x",
                "a_b/c",
                "a..b/c",
            ],
        ),
        (
            LabelValue,
            ["", "a", "A_b.c-1", "x" * 63],
            [" ", "a b", "-a", "a.", "x" * 64, "a/b", "web-*", "a\n"],
        ),
        (NamespaceName, ["a", "kube-system", "x" * 63], ["", "a.b", "A", "kube-*", "x" * 64, "-a"]),
        (
            TaintPattern,
            ["a", "a.b/", "a.b/c", "a/b=c", "a="],
            ["", "/", "a b", "a/b/", "a=b c", "=a", "a//"],
        ),
        (
            LabelKeyTemplate,
            ["a/{dataset}", "fluid.io/s-{namespace}-{dataset}", "{dataset}"],
            ["a b/{dataset}", "a/{datset}", "a/-{dataset}", "", "a/{dataset"],
        ),
    ]
)
def test_names(kind: Any, good: list[str], bad: list[str]) -> None:
    assert [name for name in good if not accepts(kind, name)] == []
    assert [name for name in bad if accepts(kind, name)] == []


def is_label_key(value: str) -> bool:
    """As apimachinery has it, pkg/api/validate/content/kube.go: IsLabelKey."""
    *prefix, name = value.split("/")
    if len(prefix) > 1 or not (
        len(name) <= 63 and re.fullmatch("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", name)
    ):
        return False
    label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    return all(len(p) <= 253 and re.fullmatch(rf"{label}(\.{label})*", p) for p in prefix)


@settings(max_examples=300)
@given(text=st.text("aZ0-_./ \n", max_size=9))
def test_a_label_key_is_what_kubernetes_accepts(text: str) -> None:
    assert accepts(LabelKey, text) == is_label_key(text)
    name = re.fullmatch("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", text)
    assert accepts(LabelValue, text) == (not text or name is not None)


@pytest.mark.parametrize(
    ("kind", "spec", "message", "advice"),
    [
        (
            "Spread",
            "{match: {labels: {matchLabels: {app label: web}}}}",
            "5:35: spec.match.labels.matchLabels.app label: must be a label key",
            "",
        ),
        (
            "Spread",
            "{match: {labels: {matchLabels: {app: web-*}}}}",
            "5:40: spec.match.labels.matchLabels.app: must be a label value",
            "",
        ),
        (
            "Spread",
            "{match: {labels: {matchExpressions: [{key: a, operator: In, values: [a b]}]}}}",
            "5:72: spec.match.labels.matchExpressions.0.values.0: must be a label value",
            "",
        ),
        (
            "Spread",
            "{match: {all: true}, topologyKey: topology.kubernetes.io/ zone}",
            "5:37: spec.topologyKey: must be a label key",
            "`topology.kubernetes.io/zone`",
        ),
        (
            "Spread",
            "{match: {all: true}, constraints: [{topologyKey: a, within: b c}]}",
            "5:63: spec.constraints.0.within: must be a label key",
            "`bc`",
        ),
        (
            "Spread",
            "{match: {all: true}, constraints: [{topologyKey: a, matchLabelKeys: [b c]}]}",
            "spec.constraints.0.matchLabelKeys.0: must be a label key",
            "",
        ),
        (
            "Spread",
            "{match: {namespaces: [kube-*]}}",
            "5:25: spec.match.namespaces.0: must be the name of a namespace",
            "each name in full",
        ),
        (
            "Limits",
            "{tenantLabel: my team}",
            "5:17: spec.tenantLabel: must be a label key",
            "`myteam`",
        ),
        ("Limits", "{protectedNamespaces: [Payments]}", "must be the name of a name", "`payments`"),
        (
            "Limits",
            "{protectedNamespaces: ['Pay*']}",
            "must be the name of a namespace, or how several begin",
            "`pay*`",
        ),
        (
            "Locality",
            "{match: {all: true}, podAffinity: true, levels: [{name: rack, labels: [my rack]}]}",
            "spec.levels.0.labels.0: must be a label key",
            "",
        ),
        (
            "Locality",
            "{match: {all: true}, datasets: {nodeLabel: 'has/{datset}'}}",
            "spec.datasets.nodeLabel: must be a label key, in which {dataset} and {namespace} may",
            "",
        ),
        (
            "Conformity",
            "{match: {all: true}, nodeTaints: {ignore: [my taint]}}",
            "spec.nodeTaints.ignore.0: must be `key`, `key=value` or a prefix with",
            "",
        ),
    ],
)
def test_an_impossible_name_is_reported_at_its_place(
    tmp_path: Path, kind: str, spec: str, message: str, advice: str
) -> None:
    (tmp_path / "a.yaml").write_text(HEAD.format(kind=kind) + f"  {spec}\n")
    with pytest.raises(PolicyError) as caught:
        load_policies(tmp_path / "a.yaml")
    assert message in str(caught.value)
    assert not advice or f"\n  Maybe {advice}" in str(caught.value)

"""Whatever restricts evictions in a file restricts them in what is made of it."""

import json
from typing import Any

import pytest

from rescheduler.documents.envelope import API_VERSION
from rescheduler.documents.file_problems import LINE_ENDS
from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.conversion import source_forms, yaml_text
from rescheduler.policies.conversion.draft import MatchDraft
from rescheduler.policies.conversion.foreign_fields import ForeignNamespaces
from rescheduler.policies.conversion.source_forms import convert
from tests.cases import every
from tests.policies.conversion.converting import converted, refusal, specs
from tests.policies.conversion.inputs import HELM, V1ALPHA1

EXTRA = {
    "apiVersion": API_VERSION,
    "kind": "Conformity",
    "metadata": {"name": "extra"},
    "spec": {"match": {"all": True}, "podAntiAffinity": True},
}
ACTING = HELM.replace(", dry-run: true", "").replace("unknownValue: 3\n", "")
POLICY: dict[str, Any] = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
LOAD = "LowNodeLoad"


def policy_text(*configs: tuple[str, Any], plugin: str = "RemoveDuplicates") -> str:
    named = [{"name": name, "args": args} for name, args in configs]
    plugins = {"balance": {"enabled": [plugin]}}
    return json.dumps(POLICY | {"profiles": [{"pluginConfig": named, "plugins": plugins}]})


def koordinator_text(*profiles: tuple[Any, Any]) -> str:
    """Profiles with the arguments of MigrationController and of LowNodeLoad."""
    load = {"highThresholds": {"cpu": 65}}
    made = [
        {
            "name": f"p{number}",
            "plugins": {"balance": {"enabled": [{"name": LOAD}]}},
            "pluginConfig": [
                {"name": "MigrationController", "args": controller},
                {"name": LOAD, "args": load | of_load},
            ],
        }
        for number, (controller, of_load) in enumerate(profiles)
    ]
    return json.dumps(POLICY | {"kind": "DeschedulerConfiguration", "profiles": made})


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\u0085", "\n", "\r"])
def test_text_of_the_file_ends_no_comment(end: str) -> None:
    name = f"{110 * 'x'}{end}---{end}{json.dumps(EXTRA)}{end}---{end}#"
    made = converted(policy_text(("DefaultEvictor", {"priorityThreshold": {"name": name}})))
    assert [policy.name for policy in made.policies.policies] == ["duplicates"]
    comments = [line for line in LINE_ENDS.split(made.text) if '"extra"' in line]
    assert comments
    assert {line[:2] for line in comments} == {"# "}


def test_the_name_of_the_file_ends_no_comment() -> None:
    name = f"a\u2028---\u2028{json.dumps(EXTRA)}\u2028---\u2028#"
    made = convert(TextFile(name, name, policy_text()))
    assert [policy.name for policy in made.policies.policies] == ["duplicates"]


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\u0085", "\n"])
def test_line_ends_in_values_are_read_as_they_were(end: str) -> None:
    reason, plugin = f"{110 * 'x'}{end}---{end}{json.dumps(EXTRA)}", "RemoveFailedPods"
    made = converted(policy_text((plugin, {"reasons": [reason]}), plugin=plugin))
    [policy] = made.policies.policies
    assert policy.model_dump()["failed"]["reasons"] == [reason]


def test_what_is_read_again_must_be_what_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    write = yaml_text.policies_text

    def longer(*arguments: Any) -> str:
        return f"{write(*arguments)}---\n{json.dumps(EXTRA)}\n"

    monkeypatch.setattr(source_forms, "policies_text", longer)
    with pytest.raises(PolicyError, match="other policies"):
        converted(policy_text())


def test_each_profile_keeps_its_own_namespaces() -> None:
    text = koordinator_text(
        ({"namespaces": {"exclude": ["bank"]}}, {}),
        ({"namespaces": {"exclude": ["shop"]}}, {}),
        ({}, {}),
    )
    excludes = [spec["match"].get("exclude") for spec in specs(text).values()]
    assert excludes == [{"namespaces": ["bank"]}, {"namespaces": ["shop"]}, None]


@every([((1, 9), 1), ((9, 1), 1), ((3, 2), 2), (("10%", 9), 1), ((None, 9), 1), ((4,), 4)])
def test_the_stricter_limit_of_a_workload_holds(limits: tuple[Any, ...], most: int) -> None:
    name = "maxMigratingPerWorkload"
    text = koordinator_text(*(({name: limit} if limit else {}, {}) for limit in limits))
    assert converted(text).policies.limits.inFlightPerWorkload == most


def test_a_pool_keeps_the_nodes_of_the_whole_file() -> None:
    pool = {"name": "web", "nodeSelector": {"matchLabels": {"pool": "web"}}}
    document = json.loads(koordinator_text(({}, pool)))
    text = json.dumps(document | {"nodeSelector": {"matchLabels": {"kind": "worker"}}})
    [spec] = specs(text).values()
    assert spec["nodes"] == {"labels": {"matchLabels": {"kind": "worker", "pool": "web"}}}


def test_a_pod_s_namespace_is_in_both_lists() -> None:
    of_both = (
        {"namespaces": {"include": ["batch", "prod"]}},
        {"evictableNamespaces": {"include": ["batch"]}},
    )
    [spec] = specs(koordinator_text(of_both)).values()
    assert spec["match"] == {"namespaces": ["batch"]}


def test_no_policy_acts_where_two_lists_share_no_namespace() -> None:
    apart = {"namespaces": {"include": ["prod"]}}, {"evictableNamespaces": {"include": ["batch"]}}
    assert "no namespace is in all lists" in refusal(koordinator_text(apart))
    made = converted(koordinator_text(apart, ({}, {})))
    assert [policy.name for policy in made.policies.policies] == ["p1-low-node-load"]
    assert "no namespace is in all lists" in made.text.replace("\n# ", " ")


def test_an_empty_list_selects_every_namespace() -> None:
    draft = MatchDraft()
    draft.add_namespaces(ForeignNamespaces(include=["a", "b"]))
    draft.add_namespaces(ForeignNamespaces(include=[]))
    assert draft.namespaces == ["a", "b"]


def test_flags_of_descheduler_restrict_nodes_and_moves() -> None:
    flags = '{node-selector: "pool=batch", max-pods-to-evict-per-node: "3", v: 3}'
    text = ACTING.replace("{v: 3}", flags)
    spec = specs(text)["too-many-restarts"]
    assert spec["nodes"] == {"labels": {"matchLabels": {"pool": "batch"}}}
    assert "mode" not in spec
    assert converted(text).policies.limits.movesPerNode == 3


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
def test_flags_and_fields_of_the_policy_hold_together(version: str) -> None:
    own = "nodeSelector: pool=web\nmaxNoOfPodsToEvictPerNode: 3"
    policy = V1ALPHA1.partition("strategies")[2]
    body = f"{own}\nstrategies{policy}" if version == "v1alpha1" else ""
    body = (
        body or f"{own}\n" + ACTING.partition("deschedulerPolicy:\n")[2].replace("\n  ", "\n")[2:]
    )
    inner = "".join(f"  {line}\n" for line in body.splitlines())
    flags = "cmdOptions: {node-selector: tier=a, max-pods-to-evict-per-node: 2}\n"
    text = f"{flags}deschedulerPolicyAPIVersion: descheduler/{version}\ndeschedulerPolicy:\n{inner}"
    for spec in specs(text).values():
        assert spec["nodes"] == {"labels": {"matchLabels": {"tier": "a", "pool": "web"}}}
    assert converted(text).policies.limits.movesPerNode == 2


@every(
    [
        ("cmdOptions: {v: 3}", None),
        ("cmdOptions: {logging-format: json, secure-port: 10258, leader-elect: true}", None),
        ("cmdOptions: {max-pods-to-evict-per-node: 0}", None),
        ("suspend: false", None),
        ('command: ["/bin/descheduler"]', None),
        ("suspend: true", "Audit"),
        ("suspend: 'yes'", "Audit"),
        ("cmdOptions: {dry-run: true}", "Audit"),
        ("cmdOptions: {some-flag: 3}", "Audit"),
        ("cmdOptions: {policy-config-file: /else}", "Audit"),
        ("cmdOptions: [--node-selector=a]", "Audit"),
        ("cmdOptions: {node-selector: ''}", "Audit"),
        ("cmdOptions: {node-selector: '=a'}", "Audit"),
        ("cmdOptions: {max-pods-to-evict-per-node: some}", "Audit"),
        ('command: ["/bin/descheduler", "--dry-run"]', "Audit"),
    ]
)
def test_values_that_may_restrict_let_nothing_act(value: str, mode: str | None) -> None:
    text = ACTING.replace("cmdOptions: {v: 3}", value)
    assert specs(text)["too-many-restarts"].get("mode") == mode

"""Loading policies: every problem of every file at once, each with its place and advice."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.documents.envelope import digest, to_document
from rescheduler.model.errors import PolicyError
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.files.policy_set import (
    limits_from_document,
    policy_from_document,
    policy_set,
)
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import Target, Targets
from rescheduler.sources.policy_files import load_policies

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: Spread\nmetadata: {name: s}\n"
SPREAD = HEAD + "spec:\n  match: {all: true}\n"
LIMITS = "apiVersion: rescheduler.io/v1alpha1\nkind: Limits\nmetadata: {name: l}\nspec: {}\n"


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def refusal(path: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        load_policies(path)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_folder_is_one_set(tmp_path: Path) -> None:
    written(tmp_path, a=SPREAD, b=LIMITS, a_test="not: a policy")
    (tmp_path / "notes.txt").write_text("no policy")
    loaded = load_policies(tmp_path)
    assert [(policy.kind, policy.name) for policy in loaded.policies] == [("Spread", "s")]
    assert loaded.limits.name == "l"
    assert loaded.files == {"s": str(tmp_path / "a.yaml"), "l": str(tmp_path / "b.yaml")}


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    data = tmp_path / "..data"
    data.mkdir()
    written(data, a=SPREAD)
    (tmp_path / "a.yaml").symlink_to(data / "a.yaml")
    assert len(load_policies(tmp_path).policies) == 1


def test_layout_and_comments_do_not_change_the_digest(tmp_path: Path) -> None:
    written(tmp_path, a=SPREAD)
    plain = load_policies(tmp_path / "a.yaml")
    written(tmp_path, a="# hello\n" + SPREAD + "  maxSkew: 1 # the default\n")
    assert load_policies(tmp_path / "a.yaml").digests == plain.digests
    written(tmp_path, a=SPREAD + "  maxSkew: 2\n")
    assert load_policies(tmp_path / "a.yaml").digests != plain.digests


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    written(
        tmp_path,
        a=HEAD + "spec:\n  match: {all: true}\n  maxSkw: 1\n  maxSkew: 0\n  mode: enforce\n",
        b="a: [",
        c=SPREAD,
        d=HEAD.replace("Spread", "Spred") + "spec: {}\n",
    )
    answer = refusal(tmp_path)
    assert f"{tmp_path}/a.yaml:6:3: spec.maxSkw: unknown field `maxSkw`" in answer
    assert "     6 |   maxSkw: 1\n       |   ^^^^^^\n  Maybe `maxSkew`" in answer
    assert f"{tmp_path}/a.yaml:7:12: spec.maxSkew: must be 1 or more (got 0)" in answer
    assert f"{tmp_path}/a.yaml:8:9: spec.mode: must be 'Audit' or 'Enforce'" in answer
    assert f"{tmp_path}/b.yaml:1:5: not YAML" in answer
    assert f"{tmp_path}/d.yaml:2:7: kind: unknown kind `Spred`" in answer
    assert "Maybe `Spread`" in answer
    assert answer.startswith("5 problems in 3 of 4 files\n")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}", "spec.match: is required"),
        ("[]", "spec: must be a mapping"),
        ("{match: {}}", "an empty match is refused"),
        ("{match: {labels: {}}}", "an empty selector is refused"),
        ("{match: {labels: {matchLabels: {}}}}", "an empty selector is refused"),
        ("{match: {all: true, namespaces: [a]}}", "`all: true` excludes"),
        ("{match: {all: yes}}", "spec.match.all: must be true (got 'yes')"),
        ("{match: {namespaces: []}}", "must have at least 1 entry"),
        ("{match: {namespaces: ml}}", "spec.match.namespaces: must be a list (got 'ml')"),
        ("{match: {namespaces: [1]}}", "spec.match.namespaces.0: must be text (got 1)"),
        ("{match: {labels: {matchLabels: {a: 1}}}}", "matchLabels.a: must be text (got 1)"),
        ("{match: {all: true}, maxSkew: '1'}", "must be a whole number (got '1')"),
        ("{match: {all: true}, maxSkew: 1.5}", "must be a whole number (got 1.5)"),
        ("{match: {all: true}, maxSkew: true}", "must be a whole number (got true)"),
        ("{match: {all: true}, weight: -1}", "must be 0 or more (got -1)"),
        ("{match: {all: true}, weight: .inf}", "must be a number (got '.inf')"),
        ("{match: {all: true}, topologyKey: ''}", "must not be empty"),
        ("{match: {all: true}, name: x}", "spec.name: unknown field `name`"),
        ("{match: {all: true}, kind: x}", "spec.kind: unknown field `kind`"),
        (
            "{match: {labels: {matchExpressions: [{key: a, operator: in, values: [b]}]}}}",
            "matchExpressions.0.operator: must be 'In', 'NotIn', 'Exists' or 'DoesNotExist'",
        ),
    ],
)
def test_a_wrong_spread_is_reported(tmp_path: Path, spec: str, message: str) -> None:
    answer = refusal(written(tmp_path, a=HEAD + f"spec: {spec}\n"))
    assert message in answer
    assert "1 problem in 1 of 1 file" in answer


@pytest.mark.parametrize(
    ("more", "message", "advice"),
    [
        ("targets: {}", "at least one of gpu, gpuMemory, cpu, memory, network", ""),
        ("targets: {gpu: {high: 50}}", "must be 1 or less (got 50)", "Maybe `50%`"),
        ("targets: {gpu: {high: 150%}}", "must be a percentage", ""),
        ("targets: {gpu: {high: 50%, low: 60%}}", "low must not be above high", ""),
        ("targets: {gpus: {high: 50%}}", "unknown field `gpus`", "Maybe `gpu`"),
        ("targets: {gpu: {hihg: 50%, high: 1}}", "unknown field `hihg`", "Maybe `high`"),
        ("targets: {gpu: {high: 50%}}\n  window: 22:30", "must be a duration with a unit", ""),
        ("targets: {gpu: {high: 50%}}\n  window: 300", "must be a duration with a unit", ""),
        ("targets: {gpu: {high: 50%}}\n  window: 0s", "must be more than 0s", ""),
    ],
)
def test_a_wrong_utilization_is_reported(
    tmp_path: Path, more: str, message: str, advice: str
) -> None:
    text = HEAD.replace("Spread", "Utilization")
    text += f"spec:\n  nodes: {{all: true}}\n  match: {{all: true}}\n  {more}\n"
    answer = refusal(written(tmp_path, a=text))
    assert message in answer
    assert advice in answer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "1:1: a document must be a mapping"),
        ("kind: Spread\n", "apiVersion: is required"),
        (SPREAD.replace("v1alpha1", "v1"), "apiVersion: must be rescheduler.io/v1alpha1"),
        (SPREAD.replace("kind: Spread\n", ""), "kind: is required"),
        (SPREAD.replace("{name: s}", "{}"), "metadata.name: is required"),
        (SPREAD.replace("{name: s}", "{name: 7}"), "metadata.name: must be text (got 7)"),
        (SPREAD.replace("{name: s}", "[]"), "metadata: must be a mapping"),
        (SPREAD.replace("{name: s}", "{name: s, labels: {a: 1}}"), "metadata.labels.a: must be"),
        (SPREAD + "status: {}\n", "status: unknown field `status`"),
        (HEAD, "spec: is required"),
        (f"{SPREAD}---\n{SPREAD}", "metadata.name: `s` is the name in"),
        (f"{LIMITS}---\n{LIMITS.replace('name: l', 'name: m')}", "kind: limits are given in"),
        (LIMITS.replace("{}", "{coolDown: 2h, coolDownCap: 1h}"), "coolDownCap must not be below"),
        (LIMITS.replace("{}", "{kueue: Restart}"), "kueue: Restart needs gangs: Whole"),
        (LIMITS.replace("{}", "{kueue: Restart, gangs: Surplus}"), "needs gangs: Whole"),
    ],
)
def test_a_wrong_envelope_is_reported(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(written(tmp_path, a=text))


def test_nothing_to_load_is_reported(tmp_path: Path) -> None:
    assert "holds no *.yaml file" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "absent")
    written(tmp_path, a="# nothing\n")
    assert "holds no policy" in refusal(tmp_path)
    written(tmp_path, a=LIMITS)
    assert "holds no policy" in refusal(tmp_path)
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    assert "is not text in UTF-8" in refusal(tmp_path / "a.yaml")


@settings(max_examples=60)
@given(
    seconds=st.integers(1, 10**7),
    micros=st.integers(0, 999_999),
    high=st.floats(0, 1),
    weight=st.floats(0, 1000),
    skew=st.integers(1, 10_000),
)
def test_a_document_gives_the_same_policy_again(
    seconds: int, micros: int, high: float, weight: float, skew: int
) -> None:
    window = timedelta(seconds=seconds, microseconds=micros)
    for made in (
        Spread(name="s", match=Match(namespaces=["ml"]), maxSkew=skew, weight=weight),
        Utilization(
            name="u",
            nodes=NodeMatch(all=True),
            match=Match(all=True),
            targets=Targets(gpu=Target(high=high)),
            window=window,
        ),
    ):
        again = policy_from_document(to_document(made))
        assert again == made
        assert digest(again) == digest(made)
    limits = Limits(
        coolDown=window, coolDownCap=window, maxHotShare=high, movesPerNode="5%", movesPerDay=1
    )
    assert limits_from_document(to_document(limits)) == limits


@pytest.mark.parametrize("document", [{}, {"kind": "Limits"}, to_document(Limits())])
def test_a_document_that_is_no_policy_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        policy_from_document(document)


def test_a_set_that_comes_from_no_file_needs_unique_names() -> None:
    made = Spread(name="s", match=Match(all=True))
    assert policy_set([made]).digests == {"s": digest(made)}
    with pytest.raises(PolicyError, match="the same name"):
        policy_set([made, made])

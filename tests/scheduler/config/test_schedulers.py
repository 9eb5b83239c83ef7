"""Which profile is followed: the default, a document, a whole configuration, or /configz."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.documents.envelope import to_document
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.errors import PolicyError
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import scheduler_from_document
from rescheduler.scheduler.config.default_profile import default_profiles
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import digest, schedulers_of
from rescheduler.scheduler.profile import Profile
from rescheduler.sources.policy_files import load_policies
from tests.cases import every
from tests.policies.scheduler_documents import SCHEDULERS, USUAL, configuration, document
from tests.scheduler.config.observed import agreed, cluster, complete, observed, plugins


def declared(**spec: Any) -> Scheduler:
    return scheduler_from_document(document("mine", **spec))


def configured(*profiles: dict[str, Any], **more: Any) -> dict[str, Profile]:
    made = declared(configuration=configuration(*profiles, **more))
    return schedulers_of(cluster(), [made]).profiles


def test_by_default_a_scheduler_has_the_default_profile_of_its_version() -> None:
    found = schedulers_of(cluster())
    assert found.profiles == default_profiles("v1.36.3")
    [reported] = found.results()
    assert (reported.name, reported.version, reported.problem) == (USUAL, "1.36", None)
    assert reported.source == "default profile of v1.36.3"
    assert reported.profile["weights"]["TaintToleration"] == 3
    assert not found.guards


def test_a_document_changes_what_it_says_and_nothing_else() -> None:
    usual = default_profiles("v1.36.3")[USUAL]
    made = schedulers_of(cluster(), [declared(weights={"ImageLocality": 7})]).profiles[USUAL]
    assert made == replace(usual, weights={**usual.weights, "ImageLocality": 7})
    off = schedulers_of(cluster(), [declared(disabledScores=["ImageLocality"])]).profiles[USUAL]
    assert "ImageLocality" not in off.weights
    older = schedulers_of(cluster(), [declared(version="1.35")]).profiles[USUAL]
    assert older == default_profiles("v1.35.0")[USUAL]


def test_a_scheduler_that_counts_requests_otherwise_is_not_followed() -> None:
    other = declared(version="1.33", schedulerName="other")
    older = schedulers_of(cluster(), [other]).profiles["other"]
    assert "counts pod-level requests otherwise than 1.36 does" in older.problem


def test_every_field_of_a_document_is_followed() -> None:
    made = scheduler_from_document(SCHEDULERS[0])
    profile = schedulers_of(cluster(), [made]).profiles["packer"]
    assert profile.problem == ""
    assert profile.percentage == 10
    assert profile.strategy.shape == ((0, 0), (90, 10))
    assert profile.strategy.resources == (("cpu", 3),)
    assert profile.balanced_resources == ("cpu", "x/y")
    assert profile.ignored_resources == {"example.com/a"}
    assert profile.hard_pod_affinity_weight == 5
    assert profile.capacity_scoring
    assert "NodePorts" not in profile.filters
    assert "VolumeBinding" not in profile.weights
    constraints = profile.default_constraints
    assert constraints is not None
    assert constraints[0].topologyKey == "a"
    affinity = profile.added_affinity
    assert affinity is not None
    assert affinity.requiredDuringSchedulingIgnoredDuringExecution is not None


@pytest.mark.parametrize("spec", [{"weights": {"ImageLocality": 7}}, {"arguments": {}}, {}])
def test_a_document_is_the_same_after_it_was_written_out(spec: dict[str, Any]) -> None:
    made = declared(**spec)
    assert scheduler_from_document(to_document(made)) == made


def test_a_whole_configuration_is_the_same_after_it_was_written_out() -> None:
    whole = configuration({"schedulerName": "a"}, {"schedulerName": "b"}, parallelism=8)
    made = declared(configuration=whole)
    again = scheduler_from_document(to_document(made))
    assert again.names == ["a", "b"]
    first, second = (schedulers_of(cluster(), [scheduler]).profiles for scheduler in (made, again))
    assert first == second
    assert set(first) == {"a", "b", USUAL}


@every(
    [
        ({}, {}),
        (plugins(multiPoint={"off": ["ImageLocality"]}), {"ImageLocality": None}),
        (plugins(score={"off": ["ImageLocality"]}), {"ImageLocality": None}),
        (
            plugins(score={"off": ["ImageLocality"], "on": {"ImageLocality": 9}}),
            {"ImageLocality": 9},
        ),
        (plugins(score={"on": {"ImageLocality": 9}}), {"ImageLocality": 9}),
        (plugins(score={"on": {"NodeAffinity": 0}}), {"NodeAffinity": 1}),
        (plugins(multiPoint={"on": {"TaintToleration": 5}}), {"TaintToleration": 5}),
        (
            plugins(
                multiPoint={"on": {"TaintToleration": 5}}, score={"on": {"TaintToleration": 6}}
            ),
            {"TaintToleration": 6},
        ),
    ]
)
def test_weights_come_about_as_the_scheduler_merges_them(profile: Any, expected: Any) -> None:
    usual = default_profiles("v1.36.3")[USUAL]
    wanted = {**usual.weights, **expected}
    made = configured(profile)[USUAL]
    assert made.problem == ""
    assert made.weights == {name: weight for name, weight in wanted.items() if weight is not None}
    assert made.filters == usual.filters


def test_an_asterisk_turns_all_off_but_what_is_named() -> None:
    made = configured(plugins(score={"off": ["*"], "on": {"NodeResourcesFit": 2}}))[USUAL]
    assert made.weights == {"NodeResourcesFit": 2}
    assert made.problem == ""
    bare = configured(
        plugins(
            multiPoint={"off": ["*"], "on": {"NodeName": 0, "NodeResourcesFit": 0}},
            queueSort={"on": {"PrioritySort": 0}},
        )
    )[USUAL]
    assert bare.filters == {"NodeName", "NodeResourcesFit"}
    assert bare.weights == {"NodeResourcesFit": 1}
    assert bare.problem == ""


@every(
    [
        (plugins(filter={"on": {"Mine": 0}}), "its plugin Mine is not modelled"),
        (plugins(permit={"on": {"Mine": 0}}), "its plugin Mine is not modelled"),
        (plugins(filter={"off": ["NodePorts"]}), "NodePorts is on at some extension points only"),
        (plugins(preScore={"off": ["InterPodAffinity"]}), "InterPodAffinity is on at some"),
        (
            {"pluginConfig": [{"name": "VolumeBinding", "args": {"shape": [{"utilization": 1}]}}]},
            "the shape of its plugin VolumeBinding is not modelled",
        ),
    ]
)
def test_what_is_not_modelled_is_a_problem(profile: Any, problem: str) -> None:
    assert problem in configured(profile)[USUAL].problem


def test_an_added_plugin_that_is_declared_harmless_is_none() -> None:
    whole = configuration(plugins(permit={"on": {"Mine": 0}}))
    mine = [{"name": "Mine", "affectsPlacement": False}]
    made = declared(configuration=whole, addedPlugins=mine)
    assert schedulers_of(cluster(), [made]).profiles[USUAL].problem == ""
    short = declared(addedPlugins=[{"name": "Mine"}])
    assert "plugin Mine" in schedulers_of(cluster(), [short]).profiles[USUAL].problem


URL = "http://extender"


@every(
    [
        ({"filterVerb": "filter"}, [], f"the extender {URL} may decide where it goes", []),
        ({"filterVerb": "filter"}, [URL], f"the extender {URL} may decide where it goes", []),
        (
            {"filterVerb": "filter", "ignorable": True},
            [],
            f"the extender {URL} may decide where it goes",
            [],
        ),
        ({"filterVerb": "filter", "ignorable": True}, [URL], "", []),
        (
            {"prioritizeVerb": "p", "weight": 1},
            [],
            f"the extender {URL} may decide where it goes",
            [],
        ),
        ({"preemptVerb": "preempt"}, [], "", []),
        ({"filterVerb": "f", "managedResources": [{"name": "a/b"}]}, [], "", ["a/b"]),
    ]
)
def test_extenders(extender: Any, harmless: Any, problem: str, beyond: Any) -> None:
    whole = configuration({}, extenders=[{"urlPrefix": URL, **extender}])
    made = declared(configuration=whole, harmlessExtenders=harmless)
    profile = schedulers_of(cluster(), [made]).profiles[USUAL]
    assert profile.problem.startswith(problem)
    assert bool(profile.problem) == bool(problem)
    assert list(profile.beyond_us) == beyond


def test_the_key_of_an_extender_is_never_written_out() -> None:
    secret = {"urlPrefix": URL, "tlsConfig": {"keyData": "c2VjcmV0"}}
    made = declared(configuration=configuration({}, extenders=[secret]))
    assert "c2VjcmV0" not in str(to_document(made))


def test_configz_alone_is_followed() -> None:
    found = agreed(observed(complete(), complete("other", score={"off": ["ImageLocality"]})))
    assert found.profiles[USUAL] == default_profiles("v1.36.3")[USUAL]
    assert "ImageLocality" not in found.profiles["other"].weights
    assert found.by_name["other"].source == "/configz of 10.0.0.5:10259"


def test_what_configz_leaves_out_is_off() -> None:
    reported = complete()
    entries = reported["plugins"]["multiPoint"]["enabled"]
    entries[:] = [entry for entry in entries if entry["name"] != "ImageLocality"]
    assert "ImageLocality" not in agreed(observed(reported)).profiles[USUAL].weights


def test_a_document_and_configz_that_agree_are_both_named() -> None:
    found = agreed(observed(complete()), declared())
    assert found.by_name[USUAL].source == "document mine, as /configz of 10.0.0.5:10259 reports too"
    assert found.profiles[USUAL].problem == ""


def test_a_weight_of_what_does_not_score_yet_is_no_disagreement() -> None:
    """Up to 1.34 /configz gives DynamicResources, which does not score, the weight of all: 1."""
    usual = default_profiles("v1.34.4")[USUAL]
    every = {**dict.fromkeys(sorted(usual.filters), 0), **usual.weights}
    assert every["DynamicResources"] == 0
    reported = {
        "schedulerName": USUAL,
        **plugins(multiPoint={"on": every | {"DynamicResources": 1}}),
    }
    found = agreed(observed(reported, version="v1.34.4", gates={}), declared(version="1.34"))
    assert found.profiles[USUAL].problem == ""
    assert found.profiles[USUAL] == usual


@every(
    [
        ({"weights": {"ImageLocality": 5}}, "weights.ImageLocality is declared as 5 and runs as 1"),
        (
            {"disabledScores": ["ImageLocality"]},
            "ImageLocality is declared as absent and runs as 1",
        ),
        ({"disabledFilters": ["NodePorts"]}, "NodePorts is declared not to filter, and does"),
        ({"percentageOfNodesToScore": 5}, "percentage is declared as 5 and runs as 0"),
        ({"version": "1.35"}, 'version is declared as "1.35" and runs as "1.36"'),
        (
            {"featureGates": {"NodeDeclaredFeatures": False}},
            "feature gate NodeDeclaredFeatures is off, and the scheduler has it on",
        ),
        ({"addedPlugins": [{"name": "Mine"}]}, "its plugin Mine is not modelled"),
    ]
)
def test_a_document_and_configz_that_disagree_predict_nothing(spec: Any, words: str) -> None:
    found = agreed(observed(complete()), declared(**spec))
    problem = found.profiles[USUAL].problem
    assert problem.startswith("document mine and /configz of 10.0.0.5:10259 disagree: ")
    assert words in problem
    [reported] = found.results()
    assert reported.problem is not None
    assert words in reported.problem.message


def test_the_gates_that_the_scheduler_reports_apply_to_its_document() -> None:
    reported = observed(complete(), gates={"StorageCapacityScoring": True})
    assert agreed(reported).profiles[USUAL].capacity_scoring
    found = agreed(reported, declared())
    assert found.profiles[USUAL].problem == ""
    assert found.profiles[USUAL].capacity_scoring


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        (ObservedScheduler("https://x", problem=Problem("GRD010", "no route")), "no route"),
        (observed(whole={"profiles": ["odd"]}), "profiles.0: must be a mapping"),
        (ObservedScheduler("https://x", version="v1.36.3"), "x is not understood: apiVersion"),
    ],
)
def test_a_scheduler_that_cannot_be_understood_holds_the_cycle(
    reported: ObservedScheduler, words: str
) -> None:
    found = agreed(reported, declared())
    [guard] = found.guards
    assert guard.code == "GRD010"
    assert words in guard.message
    assert {scheduler.profile.problem for scheduler in found.by_name.values()} == {guard.message}


def test_a_profile_other_than_the_plans_predicts_nothing() -> None:
    pinned = {name: digest(profile) for name, profile in schedulers_of(cluster()).profiles.items()}
    same = schedulers_of(cluster(), (), pinned).profiles[USUAL]
    assert same.problem == ""
    changed = schedulers_of(cluster(), [declared(weights={"NodeAffinity": 9})], pinned)
    assert "another than the one that the plan was made with" in changed.profiles[USUAL].problem
    added = schedulers_of(cluster(), [declared(schedulerName="new")], pinned)
    assert added.profiles["new"].problem


def folder(tmp_path: Path, spec: dict[str, Any], **files: str) -> Path:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document("mine", **spec)))
    policies = Path(__file__).parents[3] / "policies"
    (tmp_path / "spread.yaml").write_text((policies / "spread.yaml").read_text())
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_a_file_beside_the_document_becomes_part_of_it(tmp_path: Path) -> None:
    kube = yaml.safe_dump(configuration({"schedulerName": "a"}, {"schedulerName": "b"}))
    loaded = load_policies(folder(tmp_path, {"configFile": "kube.yaml"}, kube=kube))
    [made] = loaded.schedulers
    assert made.names == ["a", "b"]
    assert made.configFile is None
    other = kube.replace("schedulerName: b", "schedulerName: c")
    again = load_policies(folder(tmp_path, {"configFile": "kube.yaml"}, kube=other))
    assert loaded.digests["mine"] != again.digests["mine"]


def test_a_file_that_cannot_be_read_is_reported_once_where_it_is_named(tmp_path: Path) -> None:
    made = folder(tmp_path, {"configFile": "kube.yaml"})
    (made / "kube.yaml").write_bytes(b"\xff")
    with pytest.raises(PolicyError) as caught:
        load_policies(made)
    [place] = caught.value.places
    assert Path(place.file).name == "mine.yaml"
    assert place.message == f"spec.configFile: {made / 'kube.yaml'} is not text in UTF-8"


@pytest.mark.parametrize(
    ("spec", "files", "words"),
    [
        ({"configFile": "none.yaml"}, {}, "spec.configFile: "),
        ({"configFile": "kube.yaml"}, {"kube": "a: 1"}, "kube.yaml:1:1: apiVersion: is required"),
        (
            {"configFile": "kube.yaml"},
            {"kube": yaml.safe_dump(configuration({"plugin": 1}))},
            "profiles.0.plugin: unknown field `plugin`\n",
        ),
        ({}, {"kube": yaml.safe_dump(configuration())}, "name this file as `configFile`"),
        ({}, {"two": yaml.safe_dump(document("two"))}, "is declared in"),
        ({"configFile": "a", "weights": {"NodeAffinity": 1}}, {}, "weights is set by the conf"),
        ({"weights": {"NodeAfinity": 1}}, {}, "spec.weights.NodeAfinity"),
        (
            {
                "configuration": configuration(
                    {"pluginConfig": [{"name": "NodeAffinity", "args": {"added": 1}}]}
                )
            },
            {},
            "args.added: unknown field `added`",
        ),
    ],
)
def test_mistakes_are_reported_with_their_place(
    tmp_path: Path, spec: Any, files: Any, words: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policies(folder(tmp_path, spec, **files))
    assert words in str(caught.value)

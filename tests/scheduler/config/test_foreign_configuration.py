"""A KubeSchedulerConfiguration in its own file is read as kube-scheduler reads it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.files.policy_warnings import warnings
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.sources.policy_files import load_policies
from tests.cluster import node, snapshot
from tests.policies.scheduler_documents import GROUP, USUAL, document

HEAD = f"apiVersion: {GROUP}\nkind: KubeSchedulerConfiguration\n"


def loaded(folder: Path, text: str, **spec: Any) -> PolicySet:
    (folder / "mine.yaml").write_text(
        yaml.safe_dump(document("mine", **{"configFile": "kube.yaml", **spec}))
    )
    policies = Path(__file__).parents[3] / "policies"
    (folder / "spread.yaml").write_text((policies / "spread.yaml").read_text())
    (folder / "kube.yaml").write_text(text)
    return load_policies(folder)


def refused(folder: Path, text: str) -> list[str]:
    """The problems of the file, each with its line and column."""
    with pytest.raises(PolicyError) as caught:
        loaded(folder, text)
    return [f"{place.line}:{place.column}: {place.message}" for place in caught.value.places]


def warned(folder: Path, text: str, **spec: Any) -> list[str]:
    return [warning.report() for warning in warnings(loaded(folder, text, **spec))]


@pytest.mark.parametrize("yes", ["yes", "on", "y", "True", "ON"])
@pytest.mark.parametrize("no", ["no", "off", "n", "False", "OFF"])
def test_booleans_of_yaml_1_1_are_booleans(tmp_path: Path, yes: str, no: str) -> None:
    text = f"""{HEAD}enableProfiling: {no}
leaderElection: {{leaderElect: {yes}}}
extenders:
- {{urlPrefix: "http://x", filterVerb: filter, enableHTTPS: {no}, ignorable: {yes}}}
"""
    [made] = loaded(tmp_path, text).schedulers
    assert made.configuration is not None
    assert made.configuration.enableProfiling is False
    assert made.extenders[0].ignorable is True
    assert made.extenders[0].enableHTTPS is False


def test_numbers_of_yaml_1_1_are_numbers(tmp_path: Path) -> None:
    text = f"{HEAD}parallelism: 1_6\npodMaxBackoffSeconds: 010\npercentageOfNodesToScore: 5e1\n"
    [made] = loaded(tmp_path, text + "podInitialBackoffSeconds: 0x2\n").schedulers
    found = made.configuration
    assert found is not None
    assert (found.parallelism, found.podMaxBackoffSeconds) == (16, 8)
    assert (found.percentageOfNodesToScore, found.podInitialBackoffSeconds) == (50, 2)


def test_a_word_in_quotes_is_no_boolean(tmp_path: Path) -> None:
    [found] = refused(tmp_path, f"{HEAD}enableProfiling: 'no'\n")
    assert found.startswith("3:18: enableProfiling: must be true or false (got 'no')")
    [found] = refused(tmp_path, f"{HEAD}profiles:\n- schedulerName: yes\n")
    assert found.startswith("4:18: profiles.0.schedulerName: must be text (got true)")


def test_in_our_own_document_the_word_of_yaml_1_1_is_explained(tmp_path: Path) -> None:
    text = f"{HEAD}enableProfiling: no\n"
    whole = {**yaml.safe_load(text), "enableProfiling": "no"}
    with pytest.raises(PolicyError, match="Maybe `false`"):
        loaded(tmp_path, text, configFile=None, configuration=whole)


def test_null_is_what_is_not_said(tmp_path: Path) -> None:
    text = f"""{HEAD}extenders: null
profiles:
- plugins: {{score: ~, multiPoint: null, filter: {{enabled: Null, disabled: }}}}
  pluginConfig: [{{name: InterPodAffinity, args: {{hardPodAffinityWeight: null}}}}]
"""
    assert schedulers_of(snapshot([node("a")], []), loaded(tmp_path, text).schedulers).profiles


def test_anchors_merges_and_tags_are_followed(tmp_path: Path) -> None:
    text = f"""{HEAD}profiles:
- &first
  plugins: &plugins {{score: {{disabled: [{{name: ImageLocality}}]}}}}
  percentageOfNodesToScore: !!int 40
  schedulerName: a
- {{schedulerName: !!str b, plugins: *plugins}}
- schedulerName: c
  plugins:
    <<: *plugins
    filter: {{}}
- <<: [*other]
"""
    found = refused(tmp_path, text)
    assert "no anchor `other` comes before this alias" in found[0]
    [made] = loaded(tmp_path, text.replace("- <<: [*other]\n", "")).schedulers
    assert made.configuration is not None
    assert made.names == ["a", "b", "c"]
    for _, profile in made.configuration.profiles_in_force:
        assert profile.plugins is not None
        assert profile.plugins.score.disabled


def test_a_merge_does_not_repeat_a_key(tmp_path: Path) -> None:
    text = f"""{HEAD}profiles:
- &first {{schedulerName: a, percentageOfNodesToScore: 5}}
- <<: *first
  schedulerName: b
"""
    [found, *_] = refused(tmp_path, text)
    assert "the key `schedulerName` was given in line 4 already" in found


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'x'}]" for n in range(9)]
    found = refused(tmp_path, HEAD + "\n".join(levels))
    assert any("expand" in message for message in found)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta2", "v1beta3", "v2"])
def test_another_version_is_one_problem_that_says_what_to_write(
    tmp_path: Path, version: str
) -> None:
    text = HEAD.replace("/v1\n", f"/{version}\n") + "algorithmSource: {provider: x}\n"
    [found] = refused(tmp_path, text)
    assert found.startswith("1:13: apiVersion: ")
    assert f"{GROUP.removesuffix('/v1')}/{version}" in found
    assert f"`{GROUP}`" in found
    assert ("since Kubernetes 1.29" in found) == ("a" in version)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                "apiVersion: aks.azure.com/v1alpha1\nkind: SchedulerConfiguration\n"
                "spec: {rawConfig: x}\n"
            ),
            "spec.rawConfig",
        ),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {a.yaml: x}\n", "its data"),
        ("apiVersion: apps/v1\nkind: Deployment\nspec: {}\n", "KubeSchedulerConfiguration"),
    ],
)
def test_a_wrapper_is_one_problem_that_names_what_to_take(
    tmp_path: Path, text: str, words: str
) -> None:
    [found] = refused(tmp_path, text)
    assert words in found


def test_two_documents_say_which_one_kube_scheduler_reads(tmp_path: Path) -> None:
    [found] = refused(tmp_path, f"{HEAD}---\n{HEAD}")
    assert "kube-scheduler reads the first alone" in found


def args(plugin: str, text: str) -> str:
    return f"{HEAD}profiles:\n- pluginConfig:\n  - name: {plugin}\n    args:\n      {text}\n"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            args(
                "PodTopologySpread",
                "defaultConstraints: [{maxSkew: 3, topologyKey: a, "
                "whenUnsatisfiable: ScheduleAnyway}]",
            ),
            "7:7: ",
            "args.defaultingType: must be List where there are `defaultConstraints`",
        ),
        (
            args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio}"),
            "7:24: ",
            (
                "args.scoringStrategy.requestedToCapacityRatio: is required for type "
                "RequestedToCapacityRatio"
            ),
        ),
        (
            args("NodeResourcesFit", "scoringStrategy: {type: Most}"),
            "7:31: ",
            "args.scoringStrategy.type: must be 'LeastAllocated', ",
        ),
        (
            args("InterPodAffinity", "hardPodAffinityWeight: 101"),
            "7:30: ",
            "args.hardPodAffinityWeight: must be 100 or less (got 101)",
        ),
        (
            args("InterPodAffinity", "hardPodAffinityWeigth: 1"),
            "7:7: ",
            "args.hardPodAffinityWeigth: unknown field",
        ),
        (args("NodeAffinity", "kind: InterPodAffinityArgs"), "7:13: ", "must be NodeAffinityArgs"),
        (
            args("NodeAffinity", "apiVersion: kubescheduler.config.k8s.io/v1beta3"),
            "7:19: ",
            f"must be {GROUP}",
        ),
        (
            args(
                "NodeAffinity",
                "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}",
            ),
            "7:",
            "matchExpressions.0.values: ",
        ),
    ],
)
def test_mistakes_in_arguments_have_a_place_and_our_own_words(
    tmp_path: Path, text: str, place: str, words: str
) -> None:
    [found] = refused(tmp_path, text)
    assert found.startswith(place)
    assert words in found
    for leak in (": : ", "Value error", "Input should", "validation error", "args of"):
        assert leak not in found


def test_all_mistakes_in_arguments_are_reported_at_once(tmp_path: Path) -> None:
    assert len(refused(tmp_path, args("InterPodAffinity", "{hardPodAffinityWeight: a, b: 1}"))) == 2


def profile(point: str, *names: str, off: tuple[str, ...] = ()) -> str:
    entries = {"enabled": [{"name": name} for name in names]}
    if off:
        entries["disabled"] = [{"name": plugin} for plugin in off]
    made = {"schedulerName": USUAL, "plugins": {point: entries}}
    return HEAD + yaml.safe_dump({"profiles": [made]}, default_flow_style=None)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("NodeResourcesMostAllocated", "NodeResourcesFit with scoringStrategy.type: MostAllocated"),
        ("NodeResourcesLeastAllocated", "scoringStrategy.type: LeastAllocated"),
        ("RequestedToCapacityRatio", "scoringStrategy.type: RequestedToCapacityRatio"),
        ("SelectorSpread", "PodTopologySpread"),
        ("DefaultPodTopologySpread", "PodTopologySpread"),
        ("NodeLabel", "NodeAffinity"),
        ("ServiceAffinity", "InterPodAffinity"),
        ("NodePreferAvoidPods", "taints"),
        ("EBSLimits", "NodeVolumeLimits"),
        ("GCEPDLimits", "NodeVolumeLimits"),
        ("AzureDiskLimits", "NodeVolumeLimits"),
        ("CinderLimits", "NodeVolumeLimits"),
    ],
)
@pytest.mark.parametrize("point", ["score", "multiPoint"])
def test_a_plugin_that_kubernetes_removed_is_refused(
    tmp_path: Path, name: str, advice: str, point: str
) -> None:
    [found] = refused(tmp_path, profile(point, name))
    assert f"profiles.0.plugins.{point}.enabled.0.name: " in found
    assert "kube-scheduler does not start" in found
    assert advice in found


def test_a_removed_plugin_that_is_turned_off_is_no_mistake(tmp_path: Path) -> None:
    text = profile("score", "ImageLocality", off=("*", "NodeResourcesLeastAllocated"))
    assert warned(tmp_path, text) == []


@pytest.mark.parametrize(
    ("point", "name"),
    [("score", "NodeName"), ("filter", "ImageLocality"), ("permit", "PrioritySort")],
)
def test_a_plugin_where_it_has_no_part_is_refused(tmp_path: Path, point: str, name: str) -> None:
    [found] = refused(tmp_path, profile(point, name))
    assert f"`{name}` has no part at {point}" in found


def test_a_plugin_twice_at_one_point_is_refused(tmp_path: Path) -> None:
    [found] = refused(tmp_path, profile("score", "ImageLocality", "ImageLocality"))
    assert "is enabled twice" in found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parallelism: 0\n", "parallelism: must be 1 or more"),
        (
            "podInitialBackoffSeconds: 20\n",
            "podMaxBackoffSeconds: must be podInitialBackoffSeconds",
        ),
        ("profiles: [{}, {schedulerName: b}]\n", "profiles: two profiles have the same"),
        (
            (
                "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: A}]}}}, "
                "{schedulerName: b}]\n"
            ),
            "profiles.1.plugins.queueSort: must be the same in all profiles",
        ),
        ("extenders: [{prioritizeVerb: p}]\n", "extenders.0.weight: must be 1 or more where"),
        ("extenders: [{bindVerb: p}, {bindVerb: p}]\n", "extenders: only one extender can"),
        (
            "extenders: [{managedResources: [{name: a/b}, {name: a/b}]}]\n",
            "extenders: `a/b` is managed twice",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}]\n",
            "args.scoringStrategy.type: is required",
        ),
        (
            (
                "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: "
                "{ignoredResourceGroups: [a/b]}}]}]\n"
            ),
            "args.ignoredResourceGroups.0: must match",
        ),
        (
            (
                "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: "
                "{resources: [{name: a}, {name: a}]}}]}]\n"
            ),
            "args.resources.1.name: `a` is given twice",
        ),
    ],
)
def test_what_kube_scheduler_does_not_start_with_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    """Each was tried on kube-scheduler 1.36.3."""
    [found] = refused(tmp_path, HEAD + text)
    assert words in found


COSCHEDULING = ("queueSort", "preFilter", "postFilter", "permit", "reserve", "postBind")


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("Coscheduling", COSCHEDULING),
        ("CapacityScheduling", ("preFilter", "postFilter", "reserve")),
        ("QOSSort", ("queueSort",)),
        ("TopologicalSort", ("queueSort",)),
        ("PreemptionToleration", ("postFilter",)),
        ("CrossNodePreemption", ("postFilter",)),
        ("ElasticQuota", ("preFilter", "postFilter", "reserve")),
    ],
)
def test_plugins_that_neither_filter_nor_score_are_known(
    tmp_path: Path, name: str, points: tuple[str, ...]
) -> None:
    for point in (*points, "multiPoint"):
        policies = loaded(tmp_path, profile(point, name))
        found = schedulers_of(snapshot([node("a")], []), policies.schedulers).profiles[USUAL]
        assert found.problem == ""
        assert list(warnings(policies)) == []
    [warning] = warned(tmp_path, profile("filter", name))
    assert f"its plugin {name} is not modelled" in warning


@pytest.mark.parametrize(
    ("text", "words", "advice"),
    [
        (profile("filter", "Mine"), "its plugin Mine is not modelled", "addedPlugins"),
        (
            profile("score", "TargetLoadPacking"),
            "TargetLoadPacking is not modelled",
            "addedPlugins",
        ),
        (profile("score", "NodeResourceFit"), "NodeResourceFit is not", "`NodeResourcesFit`"),
        (profile("filter", off=("NodePorts",)), "NodePorts is on at some extension points", "all"),
        (
            f"{HEAD}extenders: [{{urlPrefix: 'http://x', filterVerb: f, ignorable: yes}}]\n",
            "the extender http://x may decide",
            "harmlessExtenders",
        ),
    ],
)
def test_a_scheduler_of_which_no_pod_will_move_is_said(
    tmp_path: Path, text: str, words: str, advice: str
) -> None:
    [found] = warned(tmp_path, text)
    assert f"pods of {USUAL} stay where they are" in found
    assert words in found
    assert advice in found
    assert "mine.yaml" in found


def test_a_declared_plugin_is_no_warning(tmp_path: Path) -> None:
    mine = [{"name": "Mine", "affectsPlacement": False}]
    assert warned(tmp_path, profile("permit", "Mine"), addedPlugins=mine) == []

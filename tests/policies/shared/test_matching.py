"""Which pods and nodes a policy selects, and how many."""

from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from rescheduler.documents.label_selector import Requirement, Selector
from rescheduler.kube.controllers import Namespace
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.selection import Selection
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.match import Exclude, Match
from rescheduler.policies.registry import KINDS
from rescheduler.policies.shared.matching import select_nodes, select_pods, selection_of
from rescheduler.policies.spread.policy import Spread
from tests.cases import every
from tests.cluster import node, pod, snapshot
from tests.picture import picture

TRAIN = {"matchLabels": {"tier": "train"}}


def cluster() -> Snapshot:
    made = snapshot(
        [node("n1", labels={"pool": "a"}), node("n2", labels={"pool": "b"}), node("n3")],
        [
            pod("p0", "n1", namespace="ml", labels={"tier": "train"}),
            pod("p1", "n1", namespace="ml", labels={"tier": "serve"}),
            pod("p2", "n1", namespace="web", labels={"tier": "train"}),
            pod("p3", "n1", namespace="web"),
        ],
    )
    made.namespaces[:] = [
        msgspec.convert({"metadata": {"name": "ml", "labels": {"team": "x"}}}, Namespace),
        *(namespace for namespace in made.namespaces if namespace.metadata.name != "ml"),
    ]
    return made


@every(
    [
        ({"all": True}, [0, 1, 2, 3]),
        ({"namespaces": ["ml"]}, [0, 1]),
        ({"namespaces": ["absent"]}, []),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, [0, 1]),
        ({"labels": TRAIN}, [0, 2]),
        ({"labels": TRAIN, "namespaces": ["web"]}, [2]),
        ({"labels": TRAIN, "namespaceSelector": {"matchLabels": {"team": "x"}}}, [0]),
        ({"labels": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}, [0, 1, 2]),
        ({"labels": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}}, [3]),
        (
            {
                "labels": {
                    "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["train"]}]
                }
            },
            [1, 3],
        ),
        ({"all": True, "exclude": {"namespaces": ["ml"]}}, [2, 3]),
        ({"all": True, "exclude": {"labels": TRAIN}}, [1, 3]),
        ({"all": True, "exclude": {"labels": TRAIN, "namespaces": ["ml"]}}, [1, 2, 3]),
        (
            {"all": True, "exclude": {"namespaceSelector": {"matchLabels": {"team": "x"}}}},
            [2, 3],
        ),
        ({"namespaces": ["ml"], "exclude": {"labels": TRAIN}}, [1]),
        ({"labels": TRAIN, "exclude": {"namespaces": ["web"]}}, [0]),
    ]
)
def test_pods(match: dict[str, Any], pods: list[int]) -> None:
    assert select_pods(Match(**match), cluster()).nonzero()[0].tolist() == pods


@every(
    [
        ({"all": True}, [0, 1, 2]),
        ({"labels": {"matchLabels": {"pool": "a"}}}, [0]),
        ({"labels": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}, [0, 1]),
        ({"all": True, "exclude": {"labels": {"matchLabels": {"pool": "a"}}}}, [1, 2]),
        (
            {
                "labels": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]},
                "exclude": {"labels": {"matchLabels": {"pool": "b"}}},
            },
            [0],
        ),
    ]
)
def test_nodes(match: dict[str, Any], nodes: list[int]) -> None:
    assert select_nodes(NodeMatch(**match), cluster()).nonzero()[0].tolist() == nodes


WITHOUT = Selector(matchExpressions=[Requirement(key="team", operator="DoesNotExist")])


def test_a_namespace_that_is_not_known_is_never_selected_by_its_labels() -> None:
    made = cluster()
    made.namespaces[:] = [
        namespace for namespace in made.namespaces if namespace.metadata.name != "web"
    ]
    assert not select_pods(Match(namespaceSelector=WITHOUT), made).any()
    of_y = Exclude(namespaceSelector=Selector(matchLabels={"team": "y"}))
    kept = Match(all=True, exclude=of_y)
    assert select_pods(kept, made).nonzero()[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ({"exclude": {"namespaces": ["a"]}}, "an empty match is refused"),
        ({"all": True, "exclude": {}}, "an empty exclude is refused"),
        ({"all": True, "exclude": {"all": True}}, "all"),
    ],
)
def test_an_exclude_that_leaves_nothing_or_is_empty(match: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Match(**match)


def test_a_part_of_a_namespace_may_be_excluded() -> None:
    trained = Exclude(namespaces=["ml"], labels=Selector.model_validate(TRAIN))
    made = Match(namespaces=["ml"], exclude=trained)
    assert select_pods(made, cluster()).nonzero()[0].tolist() == [1]


@every({name: (kind,) for name, kind in KINDS.items()})
def test_each_kind_says_by_match_and_nodes_what_it_selects(kind: type[Policy]) -> None:
    """What an unattended run compares from cycle to cycle; a kind without them would match all."""
    fields = kind.model_fields
    assert fields["match"].annotation is Match
    assert "nodes" not in fields or fields["nodes"].annotation in (NodeMatch, NodeMatch | None)


def test_how_many_it_selects() -> None:
    pool = NodeMatch.model_validate({"labels": {"matchLabels": {"pool": "a"}}})
    match = Match.model_validate({"labels": TRAIN})
    spread = Spread(name="zones", match=match, topologyKey="zone", nodes=pool)
    assert selection_of(spread, cluster()) == Selection(2, 1)
    everywhere = Spread(name="zones", match=Match(all=True), topologyKey="zone")
    assert selection_of(everywhere, cluster()) == Selection(4, 3)
    near = Locality.model_validate(
        {
            "name": "near",
            "match": {"namespaces": ["web"]},
            "pairs": [{"pods": {"all": True}, "near": {"all": True}}],
        }
    )
    assert selection_of(near, cluster()) == Selection(2)


def test_only_what_a_policy_finds_changes_its_meaning() -> None:
    policy = Spread(name="zones", match=Match(namespaces=["ml"]), topologyKey="zone")
    same = {"mode": "Audit", "weight": 2.0, "maxPriority": 7, "onlyIfSteered": True}
    assert policy.model_copy(update=same).meaning == policy.meaning
    written = Spread(name="zones", match=Match(namespaces=["ml"]), topologyKey="zone", maxSkew=1)
    assert written.meaning == policy.meaning, "a default that is written is the same"
    for change in ({"match": Match(all=True)}, {"maxSkew": 2}, {"name": "other"}):
        assert policy.model_copy(update=change).meaning != policy.meaning, change


DB = {"matchLabels": {"app": "db"}}


def tainted_node() -> Snapshot:
    """Three workloads on a tainted node: one with a claim of devices, one that its labels spare."""
    return picture(
        """
        zone a | n1 tainted | gpu gpu web web db db
        zone b | n2         | -
        """,
        specs={"gpu": {"resourceClaims": [{"name": "device"}]}},
    )


@every(
    [
        ({"all": True}, {"gpu", "web", "db"}),
        ({"resourceClaims": "DoesNotExist"}, {"web", "db"}),
        ({"all": True, "exclude": [{"resourceClaims": "Exists"}, {"labels": DB}]}, {"web"}),
        (
            {"all": True, "exclude": {"labels": DB, "resourceClaims": "Exists"}},
            {"gpu", "web", "db"},
        ),
    ]
)
def test_of_a_list_of_excludes_each_leaves_pods_where_they_are(
    match: dict[str, Any], evaluated: set[str]
) -> None:
    policy = Conformity.model_validate({"name": "rules", "match": match, "nodeTaints": {}})
    findings = policy.compile(tainted_node()).findings()
    assert {str(finding.subject).rpartition("/")[2] for finding in findings} == evaluated

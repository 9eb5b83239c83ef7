"""Speeds that operators declare for links which report none."""

import pytest
from pydantic import ValidationError

from rescheduler.model.cluster.readings import LinkSpeed
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import LinkTarget
from tests.cases import every


def test_declared_link_speeds_reach_the_readings_of_links_alone() -> None:
    policy = Utilization.model_validate(
        {
            "name": "u",
            "match": {"all": True},
            "nodes": {"all": True},
            "targets": {"cpu": {"high": "80%"}, "network": {"high": "70%", "linkSpeed": "10G"}},
            "groups": [
                {
                    "nodes": {"matchLabels": {"size": "big"}},
                    "targets": {"network": {"high": "70%", "linkSpeed": "37.5G"}},
                },
                {
                    "nodes": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
                    "targets": {"cpu": {"high": "70%"}},
                },
            ],
            "headroom": {},
        }
    )
    links = (
        LinkSpeed((("size", "In", ("big",)),), 37.5e9 / 8),
        LinkSpeed((("gpu", "Exists", ()),), 0.0),
        LinkSpeed((), 1.25e9),
    )
    given = {request.name: request.links for request in policy.requests()}
    network = {name for name in given if name.startswith("node.network.")}
    assert len(network) == 4, "both directions, and their peaks"
    assert all(given[name] == (links if name in network else ()) for name in given)


@every(["10", "10Gi", "0G", "-1G", "10 G", "10Gbps", 10, ""])
def test_a_link_speed_is_bits_a_second_with_a_suffix(speed: object) -> None:
    with pytest.raises(ValidationError, match="such as 10G"):
        LinkTarget.model_validate({"high": "70%", "linkSpeed": speed})

from typing import Any

import numpy as np
import pytest

from rescheduler.kube.objects import ContainerImage, PodSpec
from rescheduler.scheduler.config.default_profile import default_profile, profile_of
from rescheduler.scheduler.normalizing import ByMaximum, ByRange
from rescheduler.scheduler.plugin import Replacement
from rescheduler.scheduler.plugins.image_locality import ImageLocality, full_name
from rescheduler.scheduler.plugins.spread_score import round_half_up, spread_scores
from rescheduler.scheduler.requests import incoming_requests
from tests.cases import every
from tests.cluster import node, pod

MI = 1024 * 1024


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_spread() -> None:
    costs = round_half_up(np.array([9.4, 7.0, 5.5]))
    assert costs.tolist() == [9, 7, 6]
    assert spread_scores(costs, np.ones(3, dtype=np.bool_)).tolist() == [66, 88, 100]


def test_spread_gives_nothing_to_unscored_nodes_and_all_to_a_tie_at_zero() -> None:
    scored = np.array([True, False])
    assert spread_scores(ints(0, 0), scored).tolist() == [100, 0]
    assert spread_scores(ints(4, 9), scored).tolist() == [100, 0]


@pytest.mark.parametrize(
    ("raw", "expected"), [(ints(0, -100, 50), [66, 0, 100]), (ints(7, 7), [0, 0])]
)
def test_inter_pod_affinity(raw: Any, expected: Any) -> None:
    assert ByRange(raw).points().tolist() == expected


def test_taint_toleration() -> None:
    assert ByMaximum(ints(0, 1, 3), reverse=True).points().tolist() == [100, 67, 0]
    assert ByMaximum(ints(0, 0), reverse=True).points().tolist() == [100, 100]


def test_node_affinity() -> None:
    assert ByMaximum(ints(10, 1, 0)).points().tolist() == [100, 10, 0]
    assert ByMaximum(ints(0, 0)).points().tolist() == [0, 0]


def image_scores(images: list[str], held: dict[str, tuple[int, int]]) -> Any:
    """held: image name to its MiB and how many of the four nodes have it."""
    nodes = [node(f"n{number}") for number in range(4)]
    for number, node_object in enumerate(nodes):
        node_object.status.images = [
            ContainerImage(names=[name], sizeBytes=size * MI)
            for name, (size, count) in held.items()
            if number < count
        ]
    spec: PodSpec = pod("p", containers=[{"name": name, "image": name} for name in images]).spec
    replacement = Replacement("default", {}, spec, None, incoming_requests(spec))
    score = ImageLocality(nodes, default_profile("v1.36.3")).score(replacement)
    if score is None:
        return [0, 0, 0, 0]
    reported = score(np.arange(4, dtype=np.int32))
    assert isinstance(reported, np.ndarray)
    return reported.tolist()


@every(
    [
        (["a:1"], {"a:1": (800, 2)}, [38, 38, 0, 0]),
        (["a:1"], {"a:1": (800, 4)}, [79] * 4),
        (["a:1", "b:1"], {"a:1": (800, 4), "b:1": (40, 4)}, [41] * 4),
        (["a:1"], {"a:1": (20, 1)}, [0] * 4),
        (["a"], {"a:latest": (800, 4)}, [79] * 4),
        (["a:1"], {"docker.io/library/a:1": (800, 4)}, [0] * 4),
    ]
)
def test_image_locality(images: Any, held: Any, expected: Any) -> None:
    assert image_scores(images, held) == expected


def test_an_image_without_a_tag_is_the_latest() -> None:
    assert full_name("registry:5000/app") == "registry:5000/app:latest"
    assert full_name("registry:5000/app:2") == "registry:5000/app:2"


@pytest.mark.parametrize(
    ("version", "difference", "stamps"),
    [("v1.36.3", True, True), ("1.34.4-gke.1", False, False), ("v1.35.0-eks-1a2b", False, True)],
)
def test_a_version_decides_the_formulas(version: Any, difference: Any, stamps: Any) -> None:
    profile = profile_of(version)
    assert profile is not None
    assert (profile.balanced_difference, profile.stamps_topology) == (difference, stamps)


@every(["", "v1.32.9", "v2.0.0", "main"])
def test_a_version_that_is_not_modelled_has_no_profile(version: Any) -> None:
    assert profile_of(version) is None

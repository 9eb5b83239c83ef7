"""What pods require of each other is the same whether pods of one template share it or not."""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.planning.improve.affinities import affinities
from tests.cluster import like, node, pod, snapshot
from tests.draws import tries

HOST, ZONE = "kubernetes.io/hostname", "zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def terms(key: str, *apps: str) -> dict[str, Any]:
    return {
        REQUIRED: [
            {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} for app in apps
        ]
    }


AFFINITIES: list[dict[str, Any] | None] = [
    None,
    {"podAntiAffinity": terms(HOST, "a")},
    {"podAntiAffinity": terms(HOST, "b"), "podAffinity": terms(ZONE, "a")},
    {"podAffinity": terms(ZONE, "a", "c")},
    {"podAffinity": terms("rack", "a")},
    {"podAntiAffinity": terms(ZONE, "a")},
    {"podAntiAffinity": terms(HOST, "x")},
]
LABELS = [{}, {"app": "a"}, {"app": "b"}, {"app": "c"}, {"app": "a", "tier": "x"}]

templates = st.builds(
    lambda namespace, labels: pod("", "n1", namespace=namespace, labels=labels),
    st.sampled_from(["default", "other"]),
    st.sampled_from(LABELS),
)
SPECS = [pod("", affinity=affinity).spec for affinity in AFFINITIES]
SPECS.append(pod("", affinity=AFFINITIES[1], hostNetwork=True).spec)
NEVER = SPECS[5], SPECS[-1]


@settings(max_examples=tries(300))
@given(
    shapes=st.lists(templates, min_size=3, max_size=3),
    drawn=st.lists(
        st.tuples(
            st.integers(0, 2), st.sampled_from(SPECS), st.none() | st.sampled_from(["1", "2"])
        ),
        max_size=8,
    ),
)
def test_what_is_shared_changes_nothing(
    shapes: list[Pod], drawn: list[tuple[int, PodSpec, str | None]]
) -> None:
    made = [
        like(
            msgspec.structs.replace(shapes[shape], spec=spec),
            f"p{number}",
            "n1",
            None if cpu is None else {"cpu": cpu},
        )
        for number, (shape, spec, cpu) in enumerate(drawn)
    ]
    alone = [msgspec.msgpack.decode(msgspec.msgpack.encode(pod), type=Pod) for pod in made]
    one, other = (affinities(snapshot([node("n1")], pods)) for pods in (made, alone))
    assert one.key == other.key
    for name in ("group", "apart", "needs", "complete"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert not one.complete[[number for number, row in enumerate(drawn) if row[1] in NEVER]].any()

"""Which pods a selector selects, asked of all at once and of one pod after the other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.objects import LabelSelector, LabelSelectorRequirement, Pod
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.selectors import matches
from tests.cluster import pod
from tests.draws import tries

keys, values = st.sampled_from(["app", "team", "x"]), st.sampled_from(["a", "b", "c"])
labels = st.dictionaries(keys, values)
requirement = st.builds(
    LabelSelectorRequirement,
    key=keys,
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Near"]),
    values=st.lists(values, max_size=3),
)
selectors = st.builds(
    LabelSelector,
    matchLabels=st.none() | labels,
    matchExpressions=st.none() | st.lists(requirement, max_size=3),
)
namespaces = st.sampled_from(["default", "other", "third"])
pods = st.lists(st.builds(lambda n, ls: pod("web", namespace=n, labels=ls), namespaces, labels))
ALL = st.frozensets(st.sampled_from(["default", "other", "nowhere"]))


@settings(max_examples=tries(500))
@given(pods, selectors, st.none() | ALL)
def test_all_are_found_that_match(
    given_pods: list[Pod], selector: LabelSelector, places: frozenset[str] | None
) -> None:
    groups = LabelGroups(given_pods, np.arange(len(given_pods), dtype=np.int32))
    wanted = [
        number
        for number, pod in enumerate(given_pods)
        if matches(selector, pod.metadata.labels)
        and (places is None or pod.metadata.namespace in places)
    ]
    assert sorted(groups.select(selector, places).tolist()) == wanted


def test_selectors_that_select_the_same_pods_have_one_answer() -> None:
    # A tenant may write some thousand that differ and select everybody.
    every = [pod(f"p{n}", labels={"app": f"a{n}"}) for n in range(10)]
    groups = LabelGroups(every, np.arange(10, dtype=np.int32))
    absent = [LabelSelectorRequirement(key=f"x{n}", operator="DoesNotExist") for n in range(3)]
    found = [
        groups.select(LabelSelector(matchExpressions=[requirement]), None) for requirement in absent
    ]
    assert found[0] is found[1] is found[2]
    assert found[0].tolist() == list(range(10))

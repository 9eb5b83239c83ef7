"""Names that others write never lead to another path than that of the object that they name."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.errors import ObjectUnreadable
from rescheduler.wire.object_paths import collection_path, name_selector, object_path

PODS = "/api/v1/namespaces/team-a/pods"
ODD = [
    "",
    ".",
    "..",
    "../secrets/token",
    "a/b",
    "a/status",
    "a?watch=true",
    "a#b",
    "a%2fb",
    "a%",
    "a b",
    "a\n",
    "a,metadata.namespace=b",
    "a..b",
    ".a",
    "a.",
    "-a",
    "a-",
    "A",
    "ä",
    "a\u2024b",
    "a" * 254,
]


@pytest.mark.parametrize("name", ["a", "0", "web-5d4f", "ip-10-0-0-1.eu.internal", "a" * 253])
def test_a_name_makes_the_path_of_its_object(name: str) -> None:
    assert object_path(PODS, name) == f"{PODS}/{name}"
    assert collection_path("/apis/apps/v1", name, "replicasets") == (
        f"/apis/apps/v1/namespaces/{name}/replicasets"
    )
    assert name_selector(name) == f"metadata.name={name}"


@pytest.mark.parametrize("name", ODD, ids=lambda name: ascii(name[:20]))
def test_what_can_be_no_name_makes_no_path(name: str) -> None:
    with pytest.raises(ObjectUnreadable, match=f"can be no name in {PODS}"):
        object_path(PODS, name)
    with pytest.raises(ObjectUnreadable):
        collection_path("/api/v1", name, "pods")
    with pytest.raises(ObjectUnreadable):
        name_selector(name)


def test_what_is_long_is_named_in_short() -> None:
    with pytest.raises(ObjectUnreadable) as told:
        object_path(PODS, "../" * 100_000)
    assert len(told.value.message) < 200


@given(st.text(st.characters(codec="utf-8"), max_size=12) | st.text("a.-/?#%", max_size=12))
def test_no_text_leads_anywhere_else(name: str) -> None:
    try:
        path = object_path(PODS, name)
    except ObjectUnreadable:
        return
    parts = urlsplit(f"https://host{path}")
    assert (parts.path, parts.query, parts.fragment) == (f"{PODS}/{name}", "", "")
    assert parts.path.rpartition("/")[0] == PODS
    assert not {".", ".."} & set(parts.path.split("/"))

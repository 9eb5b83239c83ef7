"""What nests deeper than any field we read makes nothing unreadable."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.nesting import decode_json, shallow
from rescheduler.kube.objects import Pod
from rescheduler.sources.kubernetes.page_decoding import decode_page

DEPTH = 9_000
"""Nearly as deep as the API server takes it."""

OBJECTS, LISTS = ('{"f:a":', "}"), ("[", "]")


def nested(depth: int, kind: tuple[str, str] = OBJECTS) -> str:
    return kind[0] * depth + '"\\"]}\\\\"' + kind[1] * depth


def fields(deep: str) -> str:
    return f'{{"metadata":{{"name":"b","managedFields":[{{"fieldsV1":{deep}}}]}},"spec":{{}}}}'


@pytest.mark.parametrize("kind", [OBJECTS, LISTS])
def test_one_object_that_nests_deeply_leaves_its_list_readable(kind: tuple[str, str]) -> None:
    pods = f'{{"metadata":{{"name":"a"}},"spec":{{}}}},{fields(nested(DEPTH, kind))}'
    page = f'{{"metadata":{{"continue":"next"}},"items":[{pods}]}}'
    read, token, bad = decode_page(page.encode(), Pod, "Pod")
    assert ([pod.metadata.name for pod in read], token, bad) == (["a", "b"], "next", [])


def test_beside_it_an_object_of_the_wrong_type_is_still_named() -> None:
    wrong = '{"metadata":{"name":"c","namespace":"team"},"spec":7}'
    page = f'{{"metadata":{{}},"items":[{fields(nested(DEPTH))},{wrong}]}}'
    read, _, bad = decode_page(page.encode(), Pod, "Pod")
    assert [pod.metadata.name for pod in read] == ["b"]
    assert [(undecodable.namespace, undecodable.name) for undecodable in bad] == [("team", "c")]


def test_an_object_of_the_wrong_type_that_nests_deeply_is_named() -> None:
    wrong = f'{{"metadata":{{"name":"c","namespace":"team"}},"spec":7,"x":{nested(DEPTH)}}}'
    _, _, bad = decode_page(f'{{"metadata":{{}},"items":[{wrong}]}}'.encode(), Pod, "Pod")
    assert [(undecodable.namespace, undecodable.name) for undecodable in bad] == [("team", "c")]


@pytest.mark.parametrize("kind", [OBJECTS, LISTS])
def test_only_what_lies_too_deep_is_cut(kind: tuple[str, str]) -> None:
    text = nested(100, kind).encode()
    assert shallow(text) == text
    cut = shallow(b"[" + text + b',"kept",' + nested(101, kind).encode() + b"]")
    assert cut.count(b"null") == 2
    assert json.loads(cut)[1] == "kept"


@pytest.mark.parametrize(
    "text", ["[" * DEPTH, '{"a":' * DEPTH, "[" * DEPTH + '"' + '\\"' * DEPTH, "[" * DEPTH + "}"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_json(text.encode(), dict[str, Any])


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(trees)
def test_what_is_not_deep_stays_as_it_is(tree: Any) -> None:
    text = json.dumps(tree).encode()
    assert shallow(text) == text
    wrapped = b"[" * 98 + text + b"]" * 98
    if shallow(wrapped) != wrapped:
        assert isinstance(tree, dict | list)
    else:
        assert json.loads(shallow(wrapped)) == json.loads(wrapped)


def test_what_is_not_utf_8_is_refused_like_what_is_no_json() -> None:
    with pytest.raises(msgspec.DecodeError, match="not UTF-8"):
        decode_json('{"message":"Accès refusé"}'.encode("latin-1"), dict[str, Any])

"""Whatever a file says is translated, or named in a comment, or refused."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion.default_evictor import DefaultEvictorArgs
from rescheduler.policies.conversion.descheduler_guide import nested_model
from rescheduler.policies.conversion.koordinator import ControllerArgs, LowNodeLoadArgs
from rescheduler.policies.conversion.kube_descheduler import KubeDescheduler
from rescheduler.policies.conversion.outcomes import outcome_of
from rescheduler.policies.conversion.plugins import PLUGINS
from rescheduler.policies.conversion.policy_fields import DeschedulerPolicy
from tests.policies.conversion.converting import refusal
from tests.policies.conversion.inputs import CONFIG_MAP, INPUTS

MODELS: list[type[Strict]] = [
    *(plugin.arguments for plugin in PLUGINS.values()),
    DefaultEvictorArgs,
    DeschedulerPolicy,
    KubeDescheduler,
    LowNodeLoadArgs,
    ControllerArgs,
]
FORMS = {name: text for name, text in INPUTS.items() if text is not CONFIG_MAP}
UNSAID = ("apiVersion", "kind", "name", "metadata", "deschedulerPolicyAPIVersion")
"""Fields that only name the form of something."""
ALWAYS = {"filter", "evict"}
"""Extension points whose one plugin is always there."""


def without_outcome(model: type[Strict]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = nested_model(field.annotation)
        if outcome_of(model, name) is None:
            if inner is None:
                yield f"{model.__name__}.{name}"
            else:
                yield from without_outcome(inner)


def test_every_field_of_every_model_says_what_becomes_of_it() -> None:
    assert [name for model in MODELS for name in without_outcome(model)] == []


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    items = list(value.items()) if isinstance(value, dict) else []
    for key, child in enumerate(value) if isinstance(value, list) else items:
        yield from paths(child, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        document = document[part]
    return document


def without_lines(text: str) -> str:
    """The text as if every line had the same number, and comments were not wrapped."""
    return re.sub(r"\s+", " ", re.sub(r"line \d+", "line", text.replace("\n#", " ")))


@pytest.mark.parametrize("form", FORMS)
def test_a_field_that_nobody_knows_is_named_wherever_it_is(form: str) -> None:
    document, silent = yaml.safe_load(FORMS[form]), []
    for path, value in paths(document):
        if not isinstance(value, dict):
            continue
        changed = copy.deepcopy(document)
        at(changed, path)["nobodyKnows"] = "this"
        if "nobodyKnows" not in refusal(json.dumps(changed)):
            silent.append(path)
    assert ["/".join(map(str, path)) for path in silent if "metadata" not in path] == []


@pytest.mark.parametrize("form", FORMS)
def test_without_any_one_field_something_else_comes_out(form: str) -> None:
    document, silent = yaml.safe_load(FORMS[form]), []
    before = without_lines(refusal(json.dumps(document)))
    assert before.startswith("converted: ")
    for path, value in paths(document):
        if not path or isinstance(path[-1], int) or path[-1] in UNSAID or value is False:
            continue
        if ALWAYS & set(path):
            continue
        changed = copy.deepcopy(document)
        del at(changed, path[:-1])[path[-1]]
        if without_lines(refusal(json.dumps(changed))) == before:
            silent.append(path)
    assert ["/".join(map(str, path)) for path in silent] == []

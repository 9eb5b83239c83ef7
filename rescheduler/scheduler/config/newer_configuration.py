"""Reads a running scheduler's configuration that may be newer than this model.

A newer scheduler writes every field that it has, used or not. What is empty is not used and left
out. What is used and not known is a problem of the profile where it stands, or of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from rescheduler.documents.validation import describe_error
from rescheduler.scheduler.config.kube_scheduler_configuration import (
    KubeSchedulerConfiguration,
    PluginConfig,
)
from rescheduler.scheduler.config.plugin_arguments import Arguments, arguments_of
from rescheduler.scheduler.profile import DEFAULT_SCHEDULER

_Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Understood:
    """The part of a configuration that is known.

    problems: schedulerName to what is used of it and not known; "" stands for all schedulers.
    """

    configuration: KubeSchedulerConfiguration
    problems: dict[str, str] = field(default_factory=dict)

    def problem(self, name: str) -> str:
        """Why nothing that this scheduler does can be predicted, or ""."""
        return self.problems.get("") or self.problems.get(name, "")


def read_configz(reported: dict[str, Any]) -> Understood:
    """What a scheduler answers under /configz, as far as it is known.

    Raises:
        ValidationError: what holds for all its profiles cannot be understood.
    """
    unknown: list[_Path] = []
    content = _known_part(reported, KubeSchedulerConfiguration, (), unknown)
    names = _names(content)
    problems: dict[str, str] = {}
    for path in unknown:
        profile, shown = _locate_path(path, names)
        problems.setdefault(profile, f"its configuration has {shown}, which is not known")
    try:
        return Understood(KubeSchedulerConfiguration.model_validate(content), problems)
    except ValidationError as error:
        details = error.errors(include_url=False)
        odd = {detail["loc"][1] for detail in details if detail["loc"][:1] == ("profiles",)}
        if not all(
            detail["loc"][:1] == ("profiles",) and len(detail["loc"]) > 2 for detail in details
        ):
            raise
        for detail in details:
            profile, shown = _locate_path(detail["loc"], names)
            problems.setdefault(profile, f"in its configuration {describe_error(detail, shown)}")
        profiles = [
            {"schedulerName": name} if number in odd else profile
            for number, (name, profile) in enumerate(zip(names, content["profiles"], strict=True))
        ]
        whole = {**content, "profiles": profiles}
        return Understood(KubeSchedulerConfiguration.model_validate(whole), problems)


def _names(configuration: dict[str, Any]) -> list[str]:
    """The schedulerName of each profile; of one that has none, that of the default scheduler."""
    profiles = configuration.get("profiles")
    names = [
        profile.get("schedulerName") if isinstance(profile, dict) else None
        for profile in (profiles if isinstance(profiles, list) else ())
    ]
    return [item if isinstance(item, str) else DEFAULT_SCHEDULER for item in names]


def _locate_path(path: _Path, names: list[str]) -> tuple[str, str]:
    """The profile that a path is in, "" for all, and the path from there."""
    if path[0] == "profiles" and len(path) > 2 and isinstance(path[1], int):
        return names[path[1]], ".".join(map(str, path[2:]))
    return "", ".".join(map(str, path))


def _known_part(value: Any, model: type[BaseModel], at: _Path, unknown: list[_Path]) -> Any:
    """The value without the fields that the model lacks; those that are used go to `unknown`."""
    if not isinstance(value, dict):
        return value
    answer = {}
    for key, child in value.items():
        if key not in model.model_fields:
            if at[-1:] == ("args",) and key in ("apiVersion", "kind"):
                answer[key] = child
            elif not _empty(child):
                unknown.append((*at, key))
            continue
        inner = _inner(model, key, value)
        if inner is None:
            answer[key] = child
        elif isinstance(child, list):
            answer[key] = [
                _known_part(part, inner, (*at, key, number), unknown)
                for number, part in enumerate(child)
            ]
        else:
            answer[key] = _known_part(child, inner, (*at, key), unknown)
    return answer


def _inner(model: type[BaseModel], key: str, value: dict[str, Any]) -> type[BaseModel] | None:
    """The model of what stands under a key, where it has one."""
    if model is PluginConfig and key == "args":
        name = value.get("name")
        return arguments_of(name) if name in Arguments.model_fields else None
    return next(_models(model.model_fields[key].annotation), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for arg in get_args(annotation):
        yield from _models(arg)


def _empty(value: Any) -> bool:
    """Whether it is what Go writes of a field that is not set."""
    if isinstance(value, dict):
        return all(map(_empty, value.values()))
    if isinstance(value, list):
        return all(map(_empty, value))
    return not value

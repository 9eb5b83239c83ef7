"""The configuration that a running scheduler reports, which may be newer than this model.

A newer scheduler writes every field that it has, used or not. What is empty is not used and left
out. What is used and not known is a problem of the profile where it stands, or of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from rescheduler.documents.validation import described
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


def understood(reported: dict[str, Any]) -> Understood:
    """What a scheduler answers under /configz, as far as it is known.

    Raises:
        ValidationError: what holds for all its profiles cannot be understood.
    """
    unknown: list[_Path] = []
    known = _known(reported, KubeSchedulerConfiguration, (), unknown)
    names = _names(known)
    problems: dict[str, str] = {}
    for path in unknown:
        profile, shown = _placed(path, names)
        problems.setdefault(profile, f"its configuration has {shown}, which is not known")
    try:
        return Understood(KubeSchedulerConfiguration.model_validate(known), problems)
    except ValidationError as error:
        details = error.errors(include_url=False)
        odd = {each["loc"][1] for each in details if each["loc"][:1] == ("profiles",)}
        if not all(each["loc"][:1] == ("profiles",) and len(each["loc"]) > 2 for each in details):
            raise
        for each in details:
            profile, shown = _placed(each["loc"], names)
            problems.setdefault(profile, f"in its configuration {described(each, shown)}")
        profiles = [
            {"schedulerName": name} if number in odd else profile
            for number, (name, profile) in enumerate(zip(names, known["profiles"], strict=True))
        ]
        whole = {**known, "profiles": profiles}
        return Understood(KubeSchedulerConfiguration.model_validate(whole), problems)


def _names(configuration: dict[str, Any]) -> list[str]:
    """The schedulerName of each profile; of one that has none, that of the default scheduler."""
    profiles = configuration.get("profiles")
    given = [
        each.get("schedulerName") if isinstance(each, dict) else None
        for each in (profiles if isinstance(profiles, list) else ())
    ]
    return [each if isinstance(each, str) else DEFAULT_SCHEDULER for each in given]


def _placed(path: _Path, names: list[str]) -> tuple[str, str]:
    """The profile that a path is in, "" for all, and the path from there."""
    if path[0] == "profiles" and len(path) > 2 and isinstance(path[1], int):
        return names[path[1]], ".".join(map(str, path[2:]))
    return "", ".".join(map(str, path))


def _known(value: Any, model: type[BaseModel], at: _Path, unknown: list[_Path]) -> Any:
    """The value without the fields that the model lacks; those that are used go to `unknown`."""
    if not isinstance(value, dict):
        return value
    answer = {}
    for key, each in value.items():
        if key not in model.model_fields:
            if at[-1:] == ("args",) and key in ("apiVersion", "kind"):
                answer[key] = each
            elif not _empty(each):
                unknown.append((*at, key))
            continue
        inner = _inner(model, key, value)
        if inner is None:
            answer[key] = each
        elif isinstance(each, list):
            answer[key] = [
                _known(part, inner, (*at, key, number), unknown) for number, part in enumerate(each)
            ]
        else:
            answer[key] = _known(each, inner, (*at, key), unknown)
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
    for each in get_args(annotation):
        yield from _models(each)


def _empty(value: Any) -> bool:
    """Whether it is what Go writes of a field that is not set."""
    if isinstance(value, dict):
        return all(map(_empty, value.values()))
    if isinstance(value, list):
        return all(map(_empty, value))
    return not value

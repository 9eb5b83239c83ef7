"""Options of the command line, made from the fields of Settings."""

import functools
import re
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from rescheduler.runtime.settings import Settings, env_names

Command = Callable[..., int]

METRICS = (
    "kubeconfig",
    "context",
    "prometheus_url",
    "prometheus_namespaces",
    "prometheus_token_file",
    "prometheus_auth",
    "prometheus_basic_auth_file",
    "prometheus_client_cert_file",
    "prometheus_client_key_file",
    "prometheus_header",
    "prometheus_ca_file",
    "prometheus_selector",
    "dataset_catalogs",
)
"""How to reach the cluster and its metrics."""
SOURCES = (
    *METRICS,
    "scheduler_url",
    "scheduler_ca_file",
    "scheduler_insecure_skip_tls_verify",
)
"""How to reach the cluster, its metrics and its scheduler."""

_EVERYWHERE = ("log_level", "log_format", "debug")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class DurationType(click.ParamType[timedelta]):
    """`90s`, `10m`, `1h30m`, `2d`: the durations of the policy files."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The duration, or a usage error that shows the value."""
        if isinstance(value, timedelta):
            return value
        if not re.fullmatch(r"(\d+(\.\d+)?[smhd])+", value):
            self.fail(f"{value!r} is not a duration such as 90s, 5m or 1h30m.", param, ctx)
        parts = re.findall(r"([\d.]+)([smhd])", value)
        try:
            return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
        except OverflowError:
            self.fail(f"{value!r} is too long.", param, ctx)


class SinceType(DurationType):
    """How long ago, as a duration; or a date or time, in UTC where it has no offset."""

    name = "7d|2026-11-01"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The duration or the time, or a usage error that shows the value."""
        if isinstance(value, datetime):
            return value
        if re.match(r"[\d.]+[smhd]", str(value)):
            return super().convert(value, param, ctx)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is neither a duration such as 7d or 12h nor a date such as 2026-11-01.",
                param,
                ctx,
            )
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def given_options(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """The options that say how to reach the same cluster, each with its value."""
    defaults = {field.name: field.default for field in fields(Settings)}
    values = {name: getattr(settings, name) for name in SOURCES}
    return tuple(
        ("--" + name.replace("_", "-"), *([] if argument is True else [str(argument)]))
        for name, value in values.items()
        if value != defaults[name]
        for argument in (value if isinstance(value, tuple) else (value,))
    )


def takes(
    *names: str,
    formats: tuple[str, ...] = (),
    **required: bool,
) -> Callable[[Command], Command]:
    """Give a command these options; its function gets them as one Settings, then its arguments.

    formats: those of --output that this command has; all, unless given.
    required: options of this command that must be given, such as `policies=True`.
    """
    wanted = (*names, *_EVERYWHERE)
    hints = get_type_hints(Settings)
    declared = {field.name: field for field in fields(Settings)}

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def command(**values: Any) -> int:
            settings = {name: values.pop(name) for name in wanted}
            return function(Settings(**settings), **values)

        decorated: Command = command
        for name in reversed(wanted):
            setting = declared[name]
            hint = Literal[formats] if name == "output" and formats else hints[name]
            option = _option(
                name, hint, setting.default, dict(setting.metadata), must=required.get(name, False)
            )
            decorated = option(decorated)
        return decorated

    return decorate


def _option(
    name: str, hint: Any, default: Any, said: dict[str, str], *, must: bool
) -> Callable[[Command], Command]:
    flags = [said["short"]] if said["short"] else []
    flags.append("--" + name.replace("_", "-"))
    more: dict[str, Any] = {
        "help": said["help"],
        "envvar": env_names(name),
        "show_envvar": True,
        "required": must,
    }
    if hint is bool:
        return click.option(*flags, name, is_flag=True, default=default, **more)
    if get_origin(hint) is tuple:
        more |= {"multiple": True, "metavar": said["metavar"]}
        return click.option(*flags, name, type=str, default=default, **more)
    if said["metavar"]:
        more["metavar"] = said["metavar"]
    if default is not None:
        more |= {"default": _default_text(default), "show_default": default != ""}
    return click.option(*flags, name, type=_type(name, hint), **more)


def _type(name: str, hint: Any) -> Any:
    kinds = set(get_args(hint)) or {hint}
    for type_hint in (hint, *get_args(hint)):
        if get_origin(type_hint) is Literal:
            return click.Choice(get_args(type_hint), case_sensitive=False)
    if Path in kinds:
        folder = name in ("policies", "notification_files")
        return click.Path(path_type=Path, dir_okay=folder)
    if datetime in kinds:
        return SinceType()
    if timedelta in kinds:
        return DurationType()
    return int if int in kinds else str


def _default_text(default: Any) -> Any:
    """The default as people would write it."""
    if isinstance(default, timedelta):
        return f"{default.total_seconds() / 60:g}m"
    return default

"""Logs: JSON lines on standard error, a readable form on a terminal, and no secrets in either."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from rescheduler.model.wording import clean
from rescheduler.runtime.settings import LogLevel, Settings

_SECRET_KEY = re.compile(r"token|password|secret|authorization|credential|cookie", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"(?P<scheme>\bhttps?://)[^/\s@]+@|(?P<bearer>\bBearer\s+)[\w.~+/=-]+", re.IGNORECASE
)


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide what looks like a secret, by its key or by its form."""
    for key, value in event.items():
        event[key] = "(hidden)" if _SECRET_KEY.search(key) else _hide_in_value(value)
    return event


def printable(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Take from every text what could draw on a terminal; JSON escapes it by itself."""
    for key, value in event.items():
        event[key] = clean(value) if isinstance(value, str) else value
    return event


def hide_secrets(text: str) -> str:
    """The text without what has the form of a secret."""
    return _SECRET_VALUE.sub(
        lambda match: (
            (match["scheme"] or match["bearer"]) + "(hidden)" + ("@" if match["scheme"] else "")
        ),
        text,
    )


def _hide_in_value(value: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return redact(None, "", dict(value))
    if isinstance(value, list | tuple):
        return [_hide_in_value(element) for element in value]
    return value


def configure(
    settings: Settings, usual: LogLevel = "warning", stream: TextIO | None = None
) -> None:
    """Set up our own logs and those of the libraries; usual: the level when none was said."""
    stream = stream or sys.stderr
    named = "debug" if settings.debug else settings.log_level or usual
    level = logging.getLevelNamesMapping()[named.upper()]
    console = settings.log_format == "console" or (
        settings.log_format == "auto" and stream.isatty()
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Any]
    if console:
        last = [redact, printable, structlog.dev.ConsoleRenderer(colors=False)]
    else:
        # Local variables would put tokens and whole clusters into the log.
        transform = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [
            structlog.processors.ExceptionRenderer(transform),
            redact,
            structlog.processors.JSONRenderer(),
        ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("rescheduler").setLevel(level)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # the service reports it itself
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def logger() -> Any:
    """The logger of the running part; its context carries the cycle's id."""
    return structlog.get_logger("rescheduler")

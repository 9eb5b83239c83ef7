"""How numbers, times and names are written, so that every report writes them alike."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rescheduler.model.moves.plan import OwnerRef, PodRef
from rescheduler.model.wording import instant

UNKNOWN = "unknown"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
ARROW = "\N{RIGHTWARDS ARROW}"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")
_WORDS = {"gpu": "GPU", "cpu": "CPU"}


def amount(value: float) -> str:
    """A cost or a gain: two digits after the point, one from 10 on, none from 1000 on.

    What is not zero is never shown as zero.
    """
    value += 0.0  # -0.0 is 0.0
    if value != 0 and abs(value) < 0.005:
        return "<0.01" if value > 0 else ">-0.01"
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 999.95 else 0
    return f"{value:,.{digits}f}"


def signed_gain(value: float) -> str:
    """A gain with its sign."""
    return f"+{amount(value)}" if value >= 0.005 else amount(value)


def percent(ratio: float, digits: int = 0) -> str:
    """A ratio as a percentage; neither 0 nor 100 is shown unless it is exactly that."""
    step = 10.0**-digits
    value = 100 * ratio
    if 0 < value < step / 2:
        return f"<{step:g} %"
    if 100 - step / 2 <= value < 100:
        return f">{100 - step:g} %"
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} %"


def change(before: float, after: float) -> str:
    """By how many percent of `before` the value changes, with its sign."""
    if before == after:
        return "0 %"
    if before == 0:
        return "new"
    ratio = (after - before) / abs(before)
    return f"{'+' if ratio > 0 else '-'}{percent(abs(ratio))}"


def age(seconds: float | None) -> str:
    """An age or a duration in the largest unit that is still exact enough."""
    if seconds is None:
        return UNKNOWN
    if seconds < 300:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} d"


def stamp(moment: datetime) -> str:
    """Date and time in UTC, to the second."""
    return instant(moment)


def clock(moment: datetime, beside: datetime) -> str:
    """The time in UTC, with its date only where it is not that of `beside`."""
    then = moment.astimezone(UTC)
    same = then.date() == beside.astimezone(UTC).date()
    return f"{then:%H:%M} UTC" if same else f"{then:%Y-%m-%d %H:%M} UTC"


def quantity(value: float, unit: str) -> str:
    """A measured value with its unit; bytes in powers of 1024, rates in powers of 1000."""
    if unit == "ratio":
        return percent(value)
    if unit == "bytes":
        return _scaled_text(value, 1024, _BINARY)
    if unit == "bytes/s":
        return _scaled_text(value, 1000, _DECIMAL)
    return f"{amount(value)} {unit}".rstrip()


def _scaled_text(value: float, base: int, names: Sequence[str]) -> str:
    power = 0
    while abs(value) >= base and power < len(names) - 1:
        value /= base
        power += 1
    return f"{value:.0f} {names[0]}" if power == 0 else f"{amount(value)} {names[power]}"


def resource(reading: str) -> str:
    """What a reading measures, as people say it: `node.gpu.memory` is "GPU memory"."""
    words = reading.split(".")
    if words[0] in ("node", "pod") and len(words) > 1:
        words = words[1:]
    return " ".join(_WORDS.get(word, word) for word in words)


def shorten(text: str, width: int) -> str:
    """The text cut in the middle, so that both its beginning and its end can be read."""
    if len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def pod_name(pod: PodRef, owner: OwnerRef | None = None, width: int = 0) -> str:
    """`namespace/pod`; where that is wider than `width`, the workload and the pod's own suffix."""
    full = f"{pod.namespace}/{pod.name}"
    if not width or len(full) <= width:
        return full
    if owner is not None and pod.name.startswith(f"{owner.name}-"):
        suffix = pod.name.rsplit("-", 1)[-1]
        brief = f"{pod.namespace}/{owner.name}-{ELLIPSIS}{suffix}"
        if len(brief) <= width:
            return brief
    return shorten(full, width)

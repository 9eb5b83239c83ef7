"""The highest that each count may be, in `maxima.toml`."""

import tomllib
from pathlib import Path

MAXIMA = Path(__file__).with_name("maxima.toml")


def read_maxima() -> dict[str, int]:
    text = MAXIMA.read_text(encoding="utf-8") if MAXIMA.exists() else ""
    return {name: int(maximum) for name, maximum in tomllib.loads(text).items()}


def write_maxima(maxima: dict[str, int]) -> None:
    rows = [f"{name} = {maximum}\n" for name, maximum in maxima.items()]
    head = "# A count may only fall. `python -m tests.language --lower` writes those that have.\n"
    MAXIMA.write_text(head + "".join(rows), encoding="utf-8")

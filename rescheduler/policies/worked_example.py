"""Worked examples of what a kind charges, for the documentation: each is evaluated by a test."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Worked:
    """A small cluster and its cost, by the formula with the numbers in it.

    title: what it shows. spec: of the policy, without `match` and `nodes`, which are all unless
    given. cluster, requests, readings: as in a policy test. young: workload to the seconds for
    which its pods have been running. steps: lines `what it is: arithmetic = result`; the last
    result is the cost.
    """

    title: str
    spec: Mapping[str, Any]
    cluster: str
    steps: tuple[str, ...]
    requests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    readings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    young: Mapping[str, float] = field(default_factory=dict)

    def markdown(self) -> Iterator[str]:
        """It as the documentation has it."""
        yield f"{self.title} With `{_yaml_text(self.spec)}`:"
        yield ""
        yield "```text"
        yield from (line.strip() for line in self.cluster.strip().splitlines())
        for name, values in (*self.requests.items(), *self.readings.items()):
            what = "requests " if name in self.requests else ""
            yield f"{what}{name}: {', '.join(f'{key} {value}' for key, value in values.items())}"
        yield from (f"{app}: running for {age:g} s" for app, age in self.young.items())
        yield ""
        yield from self.steps
        yield "```"
        yield ""


def _yaml_text(value: Any) -> str:
    """The value as YAML in one line."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key}: {{{_yaml_text(child)}}}"
            if isinstance(child, Mapping)
            else f"{key}: {_yaml_text(child)}"
            for key, child in value.items()
        )
    if isinstance(value, list):
        parts = [
            f"{{{_yaml_text(element)}}}" if isinstance(element, Mapping) else element
            for element in value
        ]
        return f"[{', '.join(parts)}]"
    return str(value)

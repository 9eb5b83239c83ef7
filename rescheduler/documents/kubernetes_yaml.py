"""YAML as Kubernetes reads it, for files that are written for a component of Kubernetes.

Kubernetes reads YAML 1.1: plain `yes`, `no`, `on`, `off`, `y` and `n` are booleans, `010` is 8 and
`1_000` is 1000; anchors, aliases, merge keys and the tags of YAML's own types are followed. A key
that is repeated is an error there, too, also one that a merge has brought.
Source: go.yaml.in/yaml/v2 resolve.go and decode.go, which sigs.k8s.io/yaml decodes with.
"""

import re

import yaml

from rescheduler.documents.file_problems import TextSpan
from rescheduler.documents.strict_yaml import StopReading, Tree, YamlReader, mark_of

MOST_VALUES = 100_000
"""Values of a file with its aliases written out: an alias may name a list of aliases."""

_TAGS = "tag:yaml.org,2002:"
_OWN_TYPES = frozenset(_TAGS + tag for tag in ("str", "int", "float", "bool", "null", "map", "seq"))
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_OCTAL = re.compile(r"([-+]?)0([0-7]+)")
_BASED = re.compile(r"[-+]?0[xXoObB][0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")


def boolean(text: str) -> bool | None:
    """The boolean that a plain word is for Kubernetes, or None."""
    return True if text in _TRUE else False if text in _FALSE else None


def kubernetes_scalar(text: str) -> str | float | bool | None:
    """What a plain scalar means for Kubernetes; a whole number in the form of a float is one."""
    if text in _NULL:
        return None
    word = boolean(text)
    if word is not None:
        return word
    plain = text.replace("_", "")
    if not plain or plain[0] not in "+-.0123456789":
        return text
    if _DECIMAL.fullmatch(plain):
        return int(plain)
    try:
        if octal := _OCTAL.fullmatch(plain):
            return int(octal[1] + octal[2], 8)
        if _BASED.fullmatch(plain):
            return int(plain, 0)
    except ValueError:
        return text
    if not _FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    return int(number) if number.is_integer() else number


class KubernetesReader(YamlReader):
    """Builds the trees of a file that Kubernetes reads."""

    def __init__(self) -> None:
        super().__init__()
        self._anchored: dict[str, tuple[Tree, int]] = {}
        self._values = 0

    def tree(self, event: yaml.Event, depth: int) -> Tree:
        """The tree that begins with this event, or the one that an alias names."""
        mark = mark_of(event)
        if isinstance(event, yaml.AliasEvent):
            return self._tree_of_alias(event.anchor, mark)
        tag = getattr(event, "tag", None)
        if tag not in (None, "!", *_OWN_TYPES):
            self.complain(mark, f"the tag {tag} is not allowed", "leave it out")
        before = self._values
        self._values += 1
        made = self.node(event, mark, depth)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchored[anchor] = made, self._values - before
        return made

    def scalar(self, event: yaml.ScalarEvent) -> str | float | bool | None:
        """What a scalar means: plain ones by their form, others and those tagged so as text."""
        tagged = event.tag is not None and event.tag not in (f"{_TAGS}str", "!")
        plain = event.implicit[0] or tagged
        return kubernetes_scalar(event.value) if plain else event.value

    def add(
        self, key: Tree, value: Tree, values: dict[str, Tree], keys: dict[str, TextSpan]
    ) -> None:
        """Put an entry into a mapping; under `<<` those of one mapping, or of several."""
        if key.value != "<<":
            super().add(key, value, values, keys)
            return
        for merged in value.value if isinstance(value.value, list) else [value]:
            if not isinstance(merged.value, dict):
                self.complain(merged.mark, "only a mapping can be merged", "give an alias of one")
                return
            for name, mark in merged.keys.items():
                super().add(Tree(name, mark, {}), merged.value[name], values, keys)

    def _tree_of_alias(self, anchor: str | None, mark: TextSpan) -> Tree:
        target = self._anchored.get(anchor or "")
        if target is None:
            self.complain(mark, f"no anchor `{anchor}` comes before this alias")
            return Tree(None, mark, {})
        made, size = target
        self._values += size
        if self._values > MOST_VALUES:
            self.complain(mark, f"its aliases expand to more than {MOST_VALUES} values")
            raise StopReading
        return made

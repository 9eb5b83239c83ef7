"""Keys and values of labels, names of namespaces and kinds, as the API server accepts them.

What it would refuse can be on no object: a selector with it selects nothing, or excludes nothing.
Source: k8s.io/apimachinery v0.36, pkg/api/validate/content/kube.go (IsLabelKey, IsLabelValue) and
dns.go (IsDNS1123Subdomain, IsDNS1123Label).
"""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from rescheduler.documents.field_problems import FieldError

_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX = rf"(?=[^/]{{1,253}}/){_DNS_LABEL}(\.{_DNS_LABEL})*/"
_KEY = f"({_PREFIX})?{_NAME}"
_NAMESPACE = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACES = rf"({_NAMESPACE}|[a-z0-9][-a-z0-9]{{0,61}}\*)"
_OWNER_KIND = rf"[A-Z][A-Za-z0-9]*\.{_DNS_LABEL}(\.{_DNS_LABEL})*"
_CONDITION = f"{_KEY}(=(True|False|Unknown))?"
_LABEL = f"{_KEY}(={_VALUE})?"
_ANNOTATION = f"{_KEY}(=[^\\n]{{1,253}})?"
_TAINT = f"({_KEY}(={_VALUE})?|{_PREFIX})"

_FILLED = r"\{(dataset|namespace)\}"
_END = f"([A-Za-z0-9]|{_FILLED})"
_TEMPLATE = f"({_PREFIX})?{_END}(([-A-Za-z0-9_.]|{_FILLED})*{_END})?"


def _check(pattern: str, words: str) -> Callable[[str], str]:
    """A validator of text that must match as a whole. words: the message for another one."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise FieldError(words if value else "must not be empty", hint=_hint(value, pattern))
        return value

    return check


def _schema(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


def _hint(value: str, pattern: str) -> str:
    text = "".join(value.split())
    if pattern in (_NAMESPACE, _NAMESPACES):
        if "*" in value and pattern == _NAMESPACE:
            return "each name in full: there are no wildcards here"
        text = text.lower()
    return f"`{text}`" if re.fullmatch(pattern, text) and text else ""


LabelKey = Annotated[
    str,
    AfterValidator(
        _check(
            _KEY,
            "must be a label key: letters, digits, `-`, `_` and `.`, at most 63 of them, behind a "
            "domain and a `/` or alone",
        )
    ),
    _schema(_KEY),
]
LabelValue = Annotated[
    str,
    AfterValidator(
        _check(_VALUE, "must be a label value: letters, digits, `-`, `_` and `.`, at most 63")
    ),
    _schema(_VALUE),
]
LabelValues = Annotated[
    dict[LabelKey, LabelValue],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": f"^{_KEY}$"},
            "additionalProperties": {"type": "string", "pattern": f"^{_VALUE}$"},
        }
    ),
]
"""Pydantic's own schema would accept keys that do not match, with any value."""


def is_namespace_name(text: str) -> bool:
    """Whether a namespace can have this name."""
    return re.fullmatch(_NAMESPACE, text) is not None


NamespaceName = Annotated[
    str,
    AfterValidator(
        _check(
            _NAMESPACE,
            "must be the name of a namespace: small letters, digits and `-`, at most 63 of them",
        )
    ),
    _schema(_NAMESPACE),
]
NamespacePattern = Annotated[
    str,
    AfterValidator(
        _check(
            _NAMESPACES,
            "must be the name of a namespace, or how several begin with `*` for the rest, such as "
            "`openshift-*`",
        )
    ),
    _schema(_NAMESPACES),
]
"""One namespace, or all whose names begin so."""
OwnerKind = Annotated[
    str,
    AfterValidator(
        _check(_OWNER_KIND, "must be a kind and its API group, such as Rollout.argoproj.io")
    ),
    _schema(_OWNER_KIND),
]
LabelKeyTemplate = Annotated[
    str,
    AfterValidator(
        _check(
            _TEMPLATE, "must be a label key, in which {dataset} and {namespace} may be filled in"
        )
    ),
    _schema(_TEMPLATE),
]
TaintPattern = Annotated[
    str,
    AfterValidator(
        _check(_TAINT, "must be `key`, `key=value` or a prefix with its slash, such as `a.test/`")
    ),
    _schema(_TAINT),
]
"""One taint, or all whose keys begin with a domain."""
ConditionPattern = Annotated[
    str,
    AfterValidator(
        _check(_CONDITION, "must be the type of a condition, or `type=status` such as `Hot=True`")
    ),
    _schema(_CONDITION),
]
LabelPattern = Annotated[
    str,
    AfterValidator(_check(_LABEL, "must be a label key, or `key=value`")),
    _schema(_LABEL),
]
AnnotationPattern = Annotated[
    str,
    AfterValidator(_check(_ANNOTATION, "must be an annotation's key, or `key=value`")),
    _schema(_ANNOTATION),
]

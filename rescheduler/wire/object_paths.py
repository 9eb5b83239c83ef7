"""Paths of objects on the API server, from names that cannot lead anywhere else.

What refers to an object, as an owner reference does, is written by tenants, and the API server asks
of such a name only that there is one. In a path `..`, `/`, `?` or `#` would make another request of
it, with our rights.
"""

import re

from rescheduler.model.errors import ObjectUnreadable

_LONGEST = 253
_SHOWN = 80
"""Characters of what is no name that a message repeats."""
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def object_name(text: str, what: str) -> str:
    """The same text, if it is a name that objects of all kinds that we read by name can have.

    what: the kind of object, for the message.

    Source: IsDNS1123Subdomain in k8s.io/apimachinery/pkg/util/validation.

    Raises:
        ObjectUnreadable: no such object can have this name.
    """
    if len(text) <= _LONGEST and _NAME.fullmatch(text):
        return text
    shown = ascii(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
    raise ObjectUnreadable(f"{shown} can be no name in {what}", "look who wrote it.")


def collection_path(api: str, namespace: str, resource: str) -> str:
    """The path of the objects of a kind in a namespace. api: as `/apis/apps/v1`.

    Raises:
        ObjectUnreadable: no namespace can have this name.
    """
    return f"{api}/namespaces/{object_name(namespace, f'{api}/namespaces')}/{resource}"


def object_path(collection: str, name: str) -> str:
    """The path of one object among these.

    Raises:
        ObjectUnreadable: no object can have this name.
    """
    return f"{collection}/{object_name(name, collection)}"


def name_selector(name: str) -> str:
    """The field selector of the objects of that name.

    Raises:
        ObjectUnreadable: no object can have this name.
    """
    return f"metadata.name={object_name(name, 'metadata.name')}"

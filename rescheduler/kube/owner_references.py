"""Owner references as tenants may write them, made into what they mean."""

from collections.abc import Iterable, Mapping

from rescheduler.kube.objects import ObjectMeta

LONGEST_NAME = 253
"""Of an object; the API server takes any length of what only refers to one."""


def tidy_owners(objects: Iterable[ObjectMeta], namespace_of: Mapping[str, str]) -> None:
    """Take out the references to owners in another namespace, and cut long names, in place.

    namespace_of: UID of each owner that is known to its namespace, "" for none. Its creator writes
    a pod's references, and can keep it with a finalizer from being collected: it would else count
    as a pod of another tenant's workload. Of a name that no object can have the rest is left out,
    as messages repeat it.
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
    """
    foreign: dict[tuple[int, str], bool] = {}  # equal lists of owners are shared
    for meta in objects:
        owners, own = meta.ownerReferences, meta.namespace
        if not owners:
            continue
        key = (id(owners), own)
        if key not in foreign:
            foreign[key] = any(_is_foreign(owner.uid, own, namespace_of) for owner in owners)
            for owner in owners:
                owner.kind, owner.name = owner.kind[:LONGEST_NAME], owner.name[:LONGEST_NAME]
                owner.apiVersion = owner.apiVersion[:LONGEST_NAME]
        if foreign[key]:
            kept = [owner for owner in owners if not _is_foreign(owner.uid, own, namespace_of)]
            meta.ownerReferences = kept or None


def _is_foreign(uid: str, own: str, namespace_of: Mapping[str, str]) -> bool:
    """Whether the owner is in another namespace. One in none, as a Node, may own anything."""
    return (namespace_of.get(uid) or own) != own

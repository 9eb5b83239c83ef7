"""Owner references across namespaces, which Kubernetes does not know."""

from collections.abc import Iterable, Mapping

from rescheduler.kube.objects import ObjectMeta


def drop_foreign_owners(objects: Iterable[ObjectMeta], namespace_of: Mapping[str, str]) -> None:
    """Take out the references to owners in another namespace, in place: they own nothing.

    namespace_of: UID of each owner that is in a namespace to that. Whoever makes a pod writes its
    references, and keeps it with a finalizer from being collected: it would else count as a pod of
    another tenant's workload.
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
    """
    foreign: dict[tuple[int, str], bool] = {}  # equal lists of owners are shared
    for each in objects:
        owners, own = each.ownerReferences, each.namespace
        if not owners:
            continue
        key = (id(owners), own)
        if key not in foreign:
            foreign[key] = any(namespace_of.get(owner.uid, own) != own for owner in owners)
        if foreign[key]:
            kept = [owner for owner in owners if namespace_of.get(owner.uid, own) == own]
            each.ownerReferences = kept or None

"""Admission that steers by the table of replacements, as the policy in `deploy/` does."""

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rescheduler.actions.steering.steering_format import SEEN, SEEN_BY, read
from rescheduler.kube.pods.steered_affinity import steered_affinity, template_hash
from rescheduler.model.moves.steering_entry import SteeringEntry, Strength
from tests.fakes.manners import Reply, status

if TYPE_CHECKING:
    from tests.fakes.world import World

TABLE_KEY = ("configmaps", "rescheduler", "rescheduler-steering")

UNPLACED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
"""The condition of a pod that the scheduler found no node for."""


class Wanted(NamedTuple):
    """Where a pod that is being created shall go. hostnames: no label twice, best first."""

    hostnames: tuple[str, ...]
    strength: Strength


def wanted(entries: Iterable[SteeringEntry], template: str, name: str) -> Wanted | None:
    """What the entries of its controller ask for a pod of that template and name, or None.

    name: "" while the API server has not made one up. Pods of one controller are fungible, so each
    may go where any of them may; it is required only where all of them require it.
    """
    fitting = [
        entry for entry in entries if entry.template == template and entry.name in ("", name)
    ]
    if not fitting:
        return None
    hostnames = dict.fromkeys(host for entry in fitting for host in entry.hostnames)
    require = all(entry.strength == "Require" for entry in fitting)
    return Wanted(tuple(hostnames), "Require" if require else "Prefer")


def _table(world: "World") -> dict[str, Any] | None:
    return (world.frozen or world.objects.get(TABLE_KEY)) if world.steers else None


def dry_run(world: "World", key: tuple[str, str, str], body: dict[str, Any]) -> Reply:
    """What a replacement of an object would store; it shows which table admission reads."""
    stored = world.objects.get(key)
    if stored is None:
        return status(404, "NotFound", f'{key[0]} "{key[2]}" not found')
    if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
        return status(409, "Conflict", "the object has been modified")
    answer = copy.deepcopy(body)
    table = _table(world)
    if table is not None:
        notes = answer["metadata"].get("annotations") or {}
        version = table["metadata"]["resourceVersion"]
        named = {f"{SEEN_BY}{means}": version for means in world.steers_by}
        answer["metadata"]["annotations"] = {**notes, SEEN: version, **named}
    return 200, answer, {}


def steer(world: "World", pod: dict[str, Any]) -> None:
    """Add the affinity that the table asks for to a pod that is being created."""
    table = _table(world)
    if table is None or world.blind:
        return
    metadata = pod["metadata"]
    owner = metadata["ownerReferences"][0]
    own = [entry for entry in read(table.get("data") or {})[0] if entry.owner == owner["uid"]]
    named = metadata["name"] if owner["kind"] == "StatefulSet" else ""
    asked = wanted(own, template_hash(metadata["labels"]), named)
    if asked is not None:
        require = asked.strength == "Require"
        pod["spec"]["affinity"] = steered_affinity(None, asked.hostnames, require=require)

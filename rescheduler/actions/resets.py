"""Reset requests in the state's ConfigMap; the next run obeys them.

data.reset    one request a line: `hold NAME`, `landings NAME` or `demotion NAME`
No request gives a budget back: every move stays charged, and cool-downs run on.
"""

from datetime import datetime
from typing import Any

from rescheduler.actions.ledger_format import drop_forget_request
from rescheduler.model.moves.history import SLOW_FOR, History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.wording import count_text

TARGETS = frozenset({"hold", "landings", "demotion"})
KEY = "reset"


def requests_in(current: dict[str, Any]) -> list[tuple[str, str]]:
    """The target and name of each request; other lines are ignored."""
    lines = str((current.get("data") or {}).get(KEY, "")).splitlines()
    parts = [tuple(line.split()) for line in lines]
    return [
        (request[0], request[1]) for request in parts if len(request) == 2 and request[0] in TARGETS
    ]


def with_request(current: dict[str, Any], target: str, name: str) -> dict[str, Any]:
    """The ConfigMap with one more request."""
    wanted = [*requests_in(current), (target, name)]
    text = "\n".join(" ".join(fromkey) for fromkey in dict.fromkeys(wanted))
    return {**current, "data": {**(current.get("data") or {}), KEY: text}}


def drop_requests(current: dict[str, Any], handled: list[tuple[str, str]]) -> dict[str, Any]:
    """The ConfigMap with only the requests that came after these were obeyed."""
    data = {key: value for key, value in (current.get("data") or {}).items() if key != KEY}
    config_map = {**current, "data": data}
    for target, name in requests_in(current):
        if (target, name) not in handled:
            config_map = with_request(config_map, target, name)
    return config_map


def obey_requests(current: dict[str, Any], history: History, now: datetime) -> dict[str, Any]:
    """The ConfigMap without requests; the history is reset as they ask."""
    for key, records in (
        ("landings", history.landings),
        ("demoted", history.gains),
        ("selections", history.selections),
    ):
        current, forget_requested = drop_forget_request(current, key)
        if forget_requested:
            records.clear()
            history.acceptSelections |= key == "selections"
    for target, name in requests_in(current):
        reset(history, target, name, now)
    data = current.get("data") or {}
    if KEY not in data:
        return current
    return {**current, "data": {key: value for key, value in data.items() if key != KEY}}


def reset(history: History, target: str, name: str, now: datetime) -> list[str]:
    """Reset the target, and return a line about each thing that was reset."""
    if target == "hold":
        return _reset_hold(history, name, now)
    return _reset_landings(history, name) if target == "landings" else _end_demotion(history, name)


def _reset_hold(history: History, name: str, now: datetime) -> list[str]:
    """name: a namespace, or `NAMESPACE/POD` of one evicted pod.

    The name of a namespace forgives no move whose replacement is still pending: it may yet arrive,
    or go missing later.
    """
    done = []
    for move in history.recent(now):
        names = {_key(move)} if move.replacement_pending else {_key(move), move.namespace}
        missing = move.state == "lost" or move.in_flight
        if missing and not move.forgiven and name in names:
            move.forgive()
            done.append(f"the missing replacement of pod {_key(move)} holds nobody any more")
    at = history.slow.pop(name, None)
    if at is not None and at + SLOW_FOR > now:
        done.append(f"namespace {name} is read again")
    return done


def _key(move: PastMove) -> str:
    return f"{move.namespace}/{move.pod}"


def _reset_landings(history: History, name: str) -> list[str]:
    """name: a kind of controller such as `ReplicaSet`, perhaps only in a namespace: `KIND/NAME`."""
    kind, _, namespace = name.partition("/")
    done = []
    for record in history.landings:
        if record.kind != kind:
            continue
        all_known = record.workloads
        record.workloads = {
            mark: landings
            for mark, landings in all_known.items()
            if namespace and landings.namespace != namespace
        }
        forgotten = len(all_known) - len(record.workloads)
        if forgotten:
            text = f"the landings of {count_text(forgotten, 'workload')} with {kind} pods under "
            done.append(f"{text}scheduler {record.version} are forgotten")
    return done


def _end_demotion(history: History, name: str) -> list[str]:
    """name: a policy."""
    records = [gain for gain in history.gains if gain.policy == name and gain.until is not None]
    for record in records:
        history.gains.remove(record)
    return [
        f"policy {name} is demoted no more: it was, as it {record.reason}" for record in records
    ]

"""What must be known right before the evictions of a batch, to tell later what they brought."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray, IntArray, Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline, SelectedTotals
from rescheduler.model.moves.history import COMPARED_NODES, History
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.planning.evaluation.corrections import correct_readings
from rescheduler.planning.measure.churn import pods_then
from rescheduler.planning.measure.level import Past
from rescheduler.planning.measure.node_values import by_node, fresh, usable
from rescheduler.planning.measure.selected_nodes import SelectedNodes, selections_of
from rescheduler.policies.base import Policy
from rescheduler.policies.terms import Freeing, KeepsCharges

_DIGITS = 4
"""Significant digits that are kept."""

_DIGITS_OF_SUMS = 7
"""The same, for sums from which a large part is subtracted."""

_MOST_OTHERS = 64
"""Nodes touched by the latest moves before, whose values are kept."""

_MOST_ABSENT = 64
"""Nodes without a value that are kept of a reading; where there are more, it is not compared."""

_MOST_REACHED = 3
"""Most likely nodes of a move whose pods are kept, like those of its source."""

_MOST_DEVICES = 32
"""Devices of one node that are kept."""


def baseline_of(
    snapshot: Snapshot,
    history: History,
    moves: Sequence[PlannedMove],
    plan: str,
    policies: Sequence[Policy],
) -> Baseline:
    """The readings on the nodes that these moves of one batch leave and most likely reach.

    Also on those that earlier moves touched: what changes there says nothing of how load changes
    by itself. They are corrected for our moves before the batch that their windows have not seen.
    policies: all that may be measured by these readings, each over the nodes that it selects. Those
    that keep charges and want one of the moves are compiled here, to know what its pods cost.
    """
    snapshot = correct_readings(snapshot, history)
    baseline = Baseline(plan=plan, batch=moves[0].batch, at=snapshot.taken)
    touched = _touched_nodes(moves, snapshot)
    others = _other_nodes(history, snapshot)
    wanted = [
        policy for policy in policies if any(m.gains.get(policy.name, 0.0) > 0 for m in moves)
    ]
    keys = {selection.key for selection in selections_of(wanted, snapshot)}
    keys |= {key for item in history.baselines for key in item.selected}
    selections = [
        selection for selection in selections_of(policies, snapshot) if selection.key in keys
    ]
    named, own = others | touched, _touched_nodes(moves, snapshot, _MOST_REACHED)
    ours = {move.podUid for move in history.moves if move.charged}
    baseline.selected = {
        selection.key: _selected_totals(selection, named, snapshot) for selection in selections
    }
    pods = [p for move in moves if (p := snapshot.pod_index.get(move.pod.uid)) is not None]
    sources = {name: own[name] for name in dict.fromkeys(m.source for m in moves) if name in own}
    baseline.placed = int(snapshot.pods_on.sum()), len(snapshot.nodes)
    for reading in snapshot.readings.entries:
        key = reading.request.key
        if not usable(reading, snapshot) or key in baseline.totals:
            continue
        values = by_node(reading, snapshot)
        present = ~np.isnan(values)
        if not present.any():
            continue
        _add(baseline, key, values, selections, named)
        baseline.absent.update(_absent(reading, present, snapshot))
        past = Past(key, wanted, (others | sources).values(), snapshot)
        in_peak = past.peaks(sources, values)
        baseline.peaks |= {key: in_peak} if in_peak else {}
        for name, device, value, users in _devices(reading, past, snapshot, touched, sources):
            kept = (device.device, device.index, value, users)
            baseline.devices.setdefault(key, {}).setdefault(name, []).append(kept)
            if device.used:
                uses = baseline.uses.setdefault(key, {}).setdefault(name, {})
                uses[device.device] = [_short(use) for use in device.used]
        if reading.request.subject == "pod":
            baseline.pods[key] = pods_then(fresh(reading), own, ours, snapshot)
            for workload, mean in _peers(reading, snapshot, pods).items():
                baseline.peers.setdefault(workload, {})[key] = mean
    baseline.charges = _charges(wanted, snapshot, moves)
    baseline.freed = _emptied_nodes(wanted, snapshot, moves)
    return baseline


def _add(
    baseline: Baseline,
    key: str,
    values: FloatArray,
    selections: Sequence[SelectedNodes],
    named: Mapping[str, int],
) -> None:
    """Keep the values (nodes,) of the named nodes, and the sums of all and of the selected."""
    present = ~np.isnan(values)
    baseline.totals[key] = _total(values[present])
    for selection in selections:
        # A batch without any value there would end what other batches tell of the change.
        if (present & selection.chosen).any():
            baseline.selected[selection.key].totals[key] = _total(
                values[present & selection.chosen]
            )
    baseline.nodes[key] = {
        n: _short(float(values[node])) for n, node in named.items() if present[node]
    }


def peers(workload: int, besides: IntArray, snapshot: Snapshot) -> IntArray:
    """The placed pods of the workload that are none of these."""
    of_workload = (snapshot.pod_workload == workload) & (snapshot.pod_node >= 0)
    return np.setdiff1d(np.flatnonzero(of_workload & ~snapshot.leaving), besides)


def _touched_nodes(
    moves: Sequence[PlannedMove], snapshot: Snapshot, most: int = COMPARED_NODES
) -> dict[str, int]:
    names: dict[str, None] = {}
    for move in moves:
        names[move.source] = None
        likely = sorted(move.landing, key=lambda share: (-share.probability, share.node))
        names.update((share.node, None) for share in likely[:most])
    index = snapshot.node_index
    return {name: index[name] for name in names if name in index}


def _other_nodes(history: History, snapshot: Snapshot) -> dict[str, int]:
    names: dict[str, None] = {}
    last = history.baselines[-1].at if history.baselines else snapshot.taken
    for move in reversed(history.moves_beside(last)):
        names.update((name, None) for name in (move.source, move.landedOn))
    index = snapshot.node_index
    return {name: index[name] for name in list(names)[:_MOST_OTHERS] if name in index}


def _charges(
    policies: Sequence[Policy], snapshot: Snapshot, moves: Sequence[PlannedMove]
) -> dict[str, dict[str, tuple[float, float]]]:
    """What the pods of the batch are charged, and are expected to be; see `Baseline.charges`."""
    answer: dict[str, dict[str, tuple[float, float]]] = {}
    for policy in policies:
        if not policy.keeps_charges:
            continue
        term = policy.compile(snapshot)
        if isinstance(term, KeepsCharges):
            answer[policy.name] = dict(_charges_by(term, snapshot, moves))
    return answer


def _charges_by(
    term: KeepsCharges, snapshot: Snapshot, moves: Sequence[PlannedMove]
) -> Iterator[tuple[str, tuple[float, float]]]:
    for move in moves:
        pod, index = snapshot.pod_index.get(move.pod.uid, -1), snapshot.node_index
        there = {index[s.node]: s.probability for s in move.landing if s.node in index}
        if pod < 0 or not sum(there.values()) > 0:
            continue
        charges = term.charge_on(pod, np.array(list(there), dtype=np.int32))
        after = float(np.average(charges, weights=list(there.values())))
        yield move.pod.uid, (_short(term.charge(pod)), _short(after))


def _emptied_nodes(
    policies: Sequence[Policy], snapshot: Snapshot, moves: Sequence[PlannedMove]
) -> dict[str, list[str]]:
    """The nodes that moves for a policy leave and that it frees; see `Baseline.freed`."""
    answer: dict[str, list[str]] = {}
    for policy in policies:
        term: object = policy.compile(snapshot) if policy.frees_nodes else None
        if not isinstance(term, Freeing):
            continue
        freed, index = term.freeable_nodes(), snapshot.node_index
        sources = sorted({m.source for m in moves if m.gains.get(policy.name, 0.0) > 0})
        answer[policy.name] = [name for name in sources if name in index and freed[index[name]]]
    return answer


def _selected_totals(
    selected: SelectedNodes, named: Mapping[str, int], snapshot: Snapshot
) -> SelectedTotals:
    there = len(snapshot.nodes)
    return SelectedTotals(
        nodes=[name for name, node in named.items() if selected.chosen[node]],
        count=int(selected.chosen.sum()),
        digest=selected.digest(snapshot, np.ones(there, dtype=np.bool_)),
        there=there,
        placed=(int(snapshot.pods_on[selected.chosen].sum()), int(selected.chosen.sum())),
    )


def _absent(reading: Reading, present: BoolArray, snapshot: Snapshot) -> dict[str, list[str]]:
    """The nodes that should have a value and have none, if a reading has few such nodes."""
    if reading.request.subject != "node":
        return {}
    absent = np.flatnonzero(reading.expected & ~present).tolist()
    if len(absent) > _MOST_ABSENT:
        return {}
    return {reading.request.key: [snapshot.nodes[node].metadata.name for node in absent]}


def _total(values: FloatArray) -> tuple[float, int]:
    return _short(float(values.sum()), _DIGITS_OF_SUMS), len(values)


def _peers(reading: Reading, snapshot: Snapshot, pods: list[int]) -> dict[str, float]:
    values, answer = fresh(reading), {}
    for workload in {int(snapshot.pod_workload[pod]) for pod in pods} - {-1}:
        theirs = values[peers(workload, np.array(pods, dtype=np.int32), snapshot)]
        if not np.isnan(theirs).all():
            answer[snapshot.workloads[workload].uid] = _short(float(np.nanmean(theirs)))
    return answer


def _devices(
    reading: Reading,
    past: Past,
    snapshot: Snapshot,
    touched: dict[str, int],
    sources: dict[str, int],
) -> Iterator[tuple[str, DeviceValue, float, list[str]]]:
    """Node, device, value and UIDs of the pods of each device that is kept."""
    names = {node: name for name, node in touched.items()}
    count = dict.fromkeys(touched, 0)
    for device_value in sorted(reading.devices, key=lambda device: -device.value):
        name = names.get(device_value.node)
        if name is None or count[name] >= _MOST_DEVICES:
            continue
        count[name] += 1
        value = past.device(device_value) if name in sources else device_value.value
        yield (
            name,
            device_value,
            _short(value),
            [snapshot.pods[pod].metadata.uid for pod in device_value.pods],
        )


def _short(value: float, digits: int = _DIGITS) -> float:
    return float(f"{value:.{digits}g}")

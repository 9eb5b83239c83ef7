"""What our own reading path and model say before the scheduler decides."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import numpy as np

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer
from rescheduler.scheduler.shape import Shape
from rescheduler.scheduler.verdicts import State, filter_verdicts, score_verdicts
from rescheduler.sources.kubernetes.page_decoding import Sharing, decode_page
from tests.e2e.controlplane.api import Manifest


class Forecast:
    """The model of a snapshot, asked about one pod of it."""

    def __init__(
        self,
        snapshot: Snapshot,
        pod: int,
        before: "Forecast | None" = None,
        steered: Sequence[str] = (),
        *,
        require: bool = False,
    ) -> None:
        """pod: index into the snapshot's pods; -1 is the last one.

        steered: the nodes that it is steered to, beside what it asks for itself; none.
        before: an earlier forecast on the snapshot, whose working copy this one goes on with.
        moved: the pods that have gone to another node in the working copy, in their order.
        """
        self.snapshot = snapshot
        self.pod = pod % len(snapshot.pods)
        self.moved: list[tuple[str, str]] = []
        if before is None:
            self._model = SchedulerModel(snapshot, schedulers_of(snapshot).profiles)
        else:
            self._model = before._model
            self.moved += before.moved
        self.names = [node.metadata.name for node in snapshot.nodes]
        told = [self.names.index(name) for name in steered]
        self._steer = Steer.to_nodes(told, len(self.names), require=require) if told else None
        self.verdicts = self._model.verdicts(self.pod, self._steer)

    def feasible(self) -> set[str]:
        """The names of the feasible nodes."""
        return {self.names[index] for index in np.flatnonzero(self.verdicts.feasible)}

    @property
    def hears_late(self) -> bool:
        """Whether the scheduler may decide before it hears that the old pod goes."""
        scheduler = self.snapshot.pods[self.pod].spec.schedulerName
        return self._model.profiles[scheduler].hears_late

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """What is asked meanwhile is answered as if it had not heard that."""
        before = self.verdicts
        with self._model.occupancy.ignore_updates():
            self.verdicts = self._model.verdicts(self.pod, self._steer)
            try:
                yield
            finally:
                self.verdicts = before

    def chances(self) -> dict[str, float]:
        """Node -> probability."""
        landing = self.verdicts.landing
        pairs = zip(landing.nodes.tolist(), landing.probabilities.tolist(), strict=True)
        return {self.names[index]: chance for index, chance in pairs}

    def rejections(self, state: State) -> Counter[str]:
        """Plugin -> how many nodes it rejects first, with the old pod there or gone."""
        with self._model._in_state(state, self.pod):
            verdicts = filter_verdicts(self._shape(), len(self.names))
        return Counter({verdict.name: int(verdict.first.sum()) for verdict in verdicts})

    def points(self, among: Sequence[str]) -> dict[str, dict[str, int]]:
        """Plugin -> node -> weighted score, where these are the nodes that are scored."""
        index = {name: number for number, name in enumerate(self.names)}
        nodes = np.array([index[name] for name in among], dtype=np.int32)
        with self._model._in_state(self.verdicts.state, self.pod):
            scores = score_verdicts(self._shape(), nodes, len(self.names))
        return {
            score.name: {name: int(score.points[index[name]]) for name in among} for score in scores
        }

    def commit(self, node: str) -> None:
        """The pod has gone to that node: the working copy says so too."""
        self.moved.append((self.snapshot.pods[self.pod].key, node))
        source = int(self.snapshot.pod_node[self.pod])
        self._model.commit(Shift(self.pod, source, self.names.index(node)))

    def order(self) -> list[str]:
        """The nodes in the order of the scan, as far as it is known."""
        return [self.names[index] for index in self._model._order]

    def _shape(self) -> Shape:
        return self._model._shape(self._model._pod(self.pod), self._steer)


def with_pod(snapshot: Snapshot, manifest: Manifest) -> Snapshot:
    """The snapshot with one more pod, read as the reader reads it; it is the last one."""
    body = msgspec.json.encode({"metadata": {}, "items": [manifest]})
    found, _, bad = decode_page(body, Pod, "Pod")
    if bad:
        raise ValueError(f"the pod cannot be decoded: {bad[0].message}")
    problem = Sharing().pod(found[0])
    if problem:
        raise ValueError(f"the pod cannot be read: {problem}")
    return replace(snapshot, pods=[*snapshot.pods, found[0]])

"""The term of IdleGPUs: pods that hold GPUs and hardly use them; no move changes its cost."""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.move import Shift
from rescheduler.model.wording import count_text, duration_text, gpu_hours, verb_for
from rescheduler.policies.terms import JointBound


class IdleGPUsTerm:
    """IdleGPUs on one snapshot: 1.0 for each pod that hardly uses its GPUs, wherever it runs."""

    def __init__(
        self,
        snapshot: Snapshot,
        held: FloatArray,
        use: FloatArray,
        idle: BoolArray,
        evaluated: BoolArray,
        span: float,
    ) -> None:
        """(pods,) the GPUs held, and their mean share in use; which pods hardly use them.

        idle: of those that are evaluated. span: seconds.
        """
        self._snapshot, self._held, self._use = snapshot, held, use
        self._idle, self._evaluated, self._span = idle, evaluated, span

    def cost(self) -> float:
        """How many pods hold GPUs that they hardly use."""
        return float(self._idle.sum())

    def worst(self) -> float:
        """If all that were evaluated did."""
        return float(self._evaluated.sum())

    def scope(self) -> int:
        """How many pods are evaluated."""
        return int(self._evaluated.sum())

    def candidates(self) -> IntArray:
        """None: elsewhere a pod would use its GPUs as little."""
        return np.zeros(0, np.int32)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:  # noqa: ARG002 - whichever it is
        """(k,) no change."""
        return np.zeros(len(nodes))

    def joint_bound(self) -> JointBound:
        """Nothing: no moves lower what it costs."""
        pods = len(self._idle)
        return JointBound(np.zeros(pods), np.full(pods, -1, dtype=np.int32), np.empty(0))

    def commit(self, shift: Shift) -> None:
        """Nothing depends on where a pod is."""

    def measured_codes(self) -> None:
        """All findings come from readings."""

    def finding_ages(self) -> FloatArray:
        """(pods,) seconds for which each has hardly used its GPUs, at least."""
        return np.where(self._idle, self._span, np.nan)

    def idle(self) -> list[IdleHolder]:
        """By owner, who wastes most first."""
        holders = []
        for (namespace, owner), pods in self._by_owner().items():
            gpus = float(self._held[pods].sum())
            used = float((self._held[pods] * self._use[pods]).sum())
            holders.append(
                IdleHolder(
                    namespace=namespace,
                    owner=owner,
                    pods=len(pods),
                    gpus=gpus,
                    use=used / gpus,
                    hours=(gpus - used) * self._span / 3600,
                )
            )
        return sorted(holders, key=lambda holder: (-holder.hours, holder.namespace, holder.owner))

    def findings(self) -> Iterator[Finding]:
        """One for each owner."""
        by_owner = self._by_owner()
        for holder in self.idle():
            pods = by_owner[holder.namespace, holder.owner]
            gpus = f"{round(holder.gpus, 2):g} GPUs"
            yield Finding(
                code="IDL001",
                subject=f"{holder.owner.partition(' ')[0]} "
                f"{holder.namespace}/{holder.owner.partition(' ')[2]}",
                cost=float(holder.pods),
                message=f"{count_text(holder.pods, 'pod')} {verb_for(holder.pods, 'has', 'have')} "
                f"{gpus} and used {holder.use:.1%} of them in the last "
                f"{duration_text(self._span)}: "
                f"{gpu_hours(holder.hours)} GPU-hours were idle",
                pods=tuple(pods),
            )

    def _by_owner(self) -> dict[tuple[str, str], list[int]]:
        """Namespace and owner, `KIND NAME`, to the pods that hardly use their GPUs."""
        snapshot, answer = self._snapshot, dict[tuple[str, str], list[int]]()
        for pod in np.flatnonzero(self._idle).tolist():
            metadata, workload = snapshot.pods[pod].metadata, int(snapshot.pod_workload[pod])
            owner = f"Pod {metadata.name}"
            if workload >= 0:
                top = snapshot.workloads[workload]
                owner = f"{top.kind} {top.name}"
            answer.setdefault((metadata.namespace, owner), []).append(pod)
        return answer

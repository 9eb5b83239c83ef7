"""Whether a pod may be moved at all, whatever a policy would gain: codes ELG001-ELG042, DAT001."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import msgspec
import numpy as np

from rescheduler.kube.gang_marks import has_scheduling_group
from rescheduler.kube.objects import ObjectMeta, Pod, PodSpec
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.crash_loops import CrashLoops
from rescheduler.planning.eligibility.gang_checks import GangChecks
from rescheduler.planning.eligibility.needed_pods import NeededPods
from rescheduler.planning.eligibility.node_checks import NodeChecks
from rescheduler.planning.eligibility.opt_outs import depends_on_age, refuse_opt_out
from rescheduler.planning.eligibility.pod_checks import (
    refuse_kind,
    refuse_namespace,
    refuse_rank,
    refuse_responders,
    refuse_state,
)
from rescheduler.planning.eligibility.replacement_checks import ReplacementChecks
from rescheduler.planning.eligibility.volume_checks import Attachments
from rescheduler.planning.eligibility.workload_checks import Surroundings
from rescheduler.policies.limits import Limits


@dataclass(frozen=True, slots=True)
class _Shared:
    """What pods of one template and owner have in common, in the order of the checks."""

    kind: Problem | None
    template: Problem | None
    storage: Problem | None
    workload: Problem | None
    namespace: Problem | None

    @property
    def none(self) -> bool:
        """Whether none of it refuses a pod."""
        return not (self.kind or self.template or self.storage or self.workload or self.namespace)


class Eligibility:
    """Answers for any pod of one snapshot; what pods share is worked out once.

    ELG018 (a scheduler that we do not model) comes with the landing, from the scheduler model.
    plan: the id of the plan that is being carried out; its own moves start no cool-down.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        limits: Limits,
        history: History,
        *,
        plan: str = "",
        schedulers: Collection[str] = (),
    ) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._attachments = Attachments(snapshot)
        self._surroundings = Surroundings(snapshot, limits, history, plan)
        self._needed = NeededPods(snapshot, schedulers)
        self._crash_loops = CrashLoops(snapshot, history)
        self._replacements = ReplacementChecks(snapshot)
        self.places = NodeChecks(snapshot, limits, self._surroundings.refuse_node)
        self._gangs = GangChecks(snapshot, limits, history)
        self._namespaces = {
            namespace.metadata.name: namespace.metadata for namespace in snapshot.namespaces
        }
        self._shared: dict[tuple[int, datetime | None, bool], _Shared] = {}
        self._undecodable = {
            undecodable.namespace: undecodable
            for undecodable in snapshot.undecodable
            if undecodable.namespace
        }

    def ready(self, workload: int) -> int:
        """Ready pods of a workload, by its index."""
        return self._surroundings.ready(workload)

    def unread_owners(self) -> Counter[str]:
        """How many pods are left alone for an owner that is not read (ELG036), by its kind."""
        return self._surroundings.unread_owners()

    def refusal(self, pod: int, *, whole: bool = False) -> Problem | None:
        """Why the pod must be left alone, or None. The first reason that holds is given.

        whole: whether the pod's whole gang would move.
        """
        pod_object = self._snapshot.pods[pod]
        shared = self._shared_checks(pod, crash_looping=pod_object.crash_looping)
        return (
            shared.kind
            or refuse_state(pod_object, self._limits, self._snapshot.taken)
            or shared.template
            or self._refuse_gang(pod, whole=whole)
            or self._refuse_storage(pod, shared.storage, whole=whole)
            or self._surroundings.refuse_moved(pod_object.metadata.uid)
            or self._refuse_workload(pod, shared.workload, whole=whole)
            or self._replacements.refusal(pod_object)
            or self._crash_loops.refusal(pod)
            or self._refuse_node(pod)
            or shared.namespace
        )

    def refusals(self, pods: IntArray) -> dict[int, Problem]:
        """What `refusal` answers to each of the pods; those that may be moved are not in it.

        Where nothing refuses what a pod is like, nor its node, only its own state is checked.
        """
        snapshot, limits, now = self._snapshot, self._limits, self._snapshot.taken
        by_itself = self._calm[snapshot.pod_node[pods]] & self._harmless(pods)
        by_itself &= np.isin(pods, self._surroundings.moved, invert=True)
        by_itself &= ~self._replacements.refusal_mask(pods)
        moves_loops = limits.crashLooping != "Refuse"
        answer: dict[int, Problem] = {}
        for pod, alone in zip(pods.tolist(), by_itself.tolist(), strict=True):
            pod_object = snapshot.pods[pod]
            refusal = refuse_state(pod_object, limits, now) if alone else None
            if refusal is None and (not alone or (moves_loops and pod_object.crash_looping)):
                refusal = self.refusal(pod)
            if refusal is not None:
                answer[pod] = refusal
        return answer

    def protection(self, pod: int) -> Problem | None:
        """As `refusal`, but only what protects a pod whatever state it and its workload are in."""
        pod_object = self._snapshot.pods[pod]
        workload = int(self._snapshot.pod_workload[pod])
        return (
            refuse_kind(pod_object)
            or self._refuse_template(pod)
            or self._surroundings.refuse_owners(self._snapshot.workloads[workload])
            or self._refuse_undecodable(pod_object.metadata.namespace)
        )

    def checks(self, pod: int) -> Iterator[tuple[tuple[str, ...], Problem | None]]:
        """Every group of checks, also after one that fails: its codes as it asks, and its answer.

        A pod without a controller has no workload to ask about.
        """
        pod_object, limits, now = self._snapshot.pods[pod], self._limits, self._snapshot.taken
        around = self._surroundings
        workload = int(self._snapshot.pod_workload[pod])
        yield ("ELG003", "ELG001", "ELG002"), refuse_kind(pod_object)
        state = refuse_state(pod_object, limits, now) or self._refuse_namespace(pod_object)
        yield ("ELG005", "ELG004", "ELG006", "ELG007", "ELG021"), state
        yield ("ELG008", "ELG009"), refuse_rank(pod_object, limits)
        yield ("ELG037",), refuse_responders(pod_object)
        yield ("ELG019",), self._needed.refusal(pod_object)
        yield (
            ("ELG011",),
            refuse_opt_out(pod_object, self._metadata_above(pod), now, limits.optOuts),
        )
        yield self._gangs.check_pod(pod)
        yield ("ELG010",), self._attachments.refuse_local(pod_object, limits)
        tied = self._attachments.refuse_pinned(pod_object) or self._attachments.refuse_shared(
            pod_object
        )
        yield ("ELG017",), tied
        if workload >= 0:
            moved = around.refuse_moved(pod_object.metadata.uid) or around.refuse_workload(
                workload,
                crash_looping=pod_object.crash_looping,
                suspended=self._gangs.kueue_restarts(pod),
            )
            yield ("ELG015", "ELG036", "ELG014", "ELG013", "ELG024", "ELG012", "ELG022"), moved
            yield ("ELG041", "ELG042"), self._replacements.refusal(pod_object)
        yield ("ELG023",), self._crash_loops.refusal(pod)
        yield ("ELG020", "ELG025"), self._refuse_node(pod)
        yield ("DAT001",), self._refuse_undecodable(pod_object.metadata.namespace)

    def _harmless(self, pods: IntArray) -> BoolArray:
        """(k,) whether nothing refuses what each pod is like, as long as it does not crash-loop.

        Not where it is protected for some time from its own start. Of a gang that can spare one,
        each Ready pod may be moved; what is not Ready has its own answer.
        """
        snapshot, (some, of_pod) = self._snapshot, self._alike
        harmless = np.zeros(len(some), dtype=np.bool_)
        for number in np.unique(of_pod[pods]).tolist():
            pod = int(some[number])
            harmless[number] = (
                not depends_on_age(snapshot.pods[pod])
                and self._gangs.alone(pod) is None
                and self._shared_checks(pod, crash_looping=False).none
            )
        answer: BoolArray = harmless[of_pod[pods]]
        return answer

    @cached_property
    def _alike(self) -> tuple[IntArray, IntArray]:
        """One pod for each group of those with one answer; (pods,) the place of each pod's group.

        Of a spec only its rank, its gang and its volumes are checked, so specs may differ.
        """
        snapshot = self._snapshot
        encode = msgspec.msgpack.Encoder().encode
        numbers: dict[tuple[object, ...], int] = {}
        of_spec = [
            numbers.setdefault((encode(_spec_key(spec)),), len(numbers)) for spec in snapshot.specs
        ]
        kin, of_pod = snapshot.pod_kin
        numbers = {}
        representatives: list[int] = []
        of_kin: list[int] = []
        for pod, spec in zip(kin.tolist(), snapshot.pod_spec[kin].tolist(), strict=True):
            metadata = snapshot.pods[pod].metadata
            key = (
                metadata.namespace,
                of_spec[spec],
                id(metadata.labels),
                id(metadata.annotations),
                id(metadata.ownerReferences),
            )
            number = numbers.setdefault(key, len(representatives))
            if number == len(representatives):
                representatives.append(pod)
            of_kin.append(number)
        return np.array(representatives, dtype=np.int32), np.array(of_kin, dtype=np.int32)[of_pod]

    @cached_property
    def _calm(self) -> BoolArray:
        """(nodes + 1,) the nodes that refuse no pod that is on them; no node, -1, is none."""
        return np.append(self.places.calm, False)

    def _shared_checks(self, pod: int, *, crash_looping: bool) -> _Shared:
        pod_object = self._snapshot.pods[pod]
        start = pod_object.status.startTime if depends_on_age(pod_object) else None
        key = (int(self._alike[1][pod]), start, crash_looping)
        checks = self._shared.get(key)
        if checks is None:
            checks = self._shared[key] = self._evaluate(pod, crash_looping=crash_looping)
        return checks

    def _evaluate(self, pod: int, *, crash_looping: bool) -> _Shared:
        pod_object = self._snapshot.pods[pod]
        kind = refuse_kind(pod_object)
        if kind is not None:
            return _Shared(kind, None, None, None, None)
        return _Shared(
            kind,
            self._refuse_template(pod),
            self._attachments.refuse_local(pod_object, self._limits)
            or self._attachments.refuse_pinned(pod_object)
            or self._attachments.refuse_shared(pod_object),
            self._surroundings.refuse_workload(
                int(self._snapshot.pod_workload[pod]), crash_looping=crash_looping
            ),
            self._refuse_undecodable(pod_object.metadata.namespace),
        )

    def _refuse_template(self, pod: int) -> Problem | None:
        pod_object, limits, now = self._snapshot.pods[pod], self._limits, self._snapshot.taken
        return (
            self._refuse_namespace(pod_object)
            or refuse_rank(pod_object, limits)
            or refuse_responders(pod_object)
            or self._needed.refusal(pod_object)
            or refuse_opt_out(pod_object, self._metadata_above(pod), now, limits.optOuts)
        )

    def _refuse_storage(self, pod: int, problem: Problem | None, *, whole: bool) -> Problem | None:
        """What ties it to its node, where the pods of its gang that share a volume go with it."""
        gang = self._snapshot.gangs.gang_of(pod) if whole else None
        if problem is None or problem.code != "ELG017" or gang is None:
            return problem
        pod_object, pods = self._snapshot.pods[pod], self._snapshot.pods
        members = self._snapshot.gangs.facts(gang).members.tolist()
        going = {pods[member].metadata.uid for member in members}
        return self._attachments.refuse_pinned(pod_object) or self._attachments.refuse_shared(
            pod_object, going
        )

    def _refuse_workload(self, pod: int, problem: Problem | None, *, whole: bool) -> Problem | None:
        """What holds of its workload, where its gang is suspended and not evicted."""
        if (
            problem is None
            or problem.code != "ELG014"
            or not (whole and self._gangs.kueue_restarts(pod))
        ):
            return problem
        workload = int(self._snapshot.pod_workload[pod])
        return self._surroundings.refuse_workload(workload, suspended=True)

    def _refuse_gang(self, pod: int, *, whole: bool) -> Problem | None:
        gang = self._snapshot.gangs.gang_of(pod) if whole else None
        return self._gangs.alone(pod) if gang is None else self._gangs.refuse_gang(gang)

    def owners_of(self, pod: int) -> tuple[ObjectMeta, ...]:
        """The metadata of the objects above the pod that we know, its controller first."""
        owners, _ = self._snapshot.owner_chain(self._snapshot.pods[pod].controller)
        return tuple(owner.metadata for owner in owners)

    def _metadata_above(self, pod: int) -> tuple[ObjectMeta, ...]:
        namespace = self._namespaces.get(self._snapshot.pods[pod].metadata.namespace)
        return (*self.owners_of(pod), *([namespace] if namespace is not None else []))

    def _refuse_node(self, pod: int) -> Problem | None:
        node = int(self._snapshot.pod_node[pod])
        if node < 0:
            name = self._snapshot.pods[pod].node
            return Problem(code="ELG020", message=f"node {name or '(none)'} is not known")
        return self.places.stay(pod, node)

    def _refuse_namespace(self, pod: Pod) -> Problem | None:
        name = pod.metadata.namespace
        return refuse_namespace(name, self._namespaces.get(name))

    def _refuse_undecodable(self, namespace: str) -> Problem | None:
        """An object of the namespace that we cannot read may protect any of its pods."""
        bad = self._undecodable.get(namespace)
        if bad is None:
            return None
        return Problem(
            code="DAT001",
            message=f"{bad.kind} {bad.namespace}/{bad.name} could not be read, "
            "so its namespace is left alone",
        )


def _spec_key(spec: PodSpec) -> tuple[object, ...]:
    """What is checked of a spec if its pod's own state does not matter."""
    return (
        spec.priority,
        spec.priorityClassName,
        has_scheduling_group(spec),
        spec.volumes,
        spec.resourceClaims,
        spec.evictionResponders,
    )


def refusal(snapshot: Snapshot, pod: int, limits: Limits, history: History) -> Problem | None:
    """Why one pod of a fresh snapshot must be left alone, or None.

    For many pods of one snapshot make one `Eligibility` and ask it.
    """
    return Eligibility(snapshot, limits, history).refusal(pod)

"""Answers to "why" and "why not", from one snapshot of the cluster or from a recording of it."""

from collections.abc import Callable

from rescheduler import __version__
from rescheduler.kube.pods.pod_state import waits_for_a_node
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import NotFound
from rescheduler.model.explanation import (
    Header,
    NodeExplanation,
    PendingExplanation,
    PodExplanation,
)
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import ClusterRef
from rescheduler.model.moves.suggestion import Suggestion
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.lookup import find_node, find_pod
from rescheduler.planning.explain.node import explain_node
from rescheduler.planning.explain.pending import explain_pending
from rescheduler.planning.explain.pod import explain_pod
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.runtime.cycle import recall_findings
from rescheduler.runtime.parts import connection_of, parts_of, policies_of
from rescheduler.runtime.settings import Settings


class Explainer:
    """One snapshot, and what there is to explain about it."""

    def __init__(self, settings: Settings) -> None:
        """Read the cluster, with the readings that the policies need.

        Raises:
            ReschedulerError: the policies or the sources cannot be used.
        """
        policies = policies_of(settings) if settings.policies is not None else policy_set([])
        parts = parts_of(settings, connection_of(settings), policies=lambda: policies)
        self._snapshot = parts.observe(policies.requests_to_try(), policies.limits.own_annotations)
        history, notes = parts.recall()
        finding_history, more = recall_findings(parts, policies)
        self.notes = [*notes, *more]
        self._copy = WorkingCopy(
            self._snapshot,
            policies.policies,
            policies.limits,
            history,
            seed=settings.seed,
            schedulers=policies.schedulers,
            finding_history=finding_history,
        )
        self._suggest: Callable[[], list[Suggestion]] = lambda: _suggestions(
            self._snapshot, policies, history, finding_history, settings.seed
        )
        self._header = _header(self._snapshot, recorded=settings.snapshot is not None)

    def pod(self, said: str) -> PodExplanation:
        """A pod by `namespace/name`, or by a name that only one has.

        Raises:
            NotFound: there is no such pod.
        """
        made = explain_pod(self._copy, find_pod(self._snapshot, said), self._header)
        if made.policies and made.verdict.outcome != "moves":
            made.suggestions = self._suggest()
        return made

    def node(self, said: str) -> NodeExplanation:
        """A node by its name.

        Raises:
            NotFound: there is no such node.
        """
        made = explain_node(self._copy, find_node(self._snapshot, said), self._header)
        if made.policies and any(pod.verdict.outcome != "moves" for pod in made.pods):
            made.suggestions = self._suggest()
        return made

    def pending_pods(self, said: str | None) -> PendingExplanation:
        """All Pending pods, or the one that was named.

        Raises:
            NotFound: there is no such pod, or it is not Pending.
        """
        index = None if said is None else find_pod(self._snapshot, said)
        if index is not None:
            pod = self._snapshot.pods[index]
            if not waits_for_a_node(pod):
                where = f"on node {pod.node}" if pod.node else f"in phase {pod.status.phase}"
                raise NotFound(
                    f"pod {pod.key} is not Pending: it is {where}",
                    f"`rescheduler explain pod {pod.key}` is meant.",
                )
        return explain_pending(self._copy, self._header, index)


def _suggestions(
    snapshot: Snapshot,
    policies: PolicySet,
    history: History,
    finding_history: FindingHistory,
    seed: int,
) -> list[Suggestion]:
    """The changes that would help most, as a plan that is made now has them."""
    outline = Outline(mode="Audit", seed=seed, tool="", recorded=False, suggests=True)
    plan, _ = plan_and_observations(snapshot, policies, history, finding_history, outline)
    return plan.suggestions


def _header(snapshot: Snapshot, *, recorded: bool) -> Header:
    cluster = snapshot.cluster
    return Header(
        tool=f"rescheduler {__version__}",
        cluster=ClusterRef(uid=cluster.uid, version=cluster.version, name=cluster.name),
        taken=snapshot.taken,
        recorded=recorded,
    )

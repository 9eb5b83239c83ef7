"""Whether members of gangs may be moved: `gangs` of the Limits, and how many a gang can spare.

A gang whose minimum is known can spare its Ready members above it, one by one. A gang as a whole
may be moved where every member is Running and Ready.
"""

from rescheduler.kube.gang_marks import SCHEDULING_GROUP, WORKLOAD_REF, WORKLOADS
from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.eligibility.gang_members import SpareMembers
from rescheduler.planning.eligibility.kueue_checks import KueueChecks
from rescheduler.policies.limits import Limits


class GangChecks:
    """Answers for the members of the gangs of one snapshot."""

    def __init__(self, snapshot: Snapshot, limits: Limits, history: History) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._spare = SpareMembers(snapshot, history)
        self._kueue = KueueChecks(snapshot)
        self._wholes: dict[Gang, Problem | None] = {}

    def alone(self, pod: int) -> Problem | None:
        """ELG016 and ELG027-ELG029: whether the pod may be moved without the rest of its gang.

        ELG029, ELG034 and ELG035 of a pod without a gang, which Kueue may admit by itself.
        """
        gang = self._snapshot.gangs.gang_of(pod)
        if gang is None:
            return self._kueue.refuse_pod(self._snapshot.pods[pod])
        if self._limits.gangs == "Spare":
            return Problem(
                code="ELG016",
                message=f"it is a member of gang {gang.name} ({gang.mark}), and gangs is Spare",
            )
        if (refusal := self._refuse_kueue(gang)) is not None:
            return refusal
        if self._snapshot.gangs.facts(gang).kueue:
            text = f"Kueue stops and starts gang {gang.name} ({gang.mark}) with all its pods"
            return Problem(code="ELG028", message=text)
        if self._snapshot.pods[pod].ready and self._spare.spare_count(gang) > 0:
            return None
        if self._limits.gangs == "Whole":
            if len(self._snapshot.gangs.facts(gang).members) == 1:
                return self.refuse_gang(gang)
            return Problem(
                code="ELG028",
                message=f"{self._needs(gang)}, so it is moved with its whole gang or not at all",
            )
        return Problem(code="ELG027", message=f"{self._needs(gang)}: no pod of it can be evicted")

    def check_pod(self, pod: int) -> tuple[tuple[str, ...], Problem | None]:
        """What is checked of the pod's gang, however it may be moved: the codes and the answer."""
        gang, answer = self._snapshot.gangs.gang_of(pod), self.alone(pod)
        if gang is None and answer is not None:
            return ("ELG029", "ELG034", "ELG035"), answer
        if gang is None or self._limits.gangs == "Spare":
            return ("ELG016",), answer
        if self._limits.gangs == "Surplus":
            return ("ELG029", "ELG027"), answer
        alone = answer is None or answer.code != "ELG028"
        codes = ("ELG029", "ELG034", "ELG035", "ELG030")
        return codes, answer if alone else self.refuse_gang(gang)

    def refuse_gang(self, gang: Gang) -> Problem | None:
        """ELG016, ELG029, ELG030, ELG034 and ELG035: whether the gang may be moved as a whole."""
        if gang not in self._wholes:
            self._wholes[gang] = self._refuse_whole(gang)
        return self._wholes[gang]

    def kueue_restarts(self, pod: int) -> bool:
        """Whether the pod's gang would be stopped and started by Kueue, not evicted."""
        gang = self._snapshot.gangs.gang_of(pod)
        kueue = gang is not None and self._snapshot.gangs.facts(gang).kueue
        return kueue and self._limits.kueue == "Restart"

    def _refuse_whole(self, gang: Gang) -> Problem | None:
        facts = self._snapshot.gangs.facts(gang)
        if self._limits.gangs != "Whole":
            text = f"gang {gang.name} is not moved as a whole: gangs is {self._limits.gangs}"
            return Problem(code="ELG016", message=text)
        if (refusal := self._refuse_kueue(gang)) is not None:
            return refusal
        if facts.entangled:
            return Problem(code="ELG030", message=self._needs(gang))
        if gang.mark in (SCHEDULING_GROUP, WORKLOAD_REF):
            text = f"gang {gang.name} ({gang.mark}): kube-scheduler binds none of its new pods "
            text += "before minCount of the group have a node, and which nodes is not predicted"
            return Problem(code="ELG030", message=text)
        size, ready = len(facts.members), self._spare.ready(gang)
        if ready < size or (facts.minimum is not None and size < facts.minimum):
            text = f"{self._needs(gang)} of {count_text(size, 'pod')}, so it is not complete"
            return Problem(code="ELG030", message=text)
        return None

    def _needs(self, gang: Gang) -> str:
        facts, ready = self._snapshot.gangs.facts(gang), self._spare.ready(gang)
        if facts.entangled:
            return f"some pods of gang {gang.name} ({gang.mark}) are of another gang too"
        least = "all its pods" if facts.minimum is None else count_text(facts.minimum, "pod")
        return f"gang {gang.name} ({gang.mark}) needs {least} and has {ready} Ready"

    def _refuse_kueue(self, gang: Gang) -> Problem | None:
        """ELG029, ELG034, ELG035: whether Kueue runs the gang and may not restart it."""
        name = f"gang {gang.name} ({gang.mark})"
        if self._snapshot.gangs.facts(gang).kueue:
            if self._limits.kueue == "Restart":
                return self._kueue.refusal(gang)
            return Problem(code="ELG029", message=f"Kueue starts and stops {name} as a whole")
        if WORKLOADS in self._snapshot.unread:
            text = f"whether Kueue starts and stops {name} is not known: {WORKLOADS} was not read"
            return Problem(code="ELG029", message=text)
        return None

"""Where an authorizer refuses one pod, on a real API server: what is known of it is told, and no
other pod waits for it.

The program runs through a proxy that loses answers, on a second kube-apiserver that asks the
authorizer before RBAC. The pods that may not be read are in the namespace `team`.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rescheduler.actions.ledger_format import (
    decode_state,
    encode_state,
    fill_config_map,
    note_of,
    packed_in,
)
from tests.e2e.authorizer import Authorizer, Refusal
from tests.e2e.between import Asked, Between, PassOn, Reply, Trouble
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment, stateful_set
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.controlplane.audit import Record, Records
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.crashing import accepted, judge, moves, state, uid
from tests.e2e.loop import (
    NAMESPACE,
    SPREAD,
    USER,
    install,
    plan,
    swift,
    together,
    write_policies,
)
from tests.e2e.program import Program
from tests.e2e.spoiling import cut, lost

pytestmark = pytest.mark.e2e

Json = dict[str, Any]

TEAM = "team"
LIMITS = (
    swift(per_cycle=2)
    .replace("coolDown: 0s", "coolDown: 1h")
    .replace("coolDownCap: 0s", "coolDownCap: 24h")
)
OVERDUE = timedelta(minutes=3)
"""After so long an eviction that was not answered has taken effect, or never will."""
GET, LIST = "get", "list"


@dataclass(frozen=True)
class Asking:
    """An API server that asks an authorizer."""

    authorizer: Authorizer
    api: Api


@pytest.fixture(scope="module")
def asking(control_plane: ControlPlane) -> Iterator[Asking]:
    """A second API server of the same cluster, for this module."""
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-authorizer-"))
    authorizer = Authorizer()
    try:
        yield Asking(authorizer, control_plane.another_api_server(*authorizer.options(folder)))
    finally:
        control_plane.stop_other_api_servers()
        authorizer.stop()
        shutil.rmtree(folder)


@dataclass
class Scene:
    """Workloads that want to spread: `web` in `team`, which needs two moves, and others beside it.

    Each run makes two moves at most, and a workload cools down after one. team: policies for that
    namespace alone; others: for those beside it; everywhere: for all.
    """

    cluster: Cluster
    authorizer: Authorizer
    between: Between
    program: Program
    folder: Path
    mark: int
    logs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.team, self.others = self.spreading(TEAM), self.spreading("default")
        self.everywhere = self.spreading(f"{TEAM}, default")

    def spreading(self, namespaces: str) -> Path:
        """Policies that spread the workloads of these."""
        text = SPREAD.replace("[default]", f"[{namespaces}]")
        return write_policies(self.folder / namespaces, text, LIMITS)

    def run(self, policies: Path, code: int) -> Json:
        """One run that ends with this code; its report as `together` has it.

        The report is empty where there is none. The run's log is the last of `logs`.
        """
        given = ("--policies", policies, "--mode", "Enforce", "--audit-trail", self.trail)
        done = self.program.run("run", "--once", *given, "-o", "json")
        assert code == done.code, f"exit {done.code}\n{done.stderr}\n{done.stdout}"
        self.logs.append(done.stderr)
        self.cluster.settled()
        return together(done.json()) if done.stdout else {}

    @property
    def trail(self) -> Path:
        """The audit trail of all its runs."""
        return self.folder / "trail.jsonl"

    def history(self) -> Json:
        """What `rescheduler history` says of the move of `team`."""
        reader = Program(self.program.binary)
        done = reader.run("history", "--audit-trail", self.trail, "-o", "json")
        (step,) = [m for m in done.json()["moves"] if m["pod"]["namespace"] == TEAM]
        return dict(step)

    def refuse(self, *verbs: str, name: str = "") -> None:
        """From now on these verbs are refused to that pod of `team`, or to all of its pods."""
        self.authorizer.refusals = (Refusal(USER, verbs, TEAM, name),)

    def allow(self) -> None:
        """From now on nothing is refused."""
        self.authorizer.refusals = ()

    def unanswered(self, trouble: Trouble, *verbs: str) -> str:
        """A run that moves one pod, whose eviction meets this trouble; the name of the pod.

        These verbs are refused to the pod from then on, so that nobody knows what became of it.
        """

        def evicting(asked: Asked, pass_on: PassOn) -> Reply:
            if not asked.path.endswith("/eviction"):
                return pass_on(asked)
            self.refuse(*verbs, name=asked.path.split("/")[-2])
            return trouble(asked, pass_on)

        self.between.trouble = evicting
        report = self.run(self.team, 3)
        self.between.trouble = None
        assert [(m["result"], m["code"]) for m in report["moves"]] == [("unknown", "ACT009")]
        assert self.intended
        return str(self.kept()["pod"])

    def records(self) -> Records:
        """What the program has asked for."""
        return self.cluster.control_plane.audit.since(self.mark).by(USER)

    def evictions(self) -> list[Record]:
        """The evictions in `team` that were accepted. Those everywhere were each intended once."""
        records = self.records()
        judge(records, TEAM)
        return [record for record in accepted(records) if record.name.startswith(f"{TEAM}/")]

    def kept(self) -> Json:
        """The move of `team` in the durable state, which has one of it."""
        (found,) = [move for move in moves(self.cluster) if move["namespace"] == TEAM]
        return found

    @property
    def intended(self) -> bool:
        """Whether that is still open."""
        return bool(self.kept().get("state", "intended") == "intended")

    def pod(self, name: str) -> Manifest:
        """That pod of `team`."""
        return self.cluster.api.read("v1", "Pod", name, TEAM)

    def backdate(self) -> None:
        """Let the eviction that was not answered be of so long ago that it must have ended."""
        current = state(self.cluster)
        ledger = decode_state(current, "")
        assert ledger is not None
        (intent,) = [move for move in ledger.history.moves if move.state == "intended"]
        intent.at -= OVERDUE
        changed, api = fill_config_map(current, encode_state(ledger)), self.cluster.api
        api.patch(current, {key: changed[key] for key in ("data", "binaryData")})
        note = msgspec.json.encode(note_of(ledger, packed_in(changed))).decode()
        lease = api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
        api.patch(lease, {"metadata": {"annotations": {"rescheduler.io/ledger": note}}})


def results(report: Json, namespace: str) -> list[tuple[str, str]]:
    """What became of the moves there, and their codes."""
    there = [move for move in report["moves"] if move["pod"]["namespace"] == namespace]
    return [(move["result"], move["code"]) for move in there]


def notes(report: Json) -> list[str]:
    """What is said of pods that cannot be read."""
    return [note["message"] for note in report["notes"] if note["code"] == "ACT023"]


def left_alone(report: Json) -> set[tuple[str, str]]:
    """Why pods of `team` are left alone."""
    there = [refusal for refusal in report["refused"] if refusal["pod"]["namespace"] == TEAM]
    return {(refusal["code"], refusal["message"]) for refusal in there}


@pytest.fixture
def web() -> Manifest:
    """What is in `team`, for a test to say otherwise."""
    return deployment("web", 4, namespace=TEAM)


@pytest.fixture
def scene(
    cluster: Cluster, asking: Asking, binary: Path, tmp_path: Path, web: Manifest
) -> Iterator[Scene]:
    """See `Scene`; nothing is refused yet."""
    plane = cluster.control_plane
    cluster.namespace(TEAM)
    cluster.create(*nodes(4, cpu=16, memory="64Gi", zones=["a", "b"]))
    others = [(deployment(f"other-{n}", 2), ["n1", "n3"]) for n in range(8)]
    cluster.arrange([(web, ["n1", "n1", "n3", "n3"]), *others])
    own = install(cluster, "enforce-cronjob", tmp_path)
    between = Between(asking.api.server, plane.layout.authority)
    try:
        program = Program(binary, between.kubeconfig(own, tmp_path / "between.kubeconfig"))
        mark = plane.audit.mark()
        yield Scene(cluster, asking.authorizer, between, program, tmp_path, mark)
    finally:
        asking.authorizer.refusals = ()
        between.stop()


def test_a_lost_eviction_is_settled_by_a_list_of_pods(
    scene: Scene,
) -> None:
    done, planned = plan(scene.program, scene.team)
    assert done.code == 0
    (name,) = [move["pod"]["name"] for move in planned["moves"]]
    scene.refuse(GET, name=name)
    # It is there, on its way out, until the program has seen it so.
    scene.cluster.api.patch(scene.pod(name), {"metadata": {"finalizers": ["tenant.example/keep"]}})
    listed: list[Json] = []

    def trouble(asked: Asked, pass_on: PassOn) -> Reply:
        if asked.path.endswith(f"/{name}/eviction"):
            return lost(asked, pass_on)
        reply = pass_on(asked)
        if "fieldSelector=metadata.name" in asked.path and not listed:
            listed.extend(json.loads(reply.body)["items"])
            scene.cluster.api.patch(scene.pod(name), {"metadata": {"finalizers": None}})
        return reply

    scene.between.trouble = trouble
    report = scene.run(scene.team, 0)

    (seen,) = listed
    assert seen["metadata"]["name"] == name
    assert seen["metadata"]["deletionTimestamp"]
    assert report["verdict"]["code"] == "ACT013"
    assert [move["pod"]["name"] for move in report["moves"]] == [name]
    assert results(report, TEAM) == [("evicted", "ACT001")]
    assert report["moves"][0]["landedOn"] in ("n2", "n4")
    assert notes(report) == []
    reads = [r for r in scene.records().on("pods") if (r.verb, r.objectRef.name) == (GET, name)]
    assert {read.code for read in reads} == {403}, "no read of the pod itself was allowed"
    assert [uid(eviction) for eviction in scene.evictions()] == [seen["metadata"]["uid"]]
    kept = scene.kept()
    assert (kept["podUid"], kept["state"]) == (seen["metadata"]["uid"], "ready")
    assert scene.history()["readySeconds"] is not None


def test_a_lost_request_is_settled_by_a_list_of_the_controllers_pods(
    scene: Scene,
) -> None:
    """What names the pod is refused, a list by the field metadata.name too."""
    scene.unanswered(cut, GET, LIST)
    scene.backdate()
    report = scene.run(scene.others, 0)
    assert notes(report) == []
    assert set(results(report, "default")) == {("evicted", "ACT001")}
    kept = scene.kept()
    assert (kept["state"], kept["code"]) == ("refused", "ACT009")
    assert scene.evictions() == []
    assert "cannot be read" not in scene.logs[-1]


def test_an_eviction_stays_charged_until_its_pod_may_be_read(
    scene: Scene,
) -> None:
    pod = f"{TEAM}/{scene.unanswered(lost, GET, LIST)}"
    assert [eviction.name for eviction in scene.evictions()] == [pod], "it took effect"

    report = scene.run(scene.everywhere, 0)
    assert set(results(report, "default")) == {("evicted", "ACT001")}, "it holds no other"
    assert "it is not known yet whether an eviction took effect" in scene.logs[-1]
    assert left_alone(report) == {("ELG022", "1 replacement of Deployment web is pending")}
    assert scene.intended

    scene.backdate()
    report = scene.run(scene.everywhere, 3)
    assert set(results(report, "default")) == {("evicted", "ACT001")}
    assert "counts as carried out, as its pod cannot be read" in scene.logs[-1]
    assert f"pod {pod} may not be read, though others may" in scene.logs[-1]
    kept = scene.kept()
    assert (kept["state"], kept["code"]) == ("lost", "ACT023")

    again = scene.run(scene.everywhere, 3)
    assert set(results(again, "default")) == {("evicted", "ACT001")}
    for run_report in (report, again):
        (note,) = notes(run_report)
        assert f"It is {pod}." in note
        ((code, said),) = left_alone(run_report)
        assert code == "ELG022"
        assert "cools down until" in said
        assert "hidden by a pod that cannot be read" in said
    assert scene.kept() == kept, "it is charged once"
    assert scene.history()["code"] == "ACT023"

    scene.allow()
    report = scene.run(scene.everywhere, 0)
    assert notes(report) == []
    ((code, said),) = left_alone(report)
    assert code == "ELG022"
    assert "cools down until" in said
    assert "cannot be read" not in said
    found = scene.kept()
    assert (found["state"], found["code"], found["at"]) == ("ready", "ACT001", kept["at"])
    assert found["landedOn"] in ("n2", "n4")
    step = scene.history()
    assert (step["code"], step["landedOn"]) == ("ACT001", found["landedOn"])
    assert [eviction.name for eviction in scene.evictions()] == [pod], "and evicted once"


def test_pods_that_may_not_be_listed_hold_the_run_and_charge_nothing(
    scene: Scene,
) -> None:
    """Nobody can see what becomes of moves there; what is missing is named."""
    scene.unanswered(lost, GET, LIST)
    kept = scene.kept()
    scene.refuse(GET, LIST)
    scene.backdate()
    scene.run(scene.everywhere, 1)
    assert f"/api/v1/namespaces/{TEAM}/pods answered 403" in scene.logs[-1]
    assert "Maybe grant the right to list pods" in scene.logs[-1]
    assert len(accepted(scene.records())) == 1
    assert scene.intended

    scene.allow()
    report = scene.run(scene.everywhere, 0)
    assert set(results(report, "default")) == {("evicted", "ACT001")}
    assert results(report, TEAM) == []
    found = scene.kept()
    assert (found["podUid"], found["state"]) == (kept["podUid"], "ready")
    assert len(scene.evictions()) == 1


@pytest.mark.parametrize("web", [stateful_set("web", 4, namespace=TEAM)], ids=["StatefulSet"])
def test_a_pod_of_a_statefulset_that_nobody_can_see_holds_no_run(scene: Scene) -> None:
    scene.unanswered(lost, GET, LIST)
    scene.backdate()
    report = scene.run(scene.everywhere, 0)
    assert set(results(report, "default")) == {("evicted", "ACT001")}
    assert notes(report) == []
    # The list by labels shows another pod of its name, which is its replacement.
    kept = scene.kept()
    assert (kept["state"], kept["code"]) == ("ready", "ACT001")
    assert kept["landedOn"] in ("n2", "n4")
    assert len(scene.evictions()) == 1


def test_a_pod_that_was_never_evicted_is_told_once_it_may_be_read(scene: Scene) -> None:
    pod = scene.pod(scene.unanswered(cut, GET, LIST))
    # Its controller lets go of it and makes another one, so that no list by its selector has it.
    scene.cluster.api.patch(pod, {"metadata": {"labels": {"app": None}}})
    scene.cluster.until(lambda: len(scene.cluster.pods("web", TEAM)) == 4, "one in its place")
    scene.cluster.settled()
    scene.backdate()
    assert len(notes(scene.run(scene.others, 3))) == 1
    assert scene.kept()["code"] == "ACT023"
    scene.allow()
    report = scene.run(scene.others, 0)
    assert set(results(report, "default")) == {("evicted", "ACT001")}
    assert scene.evictions() == []
    assert notes(report) == []
    assert (scene.kept()["state"], scene.kept()["code"]) == ("lost", "ACT009")
    step = scene.history()
    assert (step["result"], step["code"]) == ("unknown", "ACT009")

"""Policies are understood from texts, wherever these come from; files are read elsewhere."""

from pathlib import Path

import pytest

from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet, read_policies
from rescheduler.sources.policy_files import load_policies, read_beside, read_file

POLICY = """\
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec: {match: {all: true}, topologyKey: topology.kubernetes.io/zone}
"""
SCHEDULER = """\
apiVersion: rescheduler.io/v1alpha1
kind: Scheduler
metadata: {name: mine}
spec: {configFile: kube.yaml}
"""
KUBE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: a}]
"""


def read(files: dict[str, str], *only: str) -> PolicySet:
    """What the texts give, or those of them that are named; the others can be referred to."""

    def held(name: str) -> TextFile:
        problem = "" if name in files else "cannot be read: it is not there"
        return TextFile(name, f"held/{name}", files.get(name, ""), problem)

    return read_policies(
        "memory", [held(name) for name in only or files], lambda _, name: held(name)
    )


def test_policies_are_read_from_texts_alone() -> None:
    found = read({"p.yaml": POLICY, "s.yaml": SCHEDULER, "kube.yaml": KUBE}, "p.yaml", "s.yaml")
    assert [policy.name for policy in found.policies] == ["zones"]
    assert [scheduler.names for scheduler in found.schedulers] == [["a"]]
    assert found.files == {"zones": "p.yaml", "mine": "s.yaml"}


def test_a_file_that_is_referred_to_need_not_be_a_policy_file() -> None:
    # It is read as one too, and is none; a document has its kind.
    assert read({"p.yaml": POLICY, "s.yaml": SCHEDULER, "kube.yaml": KUBE}).schedulers


@pytest.mark.parametrize(
    ("files", "place", "words"),
    [
        ({"s.yaml": SCHEDULER}, "s.yaml:4", "kube.yaml cannot be read: it is not there"),
        ({"s.yaml": SCHEDULER, "kube.yaml": "a: 1"}, "kube.yaml:1", "apiVersion: is required"),
        ({"p.yaml": POLICY, "q.yaml": POLICY}, "q.yaml:3", "is the name in p.yaml:1 too"),
    ],
)
def test_a_mistake_is_reported_with_the_name_of_its_text(
    files: dict[str, str], place: str, words: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        read({"one.yaml": POLICY.replace("zones", "one"), **files})
    assert place in str(caught.value)
    assert words in str(caught.value)


def test_a_file_has_its_text_and_one_identity(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("\ufeff" + POLICY, encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to(path)
    made, link = read_file(path), read_file(tmp_path / "link.yaml")
    assert (made.text, made.problem, made.name) == (POLICY, "", str(path))
    assert link.identity == made.identity
    assert read_beside(made, "link.yaml").identity == made.identity


def test_what_is_no_readable_text_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "circle.yaml").symlink_to(tmp_path / "circle.yaml")
    assert read_file(tmp_path / "bytes.yaml").problem == "is not text in UTF-8"
    assert read_file(tmp_path / "none.yaml").problem == "cannot be read: No such file or directory"
    assert read_file(tmp_path / "circle.yaml").problem.startswith("cannot be read: ")
    with pytest.raises(PolicyError, match="is not text in UTF-8"):
        load_policies(tmp_path / "bytes.yaml")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("shift", "letter"), [(0, "\u20ac"), (1, "\u20ac"), (2, "\u20ac"), (0, "x")]
)
def test_a_file_that_is_too_large_is_refused_and_never_cut(
    tmp_path: Path, mark: str, shift: int, letter: str
) -> None:
    # Of a letter of three bytes the limit falls inside, or between two.
    rest = "#" * shift + letter * 300_000 + "\n---\n" + POLICY.replace("zones", "more")
    (tmp_path / "p.yaml").write_text(f"{mark}{POLICY}# {rest}", encoding="utf-8")
    with pytest.raises(PolicyError, match="larger than 256 KiB"):
        load_policies(tmp_path)

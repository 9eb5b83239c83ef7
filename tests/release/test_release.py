"""What makes a release refuses what is not as it should be; the dry run itself makes all of it."""

import io
import json
import re
import shutil
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from rescheduler import __version__
from tests.deploy.install_yaml import install_text
from tests.release import __main__ as dry_run
from tests.release import commands, deployments, plugin, released_image, tested_image
from tests.release.artifacts import ROOT, Artifacts, ReleaseFault, digest
from tests.release.deployments import NotThere
from tests.release.notes import make_notes, section_of, typed_changes
from tests.release.provenance import check_provenance, make_provenance
from tests.release.signature import sign_files
from tests.release.small_image import write_image
from tests.release.workflow import check_form, check_image

CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\nx\n\n## 1.2.0\n\n- One.\n\n### More\n\n## 1.1.0\n\n- Old.\n"
)


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    """A folder with two files of a release."""
    made = Artifacts(tmp_path)
    made.wheel.write_bytes(b"a wheel")
    made.plugin.write_bytes(b"an archive")
    return made


def test_the_notes_are_the_section_of_the_version(artifacts: Artifacts) -> None:
    assert section_of(CHANGELOG, "1.2.0") == "- One.\n\n### More"
    for version in ("1.2", "1.3.0", "2.0"):
        with pytest.raises(ReleaseFault, match="says nothing"):
            section_of(CHANGELOG, version)
    make_notes(artifacts)
    notes = artifacts.notes.read_text()
    assert f"tags/v{artifacts.version}" in notes
    assert "{" not in notes.partition("### How to check it")[2]


def test_each_entry_of_the_changelog_is_a_change_with_its_kind() -> None:
    section = "- One,\n  on two lines.\n\n### Security\n\n- Two.\n\n### Plans\n\n- Three.\n"
    assert [tuple(change.values()) for change in typed_changes(section)] == [
        ("added", "One, on two lines."),
        ("security", "Two."),
        ("added", "Three."),
    ]


def test_a_file_that_changed_is_not_what_the_provenance_says(artifacts: Artifacts) -> None:
    make_provenance(artifacts, [artifacts.wheel, artifacts.plugin], datetime.now(UTC))
    statement = json.loads(artifacts.provenance.read_text())
    assert [subject["name"] for subject in statement["subject"]] == [
        artifacts.wheel.name,
        artifacts.plugin.name,
    ]
    assert statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]
    artifacts.wheel.write_bytes(b"another wheel")
    with pytest.raises(ReleaseFault, match="is not what"):
        check_provenance(artifacts.provenance, artifacts.folder)


def test_checksums_cover_each_file_and_are_signed(artifacts: Artifacts) -> None:
    assert sign_files(artifacts, [artifacts.wheel, artifacts.plugin]).startswith("2 files")
    lines = artifacts.checksums.read_text().splitlines()
    assert lines[0] == f"{digest(artifacts.wheel)}  {artifacts.wheel.name}"
    assert artifacts.signature.read_text()


def test_the_manifest_of_krew_names_the_archive_and_its_checksum(artifacts: Artifacts) -> None:
    manifest = yaml.safe_load(plugin.krew_manifest(artifacts))
    [platform] = manifest["spec"]["platforms"]
    assert platform["uri"].endswith(f"/v{artifacts.version}/{artifacts.plugin.name}")
    assert platform["sha256"] == digest(artifacts.plugin)
    assert manifest["metadata"]["name"] == plugin.NAME.removeprefix("kubectl-")
    assert len(manifest["spec"]["shortDescription"]) <= 80


def test_the_archive_is_the_same_for_the_same_tree(tmp_path: Path) -> None:
    made = []
    for number in range(2):
        tree = tmp_path / f"{number}"
        (tree / "inner").mkdir(parents=True)
        (tree / "inner/library.so").write_bytes(b"code")
        (tree / "program").write_bytes(b"code")
        (tree / "program").chmod(0o700 + number)
        (tree / "link.so").symlink_to("inner/library.so")
        (tree / "RECORD").write_text(f"{number}")
        archive = tmp_path / f"{number}.tar.gz"
        plugin.pack_tree(tree, archive)
        made.append(archive.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(fileobj=io.BytesIO(made[0])) as packed:
        names = {member.name: member.mode for member in packed.getmembers()}
    assert names == {
        "LICENSE": 0o644,
        "inner": 0o755,
        "inner/library.so": 0o644,
        "program": 0o755,
    }


def test_a_part_without_source_is_missing_and_one_with_it_must_be_made(
    artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments, "ROOT", tmp_path)
    monkeypatch.setattr(deployments, "CHART", tmp_path / "chart")
    (tmp_path / "Makefile").write_text("test:\n")
    for make in (deployments.make_install, deployments.make_image, deployments.make_chart):
        with pytest.raises(NotThere):
            make(artifacts)
    (tmp_path / "Makefile").write_text("image:\n\t@echo done\ninstall-yaml:\n\t@true\n")
    with pytest.raises(ReleaseFault, match="leaves no out"):
        deployments.make_image(artifacts)
    with pytest.raises(ReleaseFault, match="leaves none of"):
        deployments.make_install(artifacts)


def test_what_is_installed_first_may_not_evict() -> None:
    role = {"kind": "ClusterRole", "rules": [{"resources": ["pods"], "verbs": ["list"]}]}
    assert deployments.count_objects(yaml.safe_dump_all([role, {"kind": "Namespace"}])) == 2
    acting = {"kind": "Role", "rules": [{"resources": ["pods/eviction"], "verbs": ["create"]}]}
    for objects in ([role, acting], []):
        with pytest.raises(ReleaseFault):
            deployments.count_objects(yaml.safe_dump_all(objects))


def test_the_image_has_the_digest_that_was_the_same_twice(
    artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments, "ROOT", tmp_path)
    digest = write_image(tmp_path / "out/image.tar", {})
    (tmp_path / "Makefile").write_text("image:\n\t@echo sha256:other\n")
    with pytest.raises(ReleaseFault, match="another digest"):
        deployments.make_image(artifacts)
    (tmp_path / "Makefile").write_text(f"image:\n\t@echo {digest}\n")
    assert deployments.make_image(artifacts) == f"built twice, {digest}"
    assert artifacts.image_digest.read_text() == f"{digest}\n"
    assert artifacts.image.is_file()


def test_the_image_that_was_tested_is_released_as_it_is(
    artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested_image, "kept_archive", lambda: tmp_path / "image-1.tar")
    tested = tmp_path / "tested/image.tar"
    with pytest.raises(ReleaseFault, match="no image of this tree was tested"):
        tested_image.copy_tested_image(tested)
    digest = write_image(tmp_path / "image-1.tar", {"file": "its content"})
    assert tested_image.copy_tested_image(tested) == digest
    monkeypatch.setattr(deployments, "ROOT", tmp_path / "nowhere")
    assert deployments.make_image(artifacts, tested) == f"the tested one, {digest}"
    assert artifacts.image.read_bytes() == tested.read_bytes()
    assert artifacts.image_digest.read_text() == f"{digest}\n"


def test_the_dry_run_takes_the_tested_image_and_lists_what_it_has(
    artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "Environment", lambda *_, **__: None)
    monkeypatch.setattr(dry_run, "make_plugin", lambda *_: "")
    monkeypatch.setattr(dry_run, "make_image", lambda _, tested: f"image of {tested}")
    monkeypatch.setattr(dry_run, "make_image_materials", lambda *_: "its bill")
    made = dry_run.parts(artifacts, tmp_path, datetime.now(UTC), Path("tested.tar"))
    said = [part.make() for part in made if part.name in {"plugin", "image"}]
    assert said == ["", "image of tested.tar; its bill"]


def test_an_image_whose_content_is_not_of_its_digest_is_refused(tmp_path: Path) -> None:
    digest = write_image(tmp_path / "image.tar", {})
    content = (tmp_path / "image.tar").read_bytes()
    assert content.count(b'{"config": {}}') == 1
    (tmp_path / "image.tar").write_bytes(content.replace(b'{"config": {}}', b'{"config": []}'))
    with pytest.raises(ReleaseFault, match="not what its digests say"):
        tested_image.checked_digest(tmp_path / "image.tar")
    (tmp_path / "image.tar").write_bytes(content.replace(digest.encode(), b"sha256:" + b"0" * 64))
    with pytest.raises(ReleaseFault, match="is no image"):
        tested_image.checked_digest(tmp_path / "image.tar")


def test_a_release_says_what_is_missing_and_fails_where_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lack() -> str:
        raise NotThere("there is no chart")

    def fail() -> str:
        raise ReleaseFault("it is broken")

    made = [dry_run.Part("one", lambda: "made"), dry_run.Part("chart", lack)]
    monkeypatch.setattr(dry_run, "parts", lambda *_: made)
    assert dry_run.make_release(tmp_path / "dist", ["one"]) == 0
    said = capsys.readouterr().out
    assert "left out" in said
    assert "MISSING: there is no chart" in said
    assert said.splitlines()[-1] == "Not in it: one, chart."
    made.append(dry_run.Part("broken", fail))
    assert dry_run.make_release(tmp_path / "dist", []) == 1
    assert "FAILED: it is broken" in capsys.readouterr().out


DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("digest", "part"), [("", f":{__version__}"), (f"{DIGEST}\n", f"@{DIGEST}")]
)
def test_what_is_installed_names_the_image_that_is_pushed(
    digest: str, part: str, artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released_image, "REPOSITORY", "owner/program")
    if digest:
        artifacts.image_digest.write_text(digest)
    monkeypatch.setattr(deployments, "ROOT", tmp_path)
    (tmp_path / "Makefile").write_text("install-yaml:\n\t@true\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/install.yaml").write_text(install_text())
    assert f"objects of ghcr.io/owner/program{part}" in deployments.make_install(artifacts)
    assert f"image: ghcr.io/owner/program{part}\n" in artifacts.install.read_text()
    chart = Path(shutil.copytree(ROOT / "deploy/helm/rescheduler", tmp_path / "chart"))
    assert "image.registry=REGISTRY" in (chart / "README.md").read_text()
    released_image.released_image(artifacts).write_chart(chart)
    values = yaml.safe_load((chart / "values.yaml").read_text())
    assert values["image"] == {
        "registry": "ghcr.io/owner",
        "repository": "program",
        "tag": __version__,
        "digest": digest.strip(),
        "pullPolicy": "",
        "pullSecrets": [],
    }
    original = yaml.safe_load((ROOT / "deploy/helm/rescheduler/values.yaml").read_text())
    assert {**values, "image": ""} == {**original, "image": ""}
    assert "image.registry=REGISTRY" not in (chart / "README.md").read_text()


def test_the_workflow_pushes_the_image_that_is_named_before_what_names_it() -> None:
    image = released_image.released_image(Artifacts(Path("none")))
    with pytest.raises(ReleaseFault, match=r"names \['rescheduler:0'\], not ghcr\.io/"):
        image.check("image: rescheduler:0")
    with pytest.raises(ReleaseFault, match=r"no image\.registry"):
        image.values_text("image: {}\n")
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]
    pushed = f"{released_image.REGISTRY}/${{{{ github.repository }}}}"
    assert jobs["image"]["env"]["NAME"] == pushed
    assert all("image" in jobs[name]["needs"] for name in ("files", "chart"))
    names = [part.name for part in dry_run.parts(Artifacts(Path()), Path(), datetime.now(UTC))]
    assert names.index("image") < min(names.index("install.yaml"), names.index("chart"))


def test_manifests_name_the_image_of_this_version() -> None:
    texts = [path.read_text() for path in (ROOT / "deploy").rglob("*.yaml")]
    tags = {tag for text in texts for tag in re.findall(r"image: rescheduler:(\S+)", text)}
    assert tags == {__version__}


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("permissions: {}\n\nconc", "permissions:\n  contents: write\n\nconc", "share"),
        ("checkout@v4.2.2", "checkout@v4", "exact version"),
        ("    permissions:\n      contents: read\n    steps", "    steps", "what they may do"),
    ],
)
def test_the_workflow_has_no_more_rights_than_it_names(was: str, becomes: str, said: str) -> None:
    text = (ROOT / ".github/workflows/release.yaml").read_text()
    assert check_form(text)
    assert was in text
    with pytest.raises(ReleaseFault, match=said):
        check_form(text.replace(was, becomes, 1))


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("      - run: .ci/run\n", "      - run: make test\n", "job test does not test"),
        (
            "dry-run IMAGE=out/tested/image.tar\n",
            "dry-run\n",
            "job build does not release it",
        ),
        ("          path: out/tested\n          if-no", "          if-no", "hand it on"),
        (
            "TESTED: ${{ needs.test.outputs.image }}",
            "TESTED: ${{ github.sha }}",
            "compare its digest",
        ),
        ("image: ${{ steps.image.outputs.digest }}", "image: none", "is not told"),
        ("-linux-amd64.cdx.json", ".cdx.json", "job image does not list what the image has"),
    ],
)
def test_the_workflow_publishes_the_image_that_it_tested(was: str, becomes: str, said: str) -> None:
    text = (ROOT / ".github/workflows/release.yaml").read_text()
    check_image(text)
    assert was in text
    with pytest.raises(ReleaseFault, match=said):
        check_image(text.replace(was, becomes, 1))


def test_a_program_that_hangs_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "_SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(ReleaseFault, match="timed out"):
        commands.run_command("sh", "-c", "sleep 20 & sleep 20")
    assert time.monotonic() - began < 10

"""What others make for a cluster: install.yaml, the chart and the image, where the tree has them.

A part that the tree does not have yet is said and is no fault; one that it has must be made.
"""

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.e2e.controlplane import versions
from tests.e2e.controlplane.build import binaries
from tests.release.artifacts import ROOT, Artifacts, ReleaseFault
from tests.release.commands import run_command
from tests.release.notes import section_of, typed_changes
from tests.release.released_image import released_image
from tests.release.tested_image import checked_digest

CHART = ROOT / "deploy/helm/rescheduler"
_INSTALL_PLACES = ("dist/install.yaml", "out/install.yaml")
_IMAGE_PLACE = "out/image.tar"


class NotThere(Exception):
    """The tree does not have what the part would be made of."""


def make_install(artifacts: Artifacts) -> str:
    """One file with all objects; in Audit, so that it evicts nothing."""
    _need_target("install-yaml")
    run_command("make", "install-yaml", folder=ROOT)
    made = next((ROOT / place for place in _INSTALL_PLACES if (ROOT / place).is_file()), None)
    if made is None:
        raise ReleaseFault(f"`make install-yaml` leaves none of {', '.join(_INSTALL_PLACES)}")
    image = released_image(artifacts)
    text = image.objects_text(made.read_text(encoding="utf-8"))
    image.check(text)
    artifacts.install.write_text(text, encoding="utf-8")
    return f"{count_objects(text)} objects of {image.address}, none of which lets anybody evict"


def make_chart(artifacts: Artifacts) -> str:
    """The chart as an archive, which is linted and rendered from there."""
    if not (CHART / "Chart.yaml").is_file():
        raise NotThere("there is no deploy/helm/rescheduler")
    said = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    if str(said.get("appVersion")) != artifacts.version:
        raise ReleaseFault(f"the chart is about {said.get('appVersion')}, not {artifacts.version}")
    helm, image = _helm(), released_image(artifacts)
    versioned = ("--version", artifacts.version, "--app-version", artifacts.version)
    with TemporaryDirectory() as folder:
        chart = _with_changes(artifacts, Path(folder))
        image.write_chart(chart)
        run_command(helm, "package", chart, *versioned, "--destination", artifacts.folder)
    run_command(helm, "lint", "--strict", artifacts.chart)
    template = (helm, "template", "rescheduler", "--namespace", "rescheduler")
    text = run_command(*template, artifacts.chart)
    image.check(text)
    objects = f"{count_objects(text)} objects of {image.address}"
    return f"linted; without values {objects}, none of which lets anybody evict"


def count_objects(text: str) -> int:
    """How many objects these documents are.

    Raises:
        ReleaseFault: there is none, or one gives the right to evict: a first installation is Audit.
    """
    objects = [document for document in yaml.safe_load_all(text) if document]
    rules = [rule for document in objects for rule in document.get("rules") or ()]
    resources = {resource for rule in rules for resource in rule.get("resources") or ()}
    if not objects or "pods/eviction" in resources:
        raise ReleaseFault("what is installed first has no object, or the right to evict")
    return len(objects)


def make_image(artifacts: Artifacts, tested: Path | None = None) -> str:
    """The image as an archive: the tested one where there is one; else it is built."""
    archive = _build_image() if tested is None else tested
    digest = checked_digest(archive)
    shutil.copy(archive, artifacts.image)
    artifacts.image_digest.write_text(f"{digest}\n", encoding="utf-8")
    return f"{'built twice' if tested is None else 'the tested one'}, {digest}"


def _build_image() -> Path:
    """Its target builds it twice, and says the digest that both have."""
    _need_target("image")
    said = run_command("make", "image", folder=ROOT)
    archive = ROOT / _IMAGE_PLACE
    if not archive.is_file():
        raise ReleaseFault(f"`make image` leaves no {_IMAGE_PLACE}")
    digest = checked_digest(archive)
    if digest not in said:
        raise ReleaseFault(f"`make image` says another digest than {_IMAGE_PLACE} has: {digest}")
    return archive


def make_site() -> str:
    """The documentation site, which is published as pages and is no file of the release."""
    _need_target("site")
    return run_command("make", "site", folder=ROOT).splitlines()[-1]


def _with_changes(artifacts: Artifacts, folder: Path) -> Path:
    """A copy of the chart that says what has changed in this version."""
    chart = Path(shutil.copytree(CHART, folder / "rescheduler"))
    document = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    section = section_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), artifacts.version)
    changes = yaml.safe_dump(typed_changes(section), sort_keys=False, allow_unicode=True)
    document.setdefault("annotations", {})["artifacthub.io/changes"] = changes
    (chart / "Chart.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return chart


def _need_target(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    if not re.search(rf"^{name}:", makefile, re.MULTILINE):
        raise NotThere(f"the Makefile has no target {name}")


def _helm() -> Path:
    program = getattr(versions, "HELM", None)
    if program is None:
        raise ReleaseFault("there is a chart, and no helm among the programs that are built")
    return binaries([program])["helm"]

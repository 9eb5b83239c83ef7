"""The image's bill of materials: what it has of Debian and of Python, as CycloneDX says it.

It is read from the image itself: from the status of dpkg and the metadata of each Python package.
It must be all that is there: each package of Debian leaves a folder with its license, and Python's
packages are those of the lock.
"""

import json
import re
from email.message import Message
from email.parser import HeaderParser
from typing import Any
from urllib.parse import quote

from packaging.utils import canonicalize_name

from tests.e2e.image.archive import ImageArchive
from tests.release.artifacts import ROOT, Artifacts, ReleaseFault
from tests.release.commands import run_command
from tests.release.environments import Environment
from tests.release.materials import OWN, components, locked_packages

Json = dict[str, Any]
_STATUS = "var/lib/dpkg/status"
_RELEASE = "usr/lib/os-release"
_METADATA = r"usr/local/lib/python(3\.\d+)/dist-packages/[^/]+\.dist-info/METADATA"
_LICENSES = r"usr/share/doc/([^/]+)"
_VALIDATION = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
with open(sys.argv[1], encoding="utf-8") as bill:
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.read())
sys.exit(str(fault) if fault else 0)
"""


def make_image_materials(artifacts: Artifacts, tools: Environment) -> str:
    """Write it beside the image, and validate it by CycloneDX's schema."""
    bill = image_bill(ImageArchive(artifacts.image), artifacts.version)
    artifacts.image_materials.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    run_command(tools.program("python"), "-c", _VALIDATION, artifacts.image_materials)
    kinds = [component["purl"][:8] for component in bill["components"] if "purl" in component]
    debian, python = kinds.count("pkg:deb/"), kinds.count("pkg:pypi")
    return f"its bill of materials has {debian} packages of Debian and {python} of Python"


def image_bill(image: ImageArchive, version: str) -> Json:
    """The bill of an image of this version of the program.

    Raises:
        ReleaseFault: it lists less or more than the image has.
    """
    texts = image.texts(f"{_STATUS}|{_RELEASE}|{_METADATA}")
    if not {_STATUS, _RELEASE} <= texts.keys():
        raise ReleaseFault("the image does not say which packages of Debian it has")
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', texts.pop(_RELEASE), re.MULTILINE))
    debian = [
        _debian_package(_headers(stanza), release)
        for stanza in texts.pop(_STATUS).split("\n\n")
        if stanza.strip()
    ]
    python = [_python_package(_headers(text)) for _, text in sorted(texts.items())]
    _check_debian(image, {component["name"] for component in debian})
    _check_python(list(texts), python, version)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _image(image.digest, version)},
        "components": [_debian_itself(release), *debian, *python],
    }


def _headers(text: str) -> Message:
    return HeaderParser().parsestr(text)


def _image(digest: str, version: str) -> Json:
    address = f"pkg:oci/rescheduler@{quote(digest, safe='')}?tag={version}"
    return _component("container", "rescheduler", version, address)


def _debian_itself(release: Json) -> Json:
    """By which scanners choose whose advisories they read."""
    return {"type": "operating-system", "name": release["ID"], "version": release["VERSION_ID"]}


def _debian_package(said: Message, release: Json) -> Json:
    """One package; advisories are about its source, so that it names that, too."""
    name, version = said["Package"], said["Version"]
    source = re.fullmatch(r"(\S+)(?: \((\S+)\))?", said.get("Source", name))
    if source is None:
        raise ReleaseFault(f"the image names no source of {name}: {said['Source']}")
    upstream = quote("@".join(part for part in source.groups() if part), safe="")
    qualifiers = f"arch={said['Architecture']}&distro=debian-{release['VERSION_ID']}"
    package = f"{quote(name, safe='')}@{quote(version, safe='')}"
    address = f"pkg:deb/debian/{package}?{qualifiers}&upstream={upstream}"
    return _component("library", name, version, address)


def _python_package(said: Message) -> Json:
    name, version = canonicalize_name(said["Name"]), said["Version"]
    component = _component("library", name, version, f"pkg:pypi/{name}@{quote(version, safe='')}")
    expression = said.get("License-Expression")
    return {**component, **({"licenses": [{"expression": expression}]} if expression else {})}


def _component(kind: str, name: str, version: str, address: str) -> Json:
    return {"type": kind, "bom-ref": address, "name": name, "version": version, "purl": address}


def _check_debian(image: ImageArchive, listed: set[str]) -> None:
    folders = (re.fullmatch(_LICENSES, path) for path in image.members())
    licensed = {folder[1] for folder in folders if folder}
    if not listed or listed != licensed:
        raise ReleaseFault(f"the image's list of Debian's packages lacks {listed ^ licensed}")


def _check_python(paths: list[str], listed: list[Json], version: str) -> None:
    pythons = {match[1] for path in paths if (match := re.fullmatch(_METADATA, path))}
    if len(pythons) != 1:
        raise ReleaseFault(f"the image has packages of no or of several Pythons: {pythons}")
    own = {component["version"] for component in listed if component["name"] == OWN}
    if own != {version}:
        raise ReleaseFault(f"the image has the program in {own or 'no version'}, not {version}")
    packages = components({"components": listed})
    locked = locked_packages(ROOT / "requirements.lock", pythons.pop())
    if packages != locked:
        raise ReleaseFault(f"the image and requirements.lock differ: {sorted(packages ^ locked)}")

"""The bill of materials of an image lists all that is in it, and nothing else."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rescheduler import __version__
from tests.e2e.image.archive import ImageArchive
from tests.release.artifacts import ROOT, ReleaseFault
from tests.release.image_materials import image_bill
from tests.release.materials import OWN, components, locked_packages
from tests.release.small_image import write_image

PYTHON = "3.13"
PACKAGES = {**dict(locked_packages(ROOT / "requirements.lock", PYTHON)), OWN: __version__}
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.41-12+deb13u5
Description: GNU C Library
 Of several lines.
 .
 And a paragraph.

Package: libexpat1
Architecture: amd64
Source: expat (2.7.1-2)
Version: 2.7.1-2+b1

"""


def files(packages: Mapping[str, str]) -> dict[str, str]:
    """What an image has of Debian and of these packages of Python."""
    metadata = {
        f"./usr/local/lib/python{PYTHON}/dist-packages/{name}-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
            "License-Expression: MIT\n\nVersion: of the text\n"
        )
        for name, version in packages.items()
    }
    return {
        "./usr/lib/os-release": 'PRETTY_NAME="Debian"\nID=debian\nVERSION_ID="13"\n',
        "./var/lib/dpkg/status": STATUS,
        "./usr/share/doc/libc6": "",
        "./usr/share/doc/libexpat1": "",
        "./usr/share/doc/libc6/copyright": "",
        **metadata,
    }


def test_it_lists_the_packages_of_debian_and_of_python(tmp_path: Path) -> None:
    digest = write_image(tmp_path / "image.tar", files(PACKAGES))
    bill = image_bill(ImageArchive(tmp_path / "image.tar"), __version__)
    system, libc, expat, *python = bill["components"]
    assert (system["type"], system["name"], system["version"]) == (
        "operating-system",
        "debian",
        "13",
    )
    form = "pkg:deb/debian/{}?arch=amd64&distro=debian-13&upstream={}"
    assert libc["purl"] == form.format("libc6@2.41-12%2Bdeb13u5", "glibc")
    assert expat["purl"] == form.format("libexpat1@2.7.1-2%2Bb1", "expat%402.7.1-2")
    assert components({"components": python}) == locked_packages(ROOT / "requirements.lock", PYTHON)
    assert {component["licenses"][0]["expression"] for component in python} == {"MIT"}
    assert digest.partition(":")[2] in bill["metadata"]["component"]["purl"]
    assert bill["metadata"]["component"]["version"] == __version__


def test_it_is_refused_where_it_lacks_something_that_the_image_has(tmp_path: Path) -> None:
    numpy = PACKAGES["numpy"]
    openssl = {**files(PACKAGES), "./usr/share/doc/libssl3t64": ""}
    silent = files(PACKAGES)
    del silent["./var/lib/dpkg/status"]
    cases = {
        "libssl3t64": openssl,
        "does not say which packages of Debian": silent,
        "differ.*numpy": files({**PACKAGES, "numpy": f"{numpy}.1"}),
        "differ.*pip": files({**PACKAGES, "pip": "25.0"}),
        "the program in no version": files(
            {name: version for name, version in PACKAGES.items() if name != OWN}
        ),
        "of no or of several": files({}),
    }
    for said, content in cases.items():
        write_image(tmp_path / "image.tar", content)
        with pytest.raises(ReleaseFault, match=said):
            image_bill(ImageArchive(tmp_path / "image.tar"), __version__)

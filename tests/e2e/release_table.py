"""`python -m tests.e2e.release_table`: each release of Kubernetes, held against the model.

For every release (or those that are named) it starts control planes of it for the tests of
landings, steering, rights, gangs and devices, and writes the page's table of what they gave.
Ends with 1 where a test failed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import PROGRAMS, RELEASES, kubernetes

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "versions.md"
HERE = "tests/e2e"
HEAD = (
    "| Kubernetes | decisions of its kube-scheduler | where predicted | scores | steering | rights "
    "| gangs | devices |"
)
PARTS: Mapping[str, tuple[str, ...]] = {
    "landings": ("test_landing", "test_profiles"),
    "steering": ("test_steering_policy", "test_steering_webhook", "test_steering_taints"),
    "rights": ("test_rights",),
    "gangs": ("test_gangs",),
    "devices": ("test_devices", "test_claims"),
}
"""What is tried, and the modules whose tests try it."""
PODGROUPS = CONSUMABLE = 36
"""The first minor version whose API has PodGroups, and devices that are consumed in parts."""
UPGRADED = 37
"""The minor version whose API server also stands before the kube-scheduler of the one before."""
_ROW = re.compile(r"^\| 1\.\d+\.\d+ \|.*$", re.MULTILINE)


@dataclass
class Part:
    """What the tests of one part gave. figures: what they recorded, summed."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)

    def cell(self) -> str:
        """As the table shows it."""
        if not (self.passed or self.failed):
            return "not run"
        tests = f"{self.passed} test{'' if self.passed == 1 else 's'}"
        return f"{tests}, {len(self.failed)} failed" if self.failed else tests


def selected(release: str, parts: Sequence[str]) -> list[str]:
    """The tests of these parts that a release can run."""
    minor = int(release.split(".")[1])
    upgraded = (
        [f"{HERE}/test_older_scheduler.py"] if minor == UPGRADED and "landings" in parts else []
    )
    gangs = "test_gangs"
    rows = [f"{HERE}/{module}.py" for part in parts for module in PARTS[part]]
    if minor < CONSUMABLE:
        rows = [row for row in rows if not row.endswith("test_claims.py")]
    if minor < PODGROUPS:
        whole = f"{HERE}/{gangs}.py::test_a_gang_is_moved_as_a_whole_or_not_at_all"
        rows = [whole if row.endswith(f"{gangs}.py") else row for row in rows]
    return [*rows, *upgraded]


def run(release: str, parts: Sequence[str], folder: Path) -> dict[str, Part]:
    """Run the tests of these parts on control planes of this release."""
    report = folder / f"{release}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "e2e", "-p", "no:randomly"]
    command += ["-o", "addopts=--strict-markers --strict-config -ra"]
    command += ["--capture=tee-sys", "-o", "junit_family=xunit1", f"--junitxml={report}"]
    environment = {**os.environ, "RESCHEDULER_E2E_KUBERNETES": release}
    subprocess.run([*command, *selected(release, parts)], check=False, cwd=ROOT, env=environment)
    return read(report)


def read(report: Path) -> dict[str, Part]:
    """What the report of one run says of each part."""
    found = {part: Part() for part in PARTS}
    of = {module: part for part, modules in PARTS.items() for module in modules}
    of["test_older_scheduler"] = "landings"
    for case in ET.parse(report).iter("testcase"):
        part = found[of[case.attrib["classname"].rpartition(".")[2]]]
        if case.find("failure") is None and case.find("error") is None:
            part.passed += 1
        else:
            part.failed.append(case.attrib["name"])
        for element in case.iter("property"):
            name = element.attrib["name"]
            part.figures[name] = part.figures.get(name, 0) + int(element.attrib["value"])
    return found


def row(release: str, found: Mapping[str, Part]) -> str:
    """The release's line of the table."""
    landings = found["landings"].figures
    decisions, right = landings.get("decisions", 0), landings.get("as predicted", 0)
    share = f"{right / decisions:.1%}" if decisions else "not run"
    cells = [release, f"{decisions}", share, f"{landings.get('scores', 0):,}"]
    cells += [found[part].cell() for part in ("steering", "rights", "gangs")]
    devices = found["devices"]
    cells.append(f"{devices.figures.get('device decisions', 0)} decisions, {devices.cell()}")
    return f"| {' | '.join(cells)} |"


def written(text: str, rows: Mapping[str, str]) -> str:
    """The page with these lines, by release, in its table; the others stay."""
    before, _, after = text.partition(HEAD)
    kept = {line.split(" ")[1]: line for line in _ROW.findall(after)}
    lines = [line for _, line in sorted({**kept, **rows}.items())]
    rest = _ROW.sub("\0", after).replace("\0\n", "")
    rule = "|".join("-" * 3 for _ in range(HEAD.count("|") - 1))
    rest = rest.removeprefix(f"\n|{rule}|\n")
    return f"{before}{HEAD}\n|{rule}|\n" + "".join(f"{line}\n" for line in lines) + rest


def main() -> int:
    """Build, run, print, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.release_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("releases", nargs="*", help=f"of {', '.join(RELEASES)}; all of them")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--keep", action="store_true", help="leave the page as it is")
    options = parser.parse_args()
    rows: dict[str, str] = {}
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rescheduler-releases-") as folder:
        for release in options.releases or RELEASES:
            binaries([kubernetes(release), *PROGRAMS[1:]])
            found = run(release, options.parts, Path(folder))
            rows[release] = row(release, found)
            if not options.keep:  # of each at once: a run takes hours, and may be cut off
                text = PAGE.read_text(encoding="utf-8")
                PAGE.write_text(written(text, rows), encoding="utf-8")
            failed += [f"{release} {name}" for part in found.values() for name in part.failed]
    sys.stdout.write(
        "\n".join([HEAD, *rows.values(), *(f"FAILED {failure}" for failure in failed)])
    )
    sys.stdout.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

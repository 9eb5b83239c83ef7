"""Every release reads what earlier ones have left; `docs/releases.md` has the table."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from rescheduler.actions.ledger_format import decode_state
from rescheduler.reporting.formats.plan_json import from_json
from rescheduler.reporting.integrity import CHECKSUMS, checksums
from tests.compatibility.readers import FORMATS, READERS, loaded

HERE = Path(__file__).parent
RELEASES = sorted(path.stem for path in HERE.glob("*.zip"))

FACTS: dict[str, dict[str, object]] = {
    "0.1.0": {
        "state": {
            "moves": ["u1 evicted", "u2 ready", "u3 refused"],
            "sequence": [42, 42],
            "remembered": [1, 1, 1],
            "selections": ["zones"],
            "slow": ["batch"],
        },
        "finding-history": 2,
        "last-report": {"cycles": 1, "report": "Outcome"},
        "steering-table": {"to": [("n2", "n3")], "broken": {}},
        "plan": 2,
        "outcome": 2,
        "cluster": {"nodes": 100, "pods": 222},
        "trail": {"cycles": 10, "moves": 12, "broken": 0},
        "policies": "14 valid",
    }
}
"""What is in the artifacts of each release, whoever reads them."""


def extracted(file: str, folder: Path, release: str = RELEASES[-1]) -> Path:
    """One artifact of a release, as it was left."""
    with ZipFile(HERE / f"{release}.zip") as packed:
        return Path(packed.extract(file, folder))


@pytest.mark.parametrize("artifact", READERS)
@pytest.mark.parametrize("release", RELEASES)
def test_what_an_earlier_release_has_left_is_read(
    release: str, artifact: str, tmp_path: Path
) -> None:
    file, reader = READERS[artifact]
    assert reader(extracted(file, tmp_path, release)) == FACTS[release][artifact]


def test_the_table_of_the_documentation_has_the_formats() -> None:
    text = (HERE.parents[1] / "docs/releases.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*?<!-- (\S+) --> \| ([^|]*) \|", text, re.MULTILINE)
    assert {name: shown.strip().strip("`") for name, shown in rows} == FORMATS


def test_every_release_of_the_changelog_has_left_its_artifacts() -> None:
    text = (HERE.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (\d+\.\d+\.\d+)", text, re.MULTILINE)) == set(RELEASES)


def test_a_state_with_fields_of_a_later_release_is_read(tmp_path: Path) -> None:
    written = loaded(extracted("state.json", tmp_path))["configMap"]
    plain = json.loads(gzip.decompress(base64.b64decode(written["binaryData"]["state"])))
    plain["history"]["later"] = plain["history"]["moves"][0]["later"] = {"of": "another release"}
    packed = gzip.compress(json.dumps(plain).encode())
    later = {
        "data": {"checksum": hashlib.sha256(packed).hexdigest()},
        "binaryData": {"state": base64.b64encode(packed).decode()},
    }
    before, after = decode_state(written, "w"), decode_state(later, "w")
    assert before is not None
    assert after is not None
    assert before.history == after.history


def test_a_plan_with_fields_of_a_later_release_is_read(tmp_path: Path) -> None:
    document: dict[str, Any] = loaded(extracted("plan.json", tmp_path))
    before = from_json(json.dumps(document).encode())
    document["later"] = document["moves"][0]["later"] = 1
    document[CHECKSUMS] = checksums(document)
    assert from_json(json.dumps(document).encode()) == before

"""How often each e2e test failed beside others and had to be run again alone, over the last runs.

`python -m tests.retries REPORT` adds a run by the report of its first pass, and prints the counts.
The runs are kept beside the programs that the e2e suite builds: `retries.tsv`, one line each.
"""

import re
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from tests.e2e.controlplane.build import cache_folder

RUNS = 100
"""So many are kept."""

_FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)


def add_run(runs: Path, report: str, ended: datetime) -> None:
    """Write which tests of a run failed at first; a line is its end and these tests."""
    lines = runs.read_text(encoding="utf-8").splitlines() if runs.exists() else []
    tests = sorted(set(_FAILED.findall(report)))
    lines.append("\t".join([f"{ended:%Y-%m-%dT%H:%M:%SZ}", *tests]))
    runs.parent.mkdir(parents=True, exist_ok=True)
    runs.write_text("".join(f"{line}\n" for line in lines[-RUNS:]), encoding="utf-8")


def summary(runs: Path) -> str:
    """Each test that was run again, the most frequent first, and over which runs this counts."""
    rows = [line.split("\t") for line in runs.read_text(encoding="utf-8").splitlines()]
    counts = Counter(test for _, *tests in rows for test in tests)
    head = f"e2e tests that had to be run again, of {len(rows)} runs since {rows[0][0]}:\n"
    if not counts:
        return head + "  none\n"
    return head + "".join(f"  {count:3} {test}\n" for test, count in counts.most_common())


def main() -> int:
    runs = cache_folder() / "retries.tsv"
    add_run(runs, Path(sys.argv[1]).read_text(encoding="utf-8"), datetime.now(UTC))
    sys.stdout.write(summary(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())

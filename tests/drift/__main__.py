"""`python -m tests.drift v1.38.0`: which imitated functions this release has changed.

Each is held against the newest recorded release before it. A change that was not looked at ends
with 1: read the difference, mend what imitates the function or say in imitated.yaml why nothing has
to be, and record the release with `--accept`.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator, Mapping

from tests.drift.modules import DriftError, texts
from tests.drift.table import Row, digest, digests, order, record, releases, table

Texts = Mapping[str, Mapping[str, str]]


def main() -> int:
    """Read, print, and say whether every change is known."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.drift",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("release", nargs="+", help="as v1.38.0-beta.0; several with --accept")
    parser.add_argument("--accept", action="store_true", help="record the release as looked at")
    parser.add_argument("--diff", action="store_true", help="print what has changed, too")
    options = parser.parse_args()
    rows = table()
    try:
        for release in options.release:
            read = texts(release, rows)
            if options.accept:
                record(release, read)
            if not reported(release, read, rows, differences=options.diff):
                return 1
    except DriftError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def reported(release: str, read: Texts, rows: list[Row], *, differences: bool) -> bool:
    """Print the functions that the release has changed; whether each was looked at."""
    known = digests()
    before = [
        older_release for older_release in releases(known) if order(older_release) < order(release)
    ]
    if not before:
        sys.stdout.write(f"{release}: nothing older is recorded\n")
        return True
    old = texts(before[-1], rows)
    unread = release not in releases(known)
    changed = unknown = 0
    for row, name, how in changes(old, read, rows):
        changed += 1
        text = read[row.package].get(name)
        recorded = known.get(row.package, {}).get(name, {}).get(release)
        new = unread or recorded != (None if text is None else digest(text))
        unknown += new
        mark = "NOT LOOKED AT " if new else ""
        sys.stdout.write(f"{mark}{row.package} {name}: {how}; imitated in {row.where}\n")
        if differences:
            sys.stdout.writelines(difference(old[row.package].get(name, ""), text or ""))
    total = sum(len(row.names) for row in rows)
    sys.stdout.write(
        f"{release}: {changed} of {total} imitated functions are not as in {before[-1]}; "
        f"{unknown} of these were not looked at\n"
    )
    return not unknown


def changes(old: Texts, new: Texts, rows: list[Row]) -> Iterator[tuple[Row, str, str]]:
    """The row, the name and the change of every function that is not the same in both."""
    for row in rows:
        for name in row.names:
            before, after = old[row.package].get(name), new[row.package].get(name)
            if before != after:
                how = "gone" if after is None else "new" if before is None else "changed"
                yield row, name, how


def difference(old: str, new: str) -> Iterator[str]:
    """The lines that differ, indented."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    for line in list(lines)[2:]:
        yield f"    {line}\n"


if __name__ == "__main__":
    sys.exit(main())

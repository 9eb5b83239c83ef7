"""Print the counts beside their maxima: `make language`.

`--show NAME` prints where each case stands; `--lower` makes the counts that have fallen the maxima.
"""

import argparse
import sys

from tests.language.counts import CASES, sizes
from tests.language.maxima import read_maxima, write_maxima


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", choices=CASES, help="print where each case of a count stands")
    parser.add_argument("--lower", action="store_true", help="write the lower counts as maxima")
    arguments = parser.parse_args()
    if arguments.show:
        sys.stdout.writelines(f"{case}\n" for case in CASES[arguments.show]())
        return 0
    counts = {name: len(cases()) for name, cases in CASES.items()}
    maxima = read_maxima()
    if arguments.lower:
        maxima = {name: min(count, maxima.get(name, count)) for name, count in counts.items()}
        write_maxima(maxima)
    for name, count in counts.items():
        sys.stdout.write(f"{name.replace('_', ' '):34}{count:8,}   at most {maxima[name]:,}\n")
    for name, count in sizes().items():
        sys.stdout.write(f"{name:34}{count:8,}\n")
    return int(any(count > maxima[name] for name, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())

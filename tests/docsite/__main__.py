"""`python -m tests.docsite`: builds the site, and fails where it would load what is elsewhere."""

import os
import subprocess
import sys

from tests.docsite.built_site import faults_of
from tests.docsite.paths import ROOT, SITE


def main() -> int:
    """Build it, look at what was built, and say how many pages it has."""
    command = [sys.executable, "-m", "mkdocs", "build", "--clean"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, check=False)
    if built.returncode:
        return built.returncode
    faults = faults_of(SITE)
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    pages = len(list(SITE.rglob("*.html")))
    sys.stdout.write(f"{pages} pages in {SITE.relative_to(ROOT)}\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.docsite.screenshot`: the picture of the demo's page that the README shows.

Chromium draws the page of the recorded cluster, light, so that the picture can be made again.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docsite.paths import DOCS, ROOT

PICTURE = DOCS / "images" / "plan.png"
RECORDED = ROOT / "tests" / "recordings"
SIZE = "1280,960"
MOST_BYTES = 200_000


def main() -> int:
    """Make the report, draw it, and refuse a picture that is too large."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("Chromium is not installed. Maybe: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "report.html", Path(folder) / "plan.png"
        plan: list[str | Path] = [
            "plan",
            "--policies",
            RECORDED / "policies",
            "-o",
            "html",
            "--out",
            page,
        ]
        snapshot: list[str | Path] = ["--snapshot", RECORDED / "gpu-cluster.snapshot"]
        subprocess.run([sys.executable, "-m", "rescheduler", *plan, *snapshot], check=True)
        draw = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--blink-settings=preferredColorScheme=1",
        ]
        out = [f"--screenshot={picture}", f"--window-size={SIZE}", page.as_uri()]
        subprocess.run([program, *draw, *out], check=True, capture_output=True, timeout=120)
        size = picture.stat().st_size
        if size > MOST_BYTES:
            raise SystemExit(f"the picture has {size} bytes, more than {MOST_BYTES}")
        PICTURE.parent.mkdir(exist_ok=True)
        shutil.copyfile(picture, PICTURE)
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

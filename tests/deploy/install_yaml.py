"""`python -m tests.deploy.install_yaml FILE`: writes a first installation as one file.

It is the overlay that reports only, as a Deployment: kustomize has nothing to patch there.
"""

import sys
from pathlib import Path

from tests.deploy.chart_files import source_texts
from tests.deploy.manifests import KUSTOMIZE

OVERLAY = "audit-deployment"
_HEAD = """\
# The rescheduler in Audit: it reports, and may evict nothing. Made from deploy/kustomize.
#   kubectl apply --server-side -f install.yaml
#   kubectl -n rescheduler logs deployment/rescheduler
"""


def install_text() -> str:
    """The objects of the overlay with their comments, the namespace first."""
    return _HEAD + "---\n".join(source_texts(KUSTOMIZE / "overlays" / OVERLAY))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(install_text(), encoding="utf-8")

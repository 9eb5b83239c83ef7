"""`python -m tests.deploy.policies_configmap`: writes policies into the ConfigMap of deploy/.

kustomize may not read files outside its own folder, so the ConfigMap holds a copy, and a test
keeps the copy in step. It holds the policies that come with the program.
"""

from pathlib import Path

from rescheduler.sources.policy_files import SHIPPED

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "kustomize" / "base" / "policies.yaml"

_HEAD = """\
# Copies from policies/, made by `python -m tests.deploy.policies_configmap`: edit those.
apiVersion: v1
kind: ConfigMap
metadata:
  name: rescheduler-policies
  namespace: rescheduler
  labels:
    app.kubernetes.io/name: rescheduler
data:
"""


def rendered() -> str:
    """The manifest as it ought to be."""
    text = _HEAD
    for file in (ROOT / "policies" / name for name in SHIPPED):
        lines = file.read_text(encoding="utf-8").splitlines()
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        text += f"  {file.name}: |\n{body}"
    return text


if __name__ == "__main__":
    FILE.write_text(rendered(), encoding="utf-8")

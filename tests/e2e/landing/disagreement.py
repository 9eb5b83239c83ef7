"""Keeps all that explains a decision which the model predicted otherwise.

A folder for each, below `out/disagreements`: `decision.json` (what happened, and the scores that
were predicted), `before.snapshot` (what it was predicted on), `after.snapshot` (the cluster right
afterwards: what else had changed by then) and `kube-scheduler.log` (what it wrote of that pod).
"""

import json
import shutil
from pathlib import Path

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.recording import save
from tests.e2e.controlplane.versions import KUBERNETES
from tests.e2e.landing.decision import Decision
from tests.e2e.landing.forecast import Forecast

FOLDER = Path(__file__).parents[3] / "out" / "disagreements"


def keep(decision: Decision, forecast: Forecast, after: Snapshot, log: bytes) -> Path:
    """Write the folder of this decision, which an earlier run of the same may have written."""
    name = f"{KUBERNETES.version}-{decision.pod.replace('/', '-')}-{decision.seed}-{decision.step}"
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = [name for name in decision.scored if name in forecast.feasible()]
    record = {
        **decision.line(),
        "feasibleNodes": sorted(forecast.feasible()),
        "predictedPoints": forecast.points(names),
        "movedBefore": forecast.moved,
    }
    (folder / "decision.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "kube-scheduler.log").write_bytes(log)
    save(forecast.snapshot, folder / "before.snapshot")
    save(after, folder / "after.snapshot")
    return folder

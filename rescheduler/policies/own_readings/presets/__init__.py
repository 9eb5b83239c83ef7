"""Ready definitions for exporters, by the name under which a document includes them.

Each module has one preset, and says which exporter and which version its series are of.
"""

from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.own_readings.presets.amd import AMD
from rescheduler.policies.own_readings.presets.dcgm import DCGM
from rescheduler.policies.own_readings.presets.gke_managed import GKE_MANAGED
from rescheduler.policies.own_readings.presets.intel import INTEL
from rescheduler.policies.own_readings.presets.node_exporter import NODE_EXPORTER

PRESETS: dict[str, dict[str, OwnReading]] = {
    "dcgm": DCGM,
    "amd": AMD,
    "intel": INTEL,
    "node-exporter": NODE_EXPORTER,
    "gke-managed": GKE_MANAGED,
}

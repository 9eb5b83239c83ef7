"""Whether two snapshots are the same."""

from dataclasses import fields

import numpy as np

from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot


def same_reading(left: Reading, right: Reading) -> bool:
    arrays = ("values", "ages", "expected", "capacity", "range_samples")
    for field in fields(left):
        one, two = getattr(left, field.name), getattr(right, field.name)
        if field.name in arrays and one is not None:
            if not np.array_equal(one, two, equal_nan=field.name != "expected"):
                return False
        elif one != two:
            return False
    return True


def same(left: Snapshot, right: Snapshot) -> bool:
    plain = [field.name for field in fields(left) if field.name != "readings"]
    entries = (left.readings.entries, right.readings.entries)
    return all(getattr(left, name) == getattr(right, name) for name in plain) and all(
        same_reading(one, two) for one, two in zip(*entries, strict=True)
    )

"""What a finding says of the pods of a node or device that is too full."""

from rescheduler.policies.shared.loads.relief import too_many
from tests.cases import every


@every(
    [
        (2.0, 8.0, 8, ": about 2 of its 8 pods should leave"),
        (2.1, 8.0, 8, ": about 3 of its 8 pods should leave"),
        (0.01, 8.0, 8, ": about 1 of its 8 pods should leave"),
        (9.0, 8.0, 8, ": about 8 of its 8 pods should leave"),
        (1.0, 8.0, 1, ": its only pod should leave"),
        (1.0, 0.0, 0, ""),
        (0.0, 8.0, 8, ""),
        (float("nan"), 8.0, 8, ""),
    ]
)
def test_pods_are_counted_whole(above: float, load: float, pods: int, said: str) -> None:
    assert too_many(above, load, pods, "its") == said


def test_pods_of_a_device_are_those_that_share_it() -> None:
    said = too_many(0.24, 0.94, 2, "the", "that share it")
    assert said == ": about 1 of the 2 pods that share it should leave"

"""A replacement that stays Pending."""

from tests.fakes.stage import Stage
from tests.steering.runs import names


def pending(stage: Stage) -> None:
    stage.world.place = lambda pod: "" if names(pod) else "spare"

"""Who takes what of the nodes."""

from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import node, pod, snapshot


def test_what_no_node_has_takes_no_memory_for_each_node() -> None:
    # A pod may ask for some ten thousand extended resources that it invents.
    odd = pod("odd", "n1", requests={f"tenant.example/{n}": "1" for n in range(5_000)})
    nodes = [
        node("n1", allocatable={"cpu": "8", "pods": "110", "gpu.example/gpu": "2"}),
        node("n2"),
    ]
    state = SchedulerModel(snapshot(nodes, [odd, pod("web", "n1")])).occupancy
    assert state.resources == ["cpu", "memory", "gpu.example/gpu"]
    assert state.requested.shape == (3, 2)


def test_who_asks_for_what_no_node_has_fits_nowhere() -> None:
    odd = pod("odd", "n1", requests={"tenant.example/none": "1"})
    model = SchedulerModel(snapshot([node("n1"), node("n2")], [odd]))
    assert not model.feasible(0).any()

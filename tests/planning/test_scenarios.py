import pytest

from tests.planning.scenarios import coming_back, hot_gpus


@pytest.mark.parametrize("seed", [0, 1])
def test_five_hot_gpu_nodes_are_repaired_with_few_moves(seed: int) -> None:
    world = hot_gpus(seed)
    hot = {name for name, load in world.loads().items() if load > 0.5}
    assert len(hot) == 5
    evictions = 0
    for _ in range(10):
        made = world.plan()
        if not made.moves:
            break
        for move, landed in world.apply(made):
            predicted = {share.node for share in move.landing}
            assert landed in predicted
            assert landed not in hot
            assert move.source in hot
            evictions += 1
    assert not made.moves
    assert max(world.loads().values()) <= 0.5
    assert 20 <= evictions <= 22


def test_pods_that_would_come_back_stay() -> None:
    world = coming_back()
    hot = {name for name, load in world.loads().items() if load > 0.5}

    made = world.plan()

    assert made.moves == []
    assert made.policies[0].cost.after == made.policies[0].cost.before > 0
    refused = {refusal.pod.uid: refusal for refusal in made.refused}
    sitting = {p.metadata.uid for p in world.snapshot.pods if p.node in hot}
    assert sitting <= refused.keys()
    assert {refused[uid].code for uid in sitting} <= {"FEA002", "FEA003"}
    for uid in sitting:
        assert any(f"{name} (" in refused[uid].message for name in hot)

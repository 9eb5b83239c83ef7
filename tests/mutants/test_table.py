"""Every fault can still be put in place, and the list names the test that kills it."""

from tests.cases import every
from tests.mutants.table import ROOT, Fault, faults, killers, program, sample

EVERY = faults()


@every({fault.id: (fault,) for fault in EVERY})
def test_it_applies_and_leaves_python(fault: Fault) -> None:
    file, text = fault.put(program())
    assert text != (ROOT / file).read_text()
    compile(text, file, "exec")


def test_there_are_enough_and_each_has_one_id() -> None:
    assert len({fault.id for fault in EVERY}) == len(EVERY) >= 100


def test_no_two_of_them_make_the_same_change() -> None:
    changed: dict[tuple[str, str], list[str]] = {}
    for fault in EVERY:
        changed.setdefault(fault.put(program()), []).append(fault.id)
    assert [ids for ids in changed.values() if len(ids) > 1] == []


def test_the_list_names_an_existing_test_for_each_fault_alone() -> None:
    listed = killers()
    assert set(listed) == {fault.id for fault in EVERY}
    for fault, test in listed.items():
        module, _, rest = test.partition("::")
        name = rest.partition("[")[0]
        assert f"def {name}(" in (ROOT / module).read_text(), fault


def test_a_sample_is_spread_over_the_table() -> None:
    chosen = sample(EVERY, 20)
    assert len(set(chosen)) == 20
    assert chosen == sample(EVERY, 20, start=0) == sample(EVERY, 20, start=len(EVERY))
    assert len({fault.id.partition("-")[0] for fault in chosen}) >= 8


def test_another_sample_has_other_faults_and_each_has_its_turn() -> None:
    assert not set(sample(EVERY, 20)) & set(sample(EVERY, 20, start=1))
    most = -(-len(EVERY) // 20)
    every = [fault for start in range(most) for fault in sample(EVERY, 20, start)]
    assert set(every) == set(EVERY)
    assert sample(EVERY, 0, start=7) == sample(EVERY, len(EVERY), start=7) == EVERY

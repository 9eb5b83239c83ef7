"""What a snapshot says of a reading that it has not."""

from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings

GPU = ReadingRequest("node.gpu", window=10, max_age=15)


def recorded(*requests: ReadingRequest) -> Readings:
    one = np.ones(1)
    return Readings(tuple(Reading(request, "ratio", one, one, one > 0) for request in requests))


def test_a_reading_is_found_as_it_was_asked_for() -> None:
    found = recorded(GPU).find(GPU)
    assert found is not None
    assert found.request is GPU
    assert recorded(GPU).find(replace(GPU, window=600)) is None


def test_what_is_missing_is_reported_beside_what_is_there() -> None:
    longer = replace(GPU, window=600, max_age=180)
    assert (
        recorded().missing_problem(longer).message == "node.gpu over 600 s is not in the snapshot"
    )
    problem = recorded(GPU, ReadingRequest("node.cpu")).missing_problem(longer)
    assert problem.code == "RDG007"
    assert problem.message == (
        "node.gpu over 600 s, at most 180 s old, is not in the snapshot; there it is over 10 s, "
        "at most 15 s old"
    )

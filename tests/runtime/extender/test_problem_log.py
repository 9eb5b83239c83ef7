"""What is wrong with the table that the extender follows is said once."""

import pytest
from structlog.testing import capture_logs

from rescheduler.runtime.extender.problem_log import ProblemLog


@pytest.mark.parametrize(
    ("problems", "said"),
    [
        (["not yet", "not yet"], []),
        (["not yet", "", ""], [("info", "")]),
        (["not yet", "403", "403"], [("error", "403")]),
        (["", "403", "timeout", ""], [("error", "403"), ("error", "timeout"), ("info", "")]),
    ],
)
def test_a_problem_is_said_when_it_changes(
    problems: list[str], said: list[tuple[str, str]]
) -> None:
    course = iter(problems)
    with capture_logs() as lines:
        log = ProblemLog("the table", lambda: next(course))
        for _ in problems[1:]:
            log.look()
    assert [(line["log_level"], line.get("error", "")) for line in lines] == said
    assert all(line["event"].startswith("the table is ") for line in lines)

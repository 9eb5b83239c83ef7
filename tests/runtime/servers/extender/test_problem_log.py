"""What is wrong with the table that the extender follows is said once."""

import pytest
from structlog.testing import CapturingLogger

from rescheduler.runtime.servers.extender import problem_log
from rescheduler.runtime.servers.extender.problem_log import ProblemLog


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
    problems: list[str], said: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    course, lines = iter(problems), CapturingLogger()
    monkeypatch.setattr(problem_log, "logger", lambda: lines)
    log = ProblemLog("the table", lambda: next(course))
    for _ in problems[1:]:
        log.look()
    assert [(call.method_name, call.kwargs.get("error", "")) for call in lines.calls] == said
    assert all(call.args[0].startswith("the table is ") for call in lines.calls)

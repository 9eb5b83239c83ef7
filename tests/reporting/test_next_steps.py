"""What to type next reads from the same places as what was typed before."""

import shlex
from typing import Any

from rescheduler.reporting.next_steps import Invocation, next_steps
from tests.cases import every
from tests.reporting.samples import no_data, outcome, plan

OPTIONS = (("--prometheus-url", "http://p:9090"), ("--prometheus-selector", 'cluster="a"'))
SHOWN = "--prometheus-url http://p:9090 --prometheus-selector 'cluster=\"a\"'"


def commands(*arguments: Any, **more: Any) -> dict[str, str]:
    return {step.label: step.command for step in next_steps(*arguments, **more)}


def test_a_plan_that_was_only_shown_is_saved_first() -> None:
    given = Invocation(policies="my policies", options=OPTIONS)
    assert commands(plan(), given, applicable=True) == {
        "Save": f"rescheduler plan --policies 'my policies' {SHOWN} -o json --out PLAN.json",
        "Review": "rescheduler render PLAN.json -o html --out plan.html",
        "Apply": f"rescheduler apply PLAN.json {SHOWN} --yes",
    }


def test_a_plan_without_options_needs_none() -> None:
    said = commands(plan(), Invocation(policies="p", options=()), applicable=True)
    assert said["Apply"] == "rescheduler apply PLAN.json --yes"


def test_a_saved_plan_is_named_and_what_is_not_known_is_left_to_fill_in() -> None:
    made = plan()
    approved = f"--digest {made.id}"
    assert commands(made, Invocation(file="p 1.json"), applicable=True) == {
        "Review": "rescheduler render 'p 1.json' -o html --out plan.html",
        "Apply": f"rescheduler apply 'p 1.json' {approved} --prometheus-url URL --yes",
    }
    silent = plan(readings=[])
    bare = commands(silent, Invocation(file="p.json"), applicable=True)
    assert bare["Apply"] == f"rescheduler apply p.json --digest {silent.id} --yes"


def test_a_recording_is_followed_by_a_look_at_the_cluster() -> None:
    said = commands(no_data(), Invocation(policies="p", options=()), applicable=False)
    again = "rescheduler plan --policies p --prometheus-url URL -o json --out PLAN.json"
    assert said["Plan live"] == again
    assert list(said) == ["Plan live", "Review"], "there is no file yet to review"


@every([20, 60, 80, 200])
def test_a_command_over_several_lines_is_the_same_command(width: int) -> None:
    given = Invocation(policies="my policies", options=OPTIONS)
    for step in next_steps(plan(), given, applicable=True):
        lines = step.lines(width)
        typed = "\n".join(lines).replace("\\\n", "")  # as a shell joins them
        assert shlex.split(typed) == shlex.split(step.command)
        assert len(lines) == 1 or all(line.endswith(" \\") for line in lines[:-1])
        assert width < 60 or max(map(len, lines)) <= width


def test_an_outcome_is_shared() -> None:
    assert commands(outcome(), Invocation(options=OPTIONS), applicable=False) == {
        "Share": "rescheduler render OUTCOME.json -o html --out outcome.html",
        "Plan again": f"rescheduler plan --policies PATH {SHOWN}",
    }

"""Markdown is short enough to paste, says what it leaves out, and formats nothing by accident."""

from msgspec import structs

from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.plan import FindingView
from rescheduler.reporting.formats.markdown import code, inert, render_markdown
from tests.cases import every
from tests.reporting.samples import plan

GITHUB = 65_536
"""Characters of the longest comment that GitHub takes."""


def test_a_long_plan_is_cut_and_says_so() -> None:
    made = plan()
    move = made.moves[0]
    moves = [
        structs.replace(move, pod=structs.replace(move.pod, name=f"{'p' * 200}-{n}", uid=f"u{n}"))
        for n in range(400)
    ]
    finding = FindingView(code="UTL001", subject="node x", cost=1.0, message="GPU load 95 %")
    idle = IdleHolder(namespace="lab", owner="Pod x", pods=1, gpus=1, use=0.0, hours=30.0)
    policy = structs.replace(made.policies[0], findings=[finding] * 400, idle=[idle] * 12)
    page = render_markdown(structs.replace(made, moves=moves, policies=[policy]))
    assert len(page) < GITHUB
    assert "### Moves (400)" in page
    assert "... and 350 more, in the JSON and on the page." in page
    assert "`gpu-utilization`: 400 findings" in page
    assert "- and 395 more" in page
    assert "### Idle GPUs: 360 GPU-hours of 12 owners, 288 a day" in page
    assert "... and 2 more, in the JSON and on the page." in page


@every(
    [
        ("GPU load 95 %, target 50 % (maxAge 15 s)", "GPU load 95 %, target 50 % (maxAge 15 s)"),
        ("raise `maxHotShare`.", "raise `maxHotShare`."),
        ("an odd ` tick", "an odd ' tick"),
        ("series node_cpu_seconds (a_b), x", "series `node_cpu_seconds` (`a_b`), x"),
        ("ask @team.", "ask `@team`."),
        ("from 14:02:07 on", "from 14:02:07 on"),
        ("see https://x.example/y.", "see `https://x.example/y`."),
    ]
)
def test_words_that_would_be_formatted_are_code(text: str, shown: str) -> None:
    assert inert(text) == shown


def test_a_name_is_always_code() -> None:
    assert code("a`b") == "`a'b`"
    assert code(" ") == "-"


def test_a_word_of_any_length_is_looked_at_once() -> None:
    # A pattern that goes back for each character took a minute for an annotation of a tenant.
    word = "x" + "." * 250_000 + "x"
    assert inert(f"({word}).") == f"({word})."
    assert inert(f"({word}_).") == f"(`{word}_`)."

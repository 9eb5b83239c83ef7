"""A program that is missing skips a test on a person's machine, and never in CI."""

import pytest

from tests.programs import require_program


@pytest.mark.parametrize(
    ("ci", "raised"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)]
)
def test_a_missing_program_is_no_quiet_skip_in_ci(
    ci: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    require_program("sh")
    with pytest.raises(raised, match="Debian: some-package"):
        require_program("no-such-program", "some-package")

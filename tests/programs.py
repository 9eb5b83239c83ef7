"""Programs that tests ask and that not every machine has."""

import os
import shutil

import pytest


def require_program(name: str, package: str = "") -> None:
    """Skip the test where the program is missing; fail in CI, which installs it."""
    if shutil.which(name) is not None:
        return
    missing = f"{name} is not installed (Debian: {package or name})"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)

"""Limits hold whatever a plan is made of, so the plans are short."""

import pytest


@pytest.fixture(autouse=True)
def limited(short_plans: None) -> None:
    """Every plan here."""

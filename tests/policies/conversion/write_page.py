"""Writes the page for people who come from descheduler again: `python -m` this module."""

from pathlib import Path

from rescheduler.policies.conversion.descheduler_guide import from_descheduler

PAGE = Path(__file__).parents[3] / "policies" / "from-descheduler.md"

if __name__ == "__main__":
    PAGE.write_text(from_descheduler())

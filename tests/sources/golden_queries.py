"""Where the golden file of the queries is."""

from pathlib import Path

GOLDEN = Path(__file__).with_name("queries.golden")

"""Which series a query in PromQL selects."""

import re

_WORDS = """
absent and avg_over_time bool by changes count count_over_time group group_left histogram_quantile
ignoring increase max max_over_time min min_over_time offset on or rate sum
sum_over_time time unless vector
"""
_FUNCTIONS = frozenset(_WORDS.split())
_LABELS = re.compile(r"(?:\b(?:by|on|ignoring|group_left|without) \([^)]*\))|\[[^\]]*\]")
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)(\{[^}]*\})?")


def selectors(query: str) -> list[str]:
    """The selectors of series, without their ranges."""
    bare = _LABELS.sub(" ", query)
    return [name + labels for name, labels in _SELECTOR.findall(bare) if name not in _FUNCTIONS]


def metric_names(query: str) -> list[str]:
    """The names of the metrics, in the order of the query."""
    return [selector.partition("{")[0] for selector in selectors(query)]

"""A counter that grows at a known rate, exact at any moment without ticking."""


class Counter:
    """A value that grows by `rate` a second since it was last set."""

    __slots__ = ("_since", "_value", "rate")

    def __init__(self, now: float) -> None:
        """Zero at `now` (seconds), and not growing."""
        self._value = 0.0
        self._since = now
        self.rate = 0.0

    def grow(self, rate: float, now: float) -> None:
        """From `now` on grow by `rate` a second."""
        if rate != self.rate:
            self._value = self.read(now)
            self._since = now
            self.rate = rate

    def read(self, now: float) -> float:
        """The value at `now`."""
        return self._value + self.rate * max(0.0, now - self._since)

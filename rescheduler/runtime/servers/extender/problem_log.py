"""Says what is wrong with something that is read all the time, once each time that it changes."""

from collections.abc import Callable

from rescheduler.runtime.logs import logger


class ProblemLog:
    """Writes a log line where the problem is another one than at the last look, or is over."""

    def __init__(self, what: str, problem: Callable[[], str]) -> None:
        """what: is read. problem: what is wrong now, or ""; what it is at first is not said."""
        self._what = what
        self._problem = problem
        self._said = problem()

    def look(self) -> None:
        """Write a line, if there is news."""
        problem = self._problem()
        if problem == self._said:
            return
        self._said = problem
        if problem:
            logger().error(f"{self._what} is not read", error=problem)
        else:
            logger().info(f"{self._what} is read")

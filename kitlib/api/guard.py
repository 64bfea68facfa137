"""A defect concerns one object: it is marked failed, its traceback goes to the log, and the work on others goes on.

Behind the boundary nothing is supposed to raise. Every loop over objects of a cluster (a kubelet's pods, a scheduler's
queue, a controller's keys, a control plane's nodes) runs the work on each of them under a guard all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
LONGEST = 500
"""Characters of an error in an event."""
_REMEMBERED = 1000


class Guard(Generic[T]):
    """Of one loop.

    Args:
        who: works, for the log: `kubelet node-1`.
        failed: marks the object, and says so in an event.
    """

    def __init__(self, who: str, failed: Callable[[T, Exception], None]) -> None:
        self._who, self._failed = who, failed
        self._logged: set[str] = set()

    def run(self, about: T, work: Callable[[], object]) -> bool:
        """Do the work on one object; whether it raised nothing."""
        try:
            work()
        except Exception as error:
            self.caught(about, error)
            return False
        return True

    def caught(self, about: T, error: Exception) -> None:
        """Log a defect, with its traceback the first time, and mark the object."""
        self._log(f"{self._who}: {about}: {described(error)}", error)
        try:
            self._failed(about, error)
        except Exception as another:
            self._log(f"{self._who}: {about}: cannot be marked failed: {described(another)}", another)

    def _log(self, text: str, error: Exception) -> None:
        import logging

        new = text not in self._logged
        if len(self._logged) >= _REMEMBERED:
            self._logged.clear()
        self._logged.add(text)
        logger = logging.getLogger(__name__)
        if new:
            logger.error(text, exc_info=error)
        else:
            logger.info(text)


def described(error: Exception) -> str:
    """Type and text of an error, in short."""
    return f"{type(error).__name__}: {error}"[:LONGEST]

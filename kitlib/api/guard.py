"""Containment of defects: an exception marks one object as failed and is logged; work on other objects continues.

Objects that have passed the boundary should never cause an exception. Nevertheless every loop over objects of a
cluster (a kubelet's pods, a scheduler's queue, a controller's keys, a control plane's nodes) runs each step under one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
LONGEST = 500
"""The maximum length of an error in an event, in characters."""
_REMEMBERED = 1000


class Guard(Generic[T]):
    """The guard of one loop.

    Args:
        who: the component's name, for the log: `kubelet node-1`.
        failed: marks the object as failed and records an event.
    """

    def __init__(self, who: str, failed: Callable[[T, Exception], None]) -> None:
        self._who, self._failed = who, failed
        self._logged: set[str] = set()

    def run(self, about: T, work: Callable[[], object]) -> bool:
        """Run the work on one object; return whether it raised nothing."""
        try:
            work()
        except Exception as error:
            self.caught(about, error)
            return False
        return True

    def caught(self, about: T, error: Exception) -> None:
        """Log a defect, with a traceback the first time, and mark the object as failed."""
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
    """Return the type and the shortened text of an error."""
    return f"{type(error).__name__}: {error}"[:LONGEST]

"""A bound on the work of a cluster at one instant, so that its time always advances.

Controllers, scheduler and nodes work in rounds until none finds anything to do. Programs that undo each other's work
never reach this state: they continue, but with a limited number of rounds in each second of the cluster's time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kitlib.apiserver.store.store import WatchEvent

ROUNDS = 100
"""The maximum number of rounds of controllers, scheduler and nodes per second."""
FEW_ROUNDS = 5
"""The rounds for each further request within a second without remaining rounds, to handle a user's request."""
_NAMED = 5
log = logging.getLogger(__name__)


class WorkLimit:
    """The number of rounds that one cluster may still run."""

    def __init__(self) -> None:
        self._used_up = -1
        self._told: set[frozenset[str]] = set()

    def rounds(self, seconds: float) -> int:
        """Return the number of rounds that may run now.

        Args:
            seconds: the time of the cluster's clock, in seconds.
        """
        return FEW_ROUNDS if int(seconds) == self._used_up else ROUNDS

    def used_up(self, seconds: float, changes: Iterable[WatchEvent]) -> None:
        """Record that the rounds were not enough, and log once which kinds of objects still change.

        Args:
            seconds: the time of the cluster's clock, in seconds.
            changes: the changes of the last round.
        """
        first, self._used_up = int(seconds) != self._used_up, int(seconds)
        objects = [event.object for event in changes]
        kinds = frozenset(obj.kind for obj in objects)
        if not first or kinds in self._told:
            return
        self._told.add(kinds)
        names = sorted({f"{obj.kind} {obj.key}" for obj in objects})
        log.warning(
            "not at rest after %d rounds; objects that still change: %s. Something undoes the work of something else; "
            "it goes on at %d rounds in each second of the cluster's time, and is not named again",
            ROUNDS,
            ", ".join(names[:_NAMED]),
            ROUNDS,
        )

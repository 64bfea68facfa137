"""Clusters whose nodes work by themselves: each read first processes the new reports of the nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self, TypeVar

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.store.store import Watch
from kitlib.cluster.base import BaseCluster, check_seconds
from kitlib.cluster.control_plane.obstacles import obstacles
from kitlib.cluster.control_plane.real_clock import TICK, RealClock
from kitlib.cluster.exclusive import exclusive

T = TypeVar("T")
_GONE_WITHIN = 120.0


class PollingCluster(BaseCluster):
    """A cluster that processes new reports before each read."""

    clock: RealClock
    waits_for_deleted = False
    """Whether `delete` returns after the object is removed, as `kubectl delete` does."""

    @exclusive
    def record_action(self, action: str, **fields: object) -> None:
        """Record a user's action with its time, because time advances by itself here."""
        super().record_action(action, at=round(self.clock.seconds, 3), **fields)

    def refresh(self) -> None:
        """Process new reports; subclasses with reporting nodes implement it."""

    def _refresh_to_read(self) -> None:
        """Refresh before a read; a subclass may fall back to its last state."""
        self.refresh()

    def _pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def wait(self, condition: Callable[[Self], T], timeout: float = 60.0) -> T:
        """Wait until a condition is true.

        Args:
            condition: called with this cluster until it returns a true value.
            timeout: the maximum time to wait in seconds.

        Returns:
            The condition's true value.

        Raises:
            KitError: the condition is not a function, or the time is over; then the error has the pods that do not
                run and their last messages.
        """
        if not callable(condition):
            raise KitError(
                f"wait: condition: Invalid value: {condition!r}: must be a function of the cluster, for example "
                'wait(lambda cluster: cluster.pod("web").status.phase == "Running")'
            )
        deadline = time.monotonic() + timeout
        while True:
            self.refresh()
            found = condition(self)
            if found:
                return found
            if time.monotonic() >= deadline:
                text = f"timed out after {timeout:g} s waiting for the condition"
                raise KitError("; ".join([text, *obstacles(super().nodes, super().pods(), super().events())]))
            self._pause(TICK)

    def advance(self, seconds: float) -> None:
        """Wait for these seconds while controllers and scheduler work."""
        check_seconds(seconds)
        self.record_action("advance", seconds=seconds)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._pause(min(TICK, left))
        self.settle()

    def delete(
        self,
        kind: str | type[KubeObject] | KubeObject,
        name: str = "",
        namespace: str = "default",
        *,
        grace: int | None = None,
        propagation_policy: str = BACKGROUND,
    ) -> None:
        """Delete an object; see `BaseCluster.delete`."""
        if isinstance(kind, KubeObject):
            self.delete(kind.kind, kind.name, kind.namespace, grace=grace, propagation_policy=propagation_policy)
            return
        # The UID tells the deleted object from a new one of the same name, which a controller may create at once.
        before = self.api.store.find(kind, name, namespace or "default")
        super().delete(kind, name, namespace, grace=grace, propagation_policy=propagation_policy)

        def gone(_: BaseCluster) -> bool:
            left = self.api.store.find(kind, name, namespace or "default")
            return left is None or left.metadata.uid != before.metadata.uid

        if self.waits_for_deleted and before is not None:
            self.wait(gone, _GONE_WITHIN)

    @exclusive
    def watch(self, kind: str | None = None, namespace: str | None = None, since: int | None = None) -> Watch:
        """Watch for changes from now on; see `BaseCluster.watch`."""
        self.refresh()
        return self.api.store.watch(kind, namespace, since, before_poll=self.refresh)

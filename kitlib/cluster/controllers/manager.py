"""The controller manager: it hands every change of the store to the controllers that watch such objects, and runs them.

Controllers work in rounds until no queue has a key that is due. An error in one object is kept, logged and tried again
after a back-off; it stops neither the other objects nor the other controllers.

Source: cmd/kube-controller-manager/app (NewControllerDescriptors).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.controller import Controller, Handler, Key
from kitlib.cluster.controllers.informers import NOT_INDEXED, Change, Informers
from kitlib.cluster.store.store import WatchEvent

MAX_ROUNDS = 500
Usages = Mapping[tuple[str, str], Mapping[str, tuple[float, int]]]
ERRORS_KEPT = 100


class ControllerManager:
    """The controllers of one cluster.

    Attributes:
        api: the API server. informers: what all controllers read.
        errors: the last defects: controller, key, exception. Empty unless a controller is wrong.
        metrics: what containers use now: (namespace, pod) -> container -> (CPUs, bytes of memory).

    Args:
        api: existing objects are handed to the controllers as new ones.
        kinds: the controllers' classes; None = all.
    """

    def __init__(self, api: APIServer, kinds: Iterable[type[Controller]] | None = None) -> None:
        self.api = api
        self.informers = Informers(api.store)
        self.metrics: Callable[[], Usages] = dict
        self.errors: deque[tuple[str, Key, Exception]] = deque(maxlen=ERRORS_KEPT)
        if kinds is None:
            from kitlib.cluster.controllers import CONTROLLERS

            kinds = CONTROLLERS
        self.controllers = [kind(self) for kind in kinds]
        self._handlers: dict[str, list[Handler]] = {}
        for controller in self.controllers:
            for kind, handler in controller.handlers().items():
                self._handlers.setdefault(kind, []).append(handler)
        existing, self.informers.existing = self.informers.existing, []
        for obj in existing:
            self._notify(Change("ADDED", None, obj))
        self._unsubscribe: Callable[[], None] = api.store.subscribe(self._on_change)

    def _on_change(self, event: WatchEvent) -> None:
        if event.object.kind not in NOT_INDEXED:
            self._notify(self.informers.apply(event))

    def _notify(self, change: Change) -> None:
        for handler in self._handlers.get(change.new.kind, ()):
            handler(change)

    def controller(self, name: str) -> Controller:
        """The controller with this name."""
        return next(one for one in self.controllers if one.name == name)

    def is_due(self) -> bool:
        """Whether a controller has something to do now."""
        return any(controller.queue.is_due() for controller in self.controllers)

    def run(self) -> bool:
        """Let all controllers work until none has anything to do, at most 500 rounds.

        Returns:
            Whether the store has changed.
        """
        began = self.api.store.version
        for _ in range(MAX_ROUNDS):
            busy = [controller.process() for controller in self.controllers]
            if not any(busy):
                break
        return self.api.store.version != began

    def close(self) -> None:
        """Watch the store no longer."""
        self._unsubscribe()

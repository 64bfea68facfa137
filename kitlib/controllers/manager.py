"""The controller manager: it passes every change of the store to the controllers that watch the kind, and runs them.

Controllers start when an object needs them (descriptors.py), and run in rounds until no queue has a key that is due.
An error with one object is recorded, logged and retried after a back-off. It stops neither other objects nor other
controllers.

Source: cmd/kube-controller-manager/app (NewControllerDescriptors).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from kitlib.api.guard import Guard, described
from kitlib.api.meta import KubeObject
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.kinds import watched_kind
from kitlib.apiserver.store.store import WatchEvent
from kitlib.controllers.controller import ANY_KIND, Controller, Handler, Key, Usages
from kitlib.controllers.descriptors import CONTROLLERS, ControllerDescriptor
from kitlib.controllers.informers import NOT_INDEXED, Delta, Informers
from kitlib.controllers.workqueue import WorkQueue

MAX_ROUNDS = 500
ERRORS_KEPT = 100


class ControllerManager:
    """The controllers of one cluster.

    Attributes:
        api: the API server.
        informers: the informers that all controllers read.
        errors: the last defects, each as controller, key, exception; empty unless a controller has a defect.
        metrics: the current CPUs and bytes of memory of each container, by (namespace, pod) and container.
        is_restless: whether the last run ended before every controller was idle.

    Args:
        api: the API server; controllers receive its existing objects as new ones.
        descriptors: the controllers, in the order in which they run.
    """

    def __init__(self, api: APIServer, descriptors: Sequence[ControllerDescriptor] = CONTROLLERS) -> None:
        self.api = api
        self.informers = Informers(api.store)
        self.metrics: Callable[[], Usages] = dict
        self.is_restless = False
        self.errors: deque[tuple[str, Key, Exception]] = deque(maxlen=ERRORS_KEPT)
        self._guard: Guard[Delta] = Guard("controller-manager", self._failed)
        self._descriptors = tuple(descriptors)
        self._running: list[Controller | None] = [None] * len(self._descriptors)
        self._watching: list[Mapping[str, Handler]] = [{} for _ in self._descriptors]
        self._queues: list[WorkQueue[Key]] = []
        self._waiting: dict[str, list[int]] = {}
        self._handlers: dict[str, list[Handler]] = {}
        for place, one in enumerate(self._descriptors):
            if not one.starts:
                self._start(place)
            for kind in one.starts:
                self._waiting.setdefault(kind, []).append(place)
        # All controllers start before the first notification, so that none misses an object.
        existing, self.informers.existing = self.informers.existing, []
        for obj in existing:
            self._start_wanted(watched_kind(obj), obj)
        for obj in existing:
            self._notify(Delta("ADDED", None, obj))
        self._unsubscribe: Callable[[], None] = api.store.subscribe(self._on_change)

    def _on_change(self, event: WatchEvent) -> None:
        kind = watched_kind(event.object)
        if kind not in NOT_INDEXED:
            for place in self._start_wanted(kind, event.object):
                for obj in self.informers.objects():  # in their state before this change
                    self._call(self._watching[place], Delta("ADDED", None, obj))
            self._notify(self.informers.apply(event))

    def _start_wanted(self, kind: str, obj: KubeObject) -> list[int]:
        """Start the controllers that an object needs; return their indexes, as they have received no objects yet."""
        waiting = self._waiting.get(kind)
        if not waiting:
            return []
        wanted = [place for place in waiting if self._descriptors[place].wanted_by(kind, obj)]
        for place in wanted:
            self._start(place)
        return wanted

    def _start(self, place: int) -> Controller:
        """Start the controller with this index in the table."""
        controller = self._descriptors[place].load()(self)
        self._running[place] = controller
        self._watching[place] = controller.handlers()
        self._queues.append(controller.queue)
        self._handlers.clear()  # the cached handlers of each kind lack the new controller
        for waiting in self._waiting.values():
            if place in waiting:
                waiting.remove(place)
        return controller

    def _notify(self, change: Delta) -> None:
        kind = watched_kind(change.new)
        handlers = self._handlers.get(kind)
        if handlers is None:
            found = (_handler(watching, kind) for watching in self._watching)
            handlers = self._handlers[kind] = [one for one in found if one is not None]
        for handler in handlers:
            self._hand(handler, change)

    def _call(self, watching: Mapping[str, Handler], change: Delta) -> None:
        handler = _handler(watching, watched_kind(change.new))
        if handler is not None:
            self._hand(handler, change)

    def _hand(self, handler: Handler, change: Delta) -> None:
        try:
            handler(change)
        except Exception as error:
            self._guard.caught(change, error)

    def _failed(self, change: Delta, error: Exception) -> None:
        """Record a defect in a handler, with an event on the changed object unless it is an event itself."""
        self.errors.append(("controller-manager", (change.new.namespace, change.new.name), error))
        if watched_kind(change.new) not in NOT_INDEXED:
            record(self.api, change.new, "Warning", "InternalError", described(error), "controller-manager")

    def controller(self, name: str) -> Controller:
        """Return the controller with this name, and start it if necessary."""
        place = next(place for place, one in enumerate(self._descriptors) if one.name == name)
        running = self._running[place]
        if running is None:
            running = self._start(place)
            for obj in self.informers.objects():
                self._call(self._watching[place], Delta("ADDED", None, obj))
        return running

    def is_due(self) -> bool:
        """Return whether a controller has a key that is due."""
        return any(map(WorkQueue.is_due, self._queues))

    def run(self) -> bool:
        """Run all controllers until none has a due key, for at most 500 rounds.

        Returns:
            Whether the store has changed.
        """
        began = self.api.store.version
        self.is_restless = False
        for _ in range(MAX_ROUNDS):
            busy = False
            for place in range(len(self._running)):  # also controllers that are started during this round
                controller = self._running[place]
                if controller is not None and controller.queue.is_due():
                    busy |= controller.process()
            if not busy:
                break
        else:
            self.is_restless = True
        return self.api.store.version != began

    def close(self) -> None:
        """Stop watching the store."""
        self._unsubscribe()


def _handler(watching: Mapping[str, Handler], kind: str) -> Handler | None:
    return watching.get(kind) or watching.get(ANY_KIND)


def reconcile(api: APIServer) -> bool:
    """Run all controllers of an API server without a control plane until none has a due key.

    Returns:
        Whether the store has changed.
    """
    manager = ControllerManager(api)
    try:
        return manager.run()
    finally:
        manager.close()

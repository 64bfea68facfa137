"""The base of controllers: each watches kinds of objects, queues keys, and reconciles one object at a time.

Source: the pattern of every controller in pkg/controller (Run, processNextWorkItem, handleErr).
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol

from kitlib.api.errors import Conflict, KitError
from kitlib.api.guard import Guard, described
from kitlib.api.meta import KubeObject, OwnerReference
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.requester import requested_by, service_account
from kitlib.apiserver.admission.webhook_calls import Attempts, Pending
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.kinds import resource
from kitlib.controllers.informers import Delta, Informers, controller_of
from kitlib.controllers.workqueue import WorkQueue

Key = tuple[str, ...]
"""Namespace and name; controllers of several kinds add the kind in front."""
Handler = Callable[[Delta], None]
ANY_KIND = "*"
"""The kind of handlers for all kinds, including custom ones, that the controller does not name."""
log = logging.getLogger(__name__)


class Retry(KitError):
    """An unfinished sync: the key is processed again after its back-off."""


Usages = Mapping[tuple[str, str], Mapping[str, tuple[float, int]]]
"""The CPUs and bytes of memory of each container, by (namespace, pod) and container."""


class Manager(Protocol):
    """The interface of the controller manager that controllers use.

    Attributes:
        api: the API server.
        informers: the informers that all controllers share.
        errors: the last defects, each as controller, key, exception.
        metrics: the current usage of containers.
    """

    api: APIServer
    informers: Informers
    errors: deque[tuple[str, Key, Exception]]
    metrics: Callable[[], Usages]


class Controller(ABC):
    """One controller of a cluster.

    Attributes:
        name: the name in events, `replicaset-controller`.
        account: the name of the service account; "" = the controller's name.
        user: the user of the controller's writes.
        manager: the manager with the informers and the clock.
        api: the API server.
        queue: the keys to process.
    """

    name: ClassVar[str]
    account: ClassVar[str] = ""

    def __init__(self, manager: Manager) -> None:
        self.manager, self.api, self.informers = manager, manager.api, manager.informers
        # `now` for timestamps in objects; monotonic time for delays, which a changed date must not shift
        self.now, self.steady_now = manager.api.store.now, manager.api.store.steady_now
        self.queue: WorkQueue[Key] = WorkQueue(self.steady_now)
        self.user = service_account("kube-system", self.account or self.name)
        self._attempts: dict[Key, Attempts] = {}
        self._guard: Guard[Key] = Guard(self.name, self._mark_failed)

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Return the handler of changes for each watched kind."""

    @abstractmethod
    def sync(self, key: Key) -> None:
        """Bring one object to its desired state.

        Raises:
            Retry, KitError: the sync failed; the key is processed again after a back-off.
        """

    def process(self) -> bool:
        """Process all keys that are due; an error with one key does not stop the others.

        Returns:
            Whether a key was due.
        """
        keys = self.queue.take()
        for key in keys:
            try:
                self._attempt(key)
            except Retry:
                self.queue.add_rate_limited(key)
            except (Conflict, KitError) as error:
                log.info("%s: %s: %s", self.name, "/".join(key), error)
                self.queue.add_rate_limited(key)
            except Exception as error:
                self._guard.caught(key, error)
                self.queue.add_rate_limited(key)
            else:
                self.queue.forget(key)
        return bool(keys)

    def _attempt(self, key: Key) -> None:
        """Sync a key, and again after the answer of a webhook that the first attempt needed."""
        background = self.api.webhooks
        with requested_by(self.user):
            if background is None or not background.defers:
                self.sync(key)
                return
            # A webhook may need the API, so nothing waits for it here: the attempt ends with `Pending`. The next one
            # finds the answer and repeats the generated names.
            attempts = self._attempts.pop(key, None) or Attempts()
            try:
                with attempts.attempt(self.api.store.names):
                    self.sync(key)
            except Pending as pending:
                self._attempts[key] = attempts
                background.start(pending.calls, attempts, partial(self.queue.add, key))

    def _mark_failed(self, key: Key, error: Exception) -> None:
        """Record a defect, with an event on the object of the key, which has the first watched kind that matches."""
        self.manager.errors.append((self.name, key, error))
        for kind in self.handlers():
            about = self.find(kind, key) if kind != ANY_KIND and len(key) > 1 else None
            if about is not None:
                self.event(about, "Warning", "InternalError", described(error))
                return

    def enqueue(self, obj: KubeObject) -> None:
        """Queue this object."""
        self.queue.add(key_of(obj))

    def enqueue_controllers(self, change: Delta, kind: str) -> None:
        """Queue the object of a kind that controls the changed object, and the one that controlled it before."""
        for obj in (change.old, change.new):
            reference = controller_of(obj) if obj is not None else None
            if reference is not None and is_of(reference, kind):
                self.queue.add((change.new.namespace, reference.name))

    def event(self, about: KubeObject, kind: str, reason: str, message: str) -> None:
        """Record an event with the controller as its source."""
        record(self.api, about, kind, reason, message, self.name)

    def find(self, kind: Any, key: Key) -> Any:
        """Return the stored object of a key, which must not be changed; None if it does not exist."""
        namespace, name = key[-2:]
        return self.api.store.find(kind, name, namespace, copy=False)


def is_of(reference: OwnerReference, kind: str) -> bool:
    """Return whether a reference is to an object of a built-in kind, not of a kind of that name in another group."""
    return reference.kind == kind and reference.api_version.rpartition("/")[0] == resource(kind).group


def key_of(obj: KubeObject) -> Key:
    """Return namespace and name of an object."""
    return obj.metadata.namespace, obj.metadata.name

"""A controller watches kinds of objects, keeps a queue of keys, and brings one object at a time to its desired state.

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
"""Namespace and name; a controller of several kinds puts the kind in front."""
Handler = Callable[[Delta], None]
ANY_KIND = "*"
"""Watches the objects of every kind, custom ones included, that the controller does not name."""
log = logging.getLogger(__name__)


class Retry(KitError):
    """A sync did not reach its goal; the key is processed again after its back-off."""


Usages = Mapping[tuple[str, str], Mapping[str, tuple[float, int]]]
"""(namespace, pod) -> container -> CPUs, and bytes of memory."""


class Manager(Protocol):
    """The controller manager, as a controller needs it.

    Attributes:
        api: the API server.
        informers: what all controllers read.
        errors: the last defects: controller, key, exception.
        metrics: what containers use now.
    """

    api: APIServer
    informers: Informers
    errors: deque[tuple[str, Key, Exception]]
    metrics: Callable[[], Usages]


class Controller(ABC):
    """One controller of a cluster.

    Attributes:
        name: as events name it, `replicaset-controller`.
        account: its service account; "" = called as the controller.
        user: who its writes come from.
        manager: whose informers and clock it uses.
        api: the API server.
        queue: keys to process.
    """

    name: ClassVar[str]
    account: ClassVar[str] = ""

    def __init__(self, manager: Manager) -> None:
        self.manager, self.api, self.informers = manager, manager.api, manager.informers
        self.now = manager.api.store.now
        self.queue: WorkQueue[Key] = WorkQueue(manager.api.store.steady_now)
        self.user = service_account("kube-system", self.account or self.name)
        self._attempts: dict[Key, Attempts] = {}
        self._guard: Guard[Key] = Guard(self.name, self._mark_failed)

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Kind -> what is called with every change of such an object."""

    @abstractmethod
    def sync(self, key: Key) -> None:
        """Bring one object to its desired state.

        Raises:
            Retry, KitError: and then the key is processed again after a back-off.
        """

    def process(self) -> bool:
        """Process all keys that are due; an error in one does not stop the others.

        Returns:
            Whether there was any.
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
        """Sync a key; where a webhook has to be asked first, once more when it has answered."""
        background = self.api.webhooks
        with requested_by(self.user):
            if background is None or not background.defers:
                self.sync(key)
                return
            attempts = self._attempts.pop(key, None) or Attempts()
            try:
                with attempts.attempt(self.api.store.names):
                    self.sync(key)
            except Pending as pending:
                self._attempts[key] = attempts
                background.start(pending.calls, attempts, partial(self.queue.add, key))

    def _mark_failed(self, key: Key, error: Exception) -> None:
        """A defect in the work on one object: the object says so. Its own kind is the first that is watched."""
        self.manager.errors.append((self.name, key, error))
        for kind in self.handlers():
            about = self.find(kind, key) if kind != ANY_KIND and len(key) > 1 else None
            if about is not None:
                self.event(about, "Warning", "InternalError", described(error))
                return

    def enqueue(self, obj: KubeObject) -> None:
        """Process this object."""
        self.queue.add(key_of(obj))

    def enqueue_controllers(self, change: Delta, kind: str) -> None:
        """Process the object of a kind that controls the changed one, and the one that did so before."""
        for obj in (change.old, change.new):
            reference = controller_of(obj) if obj is not None else None
            if reference is not None and is_of(reference, kind):
                self.queue.add((change.new.namespace, reference.name))

    def event(self, about: KubeObject, kind: str, reason: str, message: str) -> None:
        """Write an event in the controller's name."""
        record(self.api, about, kind, reason, message, self.name)

    def find(self, kind: Any, key: Key) -> Any:
        """The stored object of a key, not to be changed; None where it is gone."""
        namespace, name = key[-2:]
        return self.api.store.find(kind, name, namespace, copy=False)


def is_of(reference: OwnerReference, kind: str) -> bool:
    """Return whether a reference is to an object of a built-in kind, not of a kind of that name in another group."""
    return reference.kind == kind and reference.api_version.rpartition("/")[0] == resource(kind).group


def key_of(obj: KubeObject) -> Key:
    """Namespace and name."""
    return obj.metadata.namespace, obj.metadata.name

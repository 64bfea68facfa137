"""StatefulSets: pods with fixed names and their own storage, created and replaced in order.

Imported by the table of controllers alone. Face: `StatefulSetController`.

Source: pkg/controller/statefulset/stateful_set.go (sync), stateful_set_control.go (performUpdate,
getStatefulSetRevisions, truncateHistory).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from kitlib.api.apps import StatefulSet
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.controllers import history
from kitlib.controllers.controller import Controller, Handler, Key, Manager, Retry, key_of
from kitlib.controllers.controller_ref_manager import claim_objects, enqueue_orphan, selector_of
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.pace import Pace
from kitlib.controllers.statefulset.control import StatefulSetControl, status_of
from kitlib.controllers.statefulset.utils import ordinal_of, revision_of
from kitlib.controllers.workload_status import set_status

REQUESTS_PER_POD = 4
"""The requests for a rejected pod: its deletion, its creation, and the set's status with it and without it."""


class StatefulSetController(Controller):
    """The controller of StatefulSets."""

    name: ClassVar[str] = "statefulset-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.pace = Pace(self.now, self.steady_now, REQUESTS_PER_POD)

    def _may_replace(self, stateful_set: StatefulSet) -> bool:
        """Return whether a pod may be replaced now; otherwise queue the set for the time at which it may."""
        key = key_of(stateful_set)
        if self.pace.allowed(key, 1, f"{stateful_set.kind} {stateful_set.key}"):
            return True
        self.queue.add_after(key, self.pace.wait)
        return False

    def handlers(self) -> Mapping[str, Handler]:
        return {"StatefulSet": self._on_set, "Pod": self._on_pod, "PersistentVolumeClaim": self._on_claim}

    def _on_set(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Source: addPod, updatePod, deletePod."""
        reference = controller_of(change.new)
        if reference is not None and reference.kind == "StatefulSet":
            self.pace.note(change, (change.new.namespace, reference.name))
        self.enqueue_controllers(change, "StatefulSet")
        enqueue_orphan(self, change, "StatefulSet")

    def _on_claim(self, change: Delta) -> None:
        """Queue the namespace's sets when a claim is deleted, because a pod may wait for the end of a stale claim."""
        if change.type == "DELETED":
            for owner in self.informers.of_namespace("StatefulSet", change.new.namespace):
                self.enqueue(owner)

    def sync(self, key: Key) -> None:
        """Source: sync, UpdateStatefulSet."""
        one: StatefulSet | None = self.find(StatefulSet, key)
        if one is None:
            return
        name = one.name
        pods: list[Pod] = claim_objects(
            self,
            one,
            self.informers.owned_or_orphaned(one, "Pod"),
            selector_of(one),
            lambda pod: ordinal_of(pod, name) >= 0,
        )
        revisions = history.revisions_of(self, one)
        update = history.sync_revision(self, one, revisions)
        known = {revision.name: revision for revision in revisions}
        current = known.get(one.status.get("currentRevision", ""), update)
        failure: KitError | None = None
        try:
            StatefulSetControl(self, one, current, update, pods, partial(self._may_replace, one)).run()
        except KitError as error:
            failure = error
        one = self.find(StatefulSet, key)
        if one is None:
            return
        standing = [pod for pod in self.informers.owned(one, "Pod") if isinstance(pod, Pod)]
        status, wait = status_of(self, one, current.name, update.name, standing)
        set_status(self.api, one, status)
        live = {current.name, update.name, *map(revision_of, standing)}
        history.truncate(self, history.revisions_of(self, one), live, one.spec.revision_history_limit)
        if failure is not None:
            raise Retry(str(failure))
        if wait:
            self.queue.add_after(key, wait)

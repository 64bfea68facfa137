"""Namespaces: one that is being deleted stays, Terminating, until everything in it is gone, pods first.

Source: pkg/controller/namespace/deletion/namespaced_resources_deleter.go (Delete, deleteAllContent),
status_condition_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from kitlib.api.core import Namespace
from kitlib.api.errors import NotFound
from kitlib.api.serialize import deepcopy
from kitlib.cluster.controllers.controller import Controller, Handler, Key
from kitlib.cluster.controllers.controller_utils import condition
from kitlib.cluster.controllers.informers import Change
from kitlib.cluster.store.kinds import RESOURCES

NAMESPACED = tuple(sorted((r for r in RESOURCES if r.namespaced), key=lambda r: r.kind != "Pod"))


class NamespaceController(Controller):
    """For namespaces that are being deleted."""

    name: ClassVar[str] = "namespace-controller"

    def handlers(self) -> Mapping[str, Handler]:
        contents = dict.fromkeys((r.kind for r in NAMESPACED if r.kind != "Event"), self._on_content)
        return {"Namespace": self._on_namespace, **contents}

    def _on_namespace(self, change: Change) -> None:
        if change.type != "DELETED" and change.new.metadata.deletion_timestamp is not None:
            self.queue.add(("", change.new.name))

    def _on_content(self, change: Change) -> None:
        """What is gone from a namespace that is being deleted may have been its last object."""
        if change.type == "DELETED":
            namespace = self.api.store.find(Namespace, change.new.namespace, copy=False)
            if namespace is not None and namespace.metadata.deletion_timestamp is not None:
                self.queue.add(("", namespace.name))

    def sync(self, key: Key) -> None:
        """Source: Delete."""
        namespace: Namespace | None = self.find(Namespace, key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return
        remaining: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        for one in NAMESPACED:
            for obj in self.api.store.list(one.kind, namespace.name, copy=False):
                if obj.metadata.deletion_timestamp is None:
                    try:
                        self.api.delete(one.kind, obj.name, namespace.name, grace=None)
                    except NotFound:
                        continue
            left = self.api.store.list(one.kind, namespace.name, copy=False)
            if left:
                remaining[one.qualified if one.group else f"{one.plural}."] = len(left)
            for finalizer in (f for obj in left for f in obj.metadata.finalizers):
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
            if left and one.kind == "Pod" and self.api.release.enabled("OrderedNamespaceDeletion"):
                break  # what a pod may need until its end stays until then
        if not remaining:
            self.api.finalize_namespace(namespace)
            return
        changed = deepcopy(namespace)
        changed.status = {"phase": "Terminating", "conditions": self._conditions(namespace, remaining, finalizers)}
        if changed.status != namespace.status:
            self.api.store.update(changed)

    def _conditions(
        self, namespace: Namespace, remaining: Mapping[str, int], finalizers: Mapping[str, int]
    ) -> list[dict[str, Any]]:
        """What keeps the namespace. Source: status_condition_utils.go."""
        content = [f"{name} has {count} resource instances" for name, count in sorted(remaining.items())]
        holding = [f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())]
        made = [
            (
                "NamespaceDeletionDiscoveryFailure",
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            (
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                f"Some resources are remaining: {', '.join(content)}",
            ),
            (
                "NamespaceFinalizersRemaining",
                "True" if holding else "False",
                "SomeFinalizersRemain" if holding else "ContentHasNoFinalizers",
                f"Some content in the namespace has finalizers remaining: {', '.join(holding)}"
                if holding
                else "All content-preserving finalizers finished",
            ),
        ]
        before = {one["type"]: one for one in namespace.status.get("conditions", ())}
        conditions = []
        for kind, status, reason, message in made:
            new = condition(kind, status, reason, message, self.now())
            if kind in before and before[kind]["status"] == status:
                new["lastTransitionTime"] = before[kind]["lastTransitionTime"]
            conditions.append(new)
        return conditions

"""Namespaces: a deleted namespace is Terminating until its content is deleted, pods first.

The first sync is after five seconds. The next one is when the remaining content may be gone: after half the longest
grace period of a pod plus one second, or after eight seconds if finalizers block objects.

Source: pkg/controller/namespace/namespace_controller.go (enqueueNamespace, worker),
pkg/controller/namespace/deletion/namespaced_resources_deleter.go (Delete, deleteAllContent,
estimateGracefulTermination), status_condition_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kitlib.api.core import TERMINAL_PHASES, Namespace, Pod
from kitlib.api.errors import NotFound
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.attributes import Deletion
from kitlib.controllers.controller import Controller, Handler, Key, Retry
from kitlib.controllers.informers import Delta
from kitlib.controllers.workload_status import condition

GRACE_PERIOD = 5.0
"""The delay in seconds in which all API servers observe the deletion. Source: namespaceDeletionGracePeriod."""
FINALIZER_ESTIMATE = 15
"""The estimated seconds until finalizers are removed. Source: finalizerEstimateSeconds."""
_CONTENT = Deletion(collection=True, options={"propagationPolicy": "Background"})
"""The request that deletes all objects of one resource. Source: deleteCollection."""


class NamespaceController(Controller):
    """The controller of namespaces that are being deleted."""

    name: ClassVar[str] = "namespace-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Namespace": self._on_namespace}

    def _on_namespace(self, change: Delta) -> None:
        """Source: enqueueNamespace."""
        if change.type != "DELETED" and change.new.metadata.deletion_timestamp is not None:
            self.queue.add_after(("", change.new.name), GRACE_PERIOD)

    def sync(self, key: Key) -> None:
        """Source: Delete, deleteAllContent."""
        namespace: Namespace | None = self.find(Namespace, key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return
        remaining: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        unexpected: list[str] = []
        longest = 0
        namespaced = [kind for kind in self.api.store.kinds.all() if kind.namespaced]
        for one in sorted(namespaced, key=lambda kind: kind.qualified != "pods"):
            estimate = self._estimate(namespace) if one.qualified == "pods" else 0
            for obj in self.api.store.list(one, namespace.name, copy=False):
                if obj.metadata.deletion_timestamp is None:
                    try:
                        self.api.delete(one, obj.name, namespace.name, grace=None, request=_CONTENT)
                    except NotFound:
                        continue
            left = self.api.store.list(one, namespace.name, copy=False)
            if left:
                remaining[one.qualified if one.group else f"{one.plural}."] = len(left)
            held = [finalizer for obj in left for finalizer in obj.metadata.finalizers]
            for finalizer in held:
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
            # Without grace periods and finalizers nothing may remain, so this is an error with a back-off.
            if left and not estimate and not held:
                gvr = f"{one.group}/{left[0].api_version.rpartition('/')[2]}, Resource={one.plural}"
                unexpected.append(f"unexpected items still remain in namespace: {namespace.name} for gvr: {gvr}")
            longest = max(longest, (estimate or (FINALIZER_ESTIMATE if held else 0)) if left else 0)
            if left and one.qualified == "pods" and self.api.release.enabled("OrderedNamespaceDeletion"):
                break  # terminating pods may need the other objects. KEP-5080
        if not remaining:
            self.api.finalize_namespace(namespace)
            return
        changed = deepcopy(namespace)
        conditions = self._conditions(namespace, remaining, finalizers, unexpected)
        changed.status = {"phase": "Terminating", "conditions": conditions}
        if changed.status != namespace.status:
            self.api.store.update(changed)
        if unexpected:
            raise Retry("; ".join(unexpected))
        self.queue.add_after(key, longest // 2 + 1)

    def _estimate(self, namespace: Namespace) -> int:
        """Return the longest grace period of unfinished pods in seconds; 0 when it has passed since the deletion.

        Source: estimateGracefulTerminationForPods.
        """
        pods = [pod for pod in self.informers.of_namespace("Pod", namespace.name) if isinstance(pod, Pod)]
        graces = (p.spec.termination_grace_period_seconds for p in pods if p.status.phase not in TERMINAL_PHASES)
        estimate = max((grace or 0 for grace in graces), default=0)
        deleted = namespace.metadata.deletion_timestamp
        assert deleted is not None
        return estimate if (self.now() - deleted).total_seconds() < estimate else 0

    def _conditions(
        self,
        namespace: Namespace,
        remaining: Mapping[str, int],
        finalizers: Mapping[str, int],
        unexpected: Sequence[str],
    ) -> list[dict[str, Any]]:
        """Return the conditions with the reasons why the namespace still exists. Source: status_condition_utils.go."""
        content = [f"{name} has {count} resource instances" for name, count in sorted(remaining.items())]
        failed = f"Failed to delete all resource types, {len(unexpected)} remaining: {', '.join(sorted(unexpected))}"
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
                "True" if unexpected else "False",
                "ContentDeletionFailed" if unexpected else "ContentDeleted",
                failed if unexpected else "All content successfully deleted, may be waiting on finalization",
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

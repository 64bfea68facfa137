"""Protection of claims that pods use, and of bound volumes, against deletion.

A finished pod uses its claims until it is deleted. A finalizer that a user removes is added again.

Source: pkg/controller/volume/pvcprotection, pvprotection; plugin/pkg/admission/storage/storageobjectinuseprotection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.deletion import PV_PROTECTION, PVC_PROTECTION
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta
from kitlib.scheduler.framework.volumes import claim_names, claims_used


class ClaimProtectionController(Controller):
    """The controller of claims' finalizers."""

    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"
    account: ClassVar[str] = "pvc-protection-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"PersistentVolumeClaim": self._on_claim, "Pod": self._on_pod}

    def _on_claim(self, change: Delta) -> None:
        if change.type != "DELETED" and _concerns(change.new, PVC_PROTECTION):
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        pod = change.new
        if (
            isinstance(pod, Pod)
            and pod.spec.volumes
            and (change.type == "DELETED" or pod.status.phase in TERMINAL_PHASES or _is_shut_down(pod))
        ):
            for name in claim_names(pod):
                self.queue.add((pod.namespace, name))

    def sync(self, key: Key) -> None:
        """Source: processPVC, isBeingUsed."""
        claim: PersistentVolumeClaim | None = self.find(PersistentVolumeClaim, key)
        if claim is None:
            return
        if claim.metadata.deletion_timestamp is None:
            _protect(self, claim, PVC_PROTECTION)
            return
        pods = [pod for pod in self.informers.of_namespace("Pod", claim.namespace) if isinstance(pod, Pod)]
        if not any(_uses(pod, claim.name) for pod in pods):
            self.api.remove_finalizer(claim, PVC_PROTECTION)


def _uses(pod: Pod, claim: str) -> bool:
    """Return whether a bound pod uses the claim, finished or not. Source: podUsesPVC.

    A pod that only waits for its removal does not keep the claims that were created for it.
    """
    used = [one for one in claims_used(pod) if one.name == claim] if pod.spec.node_name else []
    return any(not one.ephemeral or not _is_shut_down(pod) for one in used)


def _is_shut_down(pod: Pod) -> bool:
    """Return whether the kubelet has finished with the pod, or it was force-deleted. Source: podIsShutDown."""
    return pod.metadata.deletion_timestamp is not None and pod.metadata.deletion_grace_period_seconds == 0


def _concerns(obj: KubeObject, finalizer: str) -> bool:
    """Source: protectionutil NeedToAddFinalizer, IsDeletionCandidate."""
    return (obj.metadata.deletion_timestamp is not None) == (finalizer in obj.metadata.finalizers)


def _protect(controller: Controller, obj: KubeObject, finalizer: str) -> None:
    """Source: addFinalizer."""
    if finalizer not in obj.metadata.finalizers:
        changed = deepcopy(obj)
        changed.metadata.finalizers = [*obj.metadata.finalizers, finalizer]
        controller.api.store.update(changed)


class VolumeProtectionController(Controller):
    """The controller of volumes' finalizers."""

    name: ClassVar[str] = "persistentvolume-protection-controller"
    account: ClassVar[str] = "pv-protection-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"PersistentVolume": self._on_volume}

    def _on_volume(self, change: Delta) -> None:
        if change.type != "DELETED" and _concerns(change.new, PV_PROTECTION):
            self.enqueue(change.new)

    def sync(self, key: Key) -> None:
        """Source: processPV, isBeingUsed."""
        volume: PersistentVolume | None = self.find(PersistentVolume, key)
        if volume is None:
            return
        if volume.metadata.deletion_timestamp is None:
            _protect(self, volume, PV_PROTECTION)
        elif volume.status.phase != "Bound":
            self.api.remove_finalizer(volume, PV_PROTECTION)

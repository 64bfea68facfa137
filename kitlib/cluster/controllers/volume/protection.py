"""Claims that a pod uses, and volumes that are bound, are not deleted before their use ends.

Source: pkg/controller/volume/pvcprotection, pvprotection; plugin/pkg/admission/storage/storageobjectinuseprotection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.cluster.admission.deletion import PV_PROTECTION, PVC_PROTECTION
from kitlib.cluster.controllers.controller import Controller, Handler, Key
from kitlib.cluster.controllers.informers import Change
from kitlib.scheduler.framework.volumes import claim_names


class ClaimProtectionController(Controller):
    """For claims that are being deleted."""

    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"PersistentVolumeClaim": self._on_claim, "Pod": self._on_pod}

    def _on_claim(self, change: Change) -> None:
        if change.type != "DELETED" and change.new.metadata.deletion_timestamp is not None:
            self.enqueue(change.new)

    def _on_pod(self, change: Change) -> None:
        pod = change.new
        if (
            isinstance(pod, Pod)
            and pod.spec.volumes
            and (change.type == "DELETED" or pod.status.phase in TERMINAL_PHASES)
        ):
            for name in claim_names(pod):
                self.queue.add((pod.namespace, name))

    def sync(self, key: Key) -> None:
        """Source: processPVC, isBeingUsed."""
        claim: PersistentVolumeClaim | None = self.find(PersistentVolumeClaim, key)
        if claim is None or claim.metadata.deletion_timestamp is None:
            return
        pods = [pod for pod in self.informers.of_namespace("Pod", claim.namespace) if isinstance(pod, Pod)]
        if not any(_uses(pod, claim.name) for pod in pods):
            self.api.remove_finalizer(claim, PVC_PROTECTION)


def _uses(pod: Pod, claim: str) -> bool:
    """Whether a pod that has a node and has not finished uses the claim. Source: podUsesPVC."""
    return bool(pod.spec.node_name) and pod.status.phase not in TERMINAL_PHASES and claim in claim_names(pod)


class VolumeProtectionController(Controller):
    """For volumes that are being deleted."""

    name: ClassVar[str] = "persistentvolume-protection-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"PersistentVolume": self._on_volume}

    def _on_volume(self, change: Change) -> None:
        if change.type != "DELETED" and change.new.metadata.deletion_timestamp is not None:
            self.enqueue(change.new)

    def sync(self, key: Key) -> None:
        """Source: processPV, isBeingUsed."""
        volume: PersistentVolume | None = self.find(PersistentVolume, key)
        if volume is not None and volume.metadata.deletion_timestamp is not None and volume.status.phase != "Bound":
            self.api.remove_finalizer(volume, PV_PROTECTION)

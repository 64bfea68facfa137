"""Claims and volumes: binding at once or for the first pod, provisioning, and reclaiming of released volumes.

Source: pkg/controller/volume/persistentvolume/pv_controller.go (syncUnboundClaim, syncBoundClaim, syncVolume, bind,
reclaimVolume, provisionClaim, assignDefaultStorageClass).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from kitlib.api.core import TERMINAL_PHASES, Node, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.persistent_volume import class_name
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import StorageClass
from kitlib.apiserver.store.store import age
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta
from kitlib.controllers.volume.provisioner import PROVISIONER, provision
from kitlib.scheduler.framework.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT_FOR_CONSUMER,
    bind_volume_to_claim,
    claim_names,
    find_matching_volume,
    is_bound_to,
)

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
IN_TREE = "kubernetes.io/"
HOST_PATH = "kubernetes.io/host-path"
MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""The CSI drivers that replace provisioners of Kubernetes' own. Source: k8s.io/csi-translation-lib."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_VOLUME = "no persistent volumes available for this claim and no storage class is set"


class PersistentVolumeController(Controller):
    """The controller of claims and volumes; keys are (kind, namespace, name)."""

    name: ClassVar[str] = "persistentvolume-controller"
    account: ClassVar[str] = "persistent-volume-binder"

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "PersistentVolumeClaim": self._on_claim,
            "PersistentVolume": self._on_volume,
            "StorageClass": self._on_class,
            "Pod": self._on_pod,
        }

    def _on_claim(self, change: Delta) -> None:
        claim = change.new
        if change.type != "DELETED":
            self.queue.add(("PersistentVolumeClaim", claim.namespace, claim.name))
        if isinstance(claim, PersistentVolumeClaim) and claim.spec.volume_name:
            self.queue.add(("PersistentVolume", "", claim.spec.volume_name))

    def _on_volume(self, change: Delta) -> None:
        volume = change.new
        if not isinstance(volume, PersistentVolume):
            return
        if change.type != "DELETED":
            self.queue.add(("PersistentVolume", "", volume.name))
        reference = volume.spec.claim_ref
        if reference is not None:
            self.queue.add(("PersistentVolumeClaim", reference.namespace, reference.name))
        elif change.type == "ADDED" or volume.status.phase == "Available":
            self._enqueue_unbound()

    def _on_class(self, change: Delta) -> None:
        if change.type != "DELETED":
            self._enqueue_unbound()

    def _on_pod(self, change: Delta) -> None:
        """Queue the claims of a new pod, so that their events name it; upstream syncs claims every 15 s."""
        pod = change.new
        if isinstance(pod, Pod) and change.type == "ADDED" and not pod.spec.node_name:
            for name in claim_names(pod):
                self.queue.add(("PersistentVolumeClaim", pod.namespace, name))

    def _enqueue_unbound(self) -> None:
        for claim in self.api.store.list(PersistentVolumeClaim, copy=False):
            if BIND_COMPLETED not in claim.metadata.annotations:
                self.queue.add(("PersistentVolumeClaim", claim.namespace, claim.name))

    def sync(self, key: Key) -> None:
        """Source: syncClaim, syncVolume."""
        if key[0] == "PersistentVolume":
            volume = self.find(PersistentVolume, key)
            if volume is not None:
                self._sync_volume(volume)
            return
        claim = self.find(PersistentVolumeClaim, key)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return
        if BIND_COMPLETED in claim.metadata.annotations:
            self._sync_bound_claim(claim)
        else:
            self._sync_unbound_claim(claim)

    # Claims.

    def _sync_unbound_claim(self, claim: PersistentVolumeClaim) -> None:
        """Source: syncUnboundClaim."""
        claim = self._with_default_class(claim)
        if claim.spec.volume_name:
            self._bind_to_named(claim)
            return
        storage_class = self._class_of(claim)
        delayed = self._should_delay_binding(claim, storage_class)
        volumes: list[PersistentVolume] = self.api.store.list(PersistentVolume, copy=False)
        if delayed:
            # Only volumes that are bound to the claim already: the scheduler selects among the others.
            volumes = [volume for volume in volumes if is_bound_to(volume, claim)]
        volume = find_matching_volume(claim, volumes, None, ())
        if volume is not None:
            self._bind(claim, volume)
            return
        if delayed:
            self._wait_for_consumer(claim)
        elif class_name(claim):
            self._provision(claim, storage_class)
            return
        else:
            self.event(claim, "Normal", "FailedBinding", NO_VOLUME)
        self._set_phase(claim, "Pending")

    def _with_default_class(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Give a claim without a class the newest default class. Source: assignDefaultStorageClass."""
        if claim.spec.storage_class_name is not None or class_name(claim):
            return claim
        defaults = [
            one
            for one in self.api.store.list(StorageClass, copy=False)
            if one.metadata.annotations.get(DEFAULT_CLASS) == "true"
        ]
        if not defaults:
            return claim
        changed = deepcopy(claim)
        changed.spec.storage_class_name = max(defaults, key=age).name
        stored: PersistentVolumeClaim = self.api.store.update(changed)
        return stored

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        found: StorageClass | None = self.api.store.find(StorageClass, class_name(claim), copy=False)
        return found

    def _should_delay_binding(self, claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
        """Return whether the claim waits until the scheduler has selected a node. Source: shouldDelayBinding.

        Only the scheduler writes the selected node. A pod with a node in its manifest bypasses the scheduler, so its
        claim waits forever.
        """
        if SELECTED_NODE in claim.metadata.annotations:
            return False
        return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER

    def _wait_for_consumer(self, claim: PersistentVolumeClaim) -> None:
        """Source: emitEventForUnboundDelayBindingClaim, findNonScheduledPodsByPVC."""
        pods = [pod for pod in self.informers.of_namespace("Pod", claim.namespace) if isinstance(pod, Pod)]
        waiting = [pod for pod in pods if not pod.spec.node_name and pod.status.phase not in TERMINAL_PHASES]
        using = [pod.name for pod in waiting if claim.name in claim_names(pod)]
        if not using:
            message = "waiting for first consumer to be created before binding"
            self.event(claim, "Normal", "WaitForFirstConsumer", message)
        else:
            plural = "s" if len(using) > 1 else ""
            message = f"waiting for pod{plural} {','.join(using)} to be scheduled"
            self.event(claim, "Normal", "WaitForPodScheduled", message)

    def _bind_to_named(self, claim: PersistentVolumeClaim) -> None:
        volume = self.api.store.find(PersistentVolume, claim.spec.volume_name, copy=False)
        if volume is None:
            self._set_phase(claim, "Pending")
        elif volume.spec.claim_ref is None:
            problem = _mismatch(claim, volume)
            if problem:
                message = f'Cannot bind to requested volume "{volume.name}": {problem}'
                self.event(claim, "Warning", "VolumeMismatch", message)
                self._set_phase(claim, "Pending")
            else:
                self._bind(claim, volume)
        elif is_bound_to(volume, claim):
            self._bind(claim, volume)
        else:
            message = f'volume "{volume.name}" already bound to a different claim.'
            self.event(claim, "Warning", "FailedBinding", message)
            self._set_phase(claim, "Pending")

    def _sync_bound_claim(self, claim: PersistentVolumeClaim) -> None:
        """Source: syncBoundClaim."""
        if not claim.spec.volume_name:
            why = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            self._lose(claim, "ClaimLost", why)
            return
        volume = self.api.store.find(PersistentVolume, claim.spec.volume_name, copy=False)
        if volume is None:
            self._lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        elif volume.spec.claim_ref is None or is_bound_to(volume, claim):
            self._bind(claim, volume)
        else:
            why = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", why)

    def _lose(self, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        if claim.status.phase != "Lost":
            self.event(claim, "Warning", reason, message)
            self._set_phase(claim, "Lost")

    def _set_phase(self, claim: PersistentVolumeClaim, phase: str) -> None:
        if claim.status.phase != phase:
            changed = deepcopy(claim)
            changed.status.phase = phase
            self.api.update_status(changed)

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """Bind claim and volume: write the volume first, then the claim. Source: bind."""
        # The volume's claimRef decides whom it belongs to. If the second write fails, the next sync finds the volume
        # by it and completes the binding.
        self._store_volume(volume, deepcopy(bind_volume_to_claim(volume, claim)), "Bound")
        bound = deepcopy(claim)
        if bound.spec.volume_name != volume.name:
            bound.spec.volume_name = volume.name
            bound.metadata.annotations = {**bound.metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
        bound.metadata.annotations = {**bound.metadata.annotations, BIND_COMPLETED: "yes"}
        bound.status.phase = "Bound"
        bound.status.access_modes = list(volume.spec.access_modes)
        if not bound.status.capacity:
            bound.status.capacity = {"storage": volume.spec.capacity["storage"]} if volume.spec.capacity else {}
        if bound != claim:
            self.api.store.update(bound)

    def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> None:
        """Source: provisionClaim, provisionClaimOperationExternal."""
        self._set_phase(claim, "Pending")
        current = self.api.store.get(PersistentVolumeClaim, claim.name, claim.namespace)
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{class_name(claim)}" not found'
            self.event(current, "Warning", "ProvisioningFailed", message)
            return
        provisioner = MIGRATED.get(storage_class.provisioner, storage_class.provisioner)
        if provisioner.startswith(IN_TREE):
            message = f"no volume plugin matched name: {provisioner}"
            if provisioner == HOST_PATH:
                message = f'Failed to create provisioner: provisioning in volume plugin "{HOST_PATH}" is disabled'
            self.event(current, "Warning", "ProvisioningFailed", message)
            return
        named = dict.fromkeys((BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER), provisioner)
        annotations = {**current.metadata.annotations, **named}
        if annotations != current.metadata.annotations:
            current.metadata.annotations = annotations
            current = self.api.store.update(current)
        if provisioner == PROVISIONER:
            chosen = annotations.get(SELECTED_NODE, "")
            node: Node | None = self.api.store.find(Node, chosen, copy=False) if chosen else None
            if chosen and node is None:
                self._select_again(current, chosen)
                return
            provision(self, current, storage_class, node)
            return
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self.event(current, "Normal", "ExternalProvisioning", message)

    def _select_again(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Remove a selected node that does not exist, so that the scheduler selects one again.

        Source: provisionVolumeErrorHandling, rescheduleProvisioning of sig-storage-lib-external-provisioner.
        """
        self.event(claim, "Warning", "ProvisioningFailed", f'node "{node}" not found')
        del claim.metadata.annotations[SELECTED_NODE]
        self.api.store.update(claim)

    # Volumes.

    def _sync_volume(self, volume: PersistentVolume) -> None:
        """Source: syncVolume."""
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            self._store_volume(volume, deepcopy(volume), "Available")
            return
        claim = self.api.store.find(PersistentVolumeClaim, reference.name, reference.namespace, copy=False)
        # A claim of the same name with another UID is a new one: the volume's data must not become its own.
        if claim is None or claim.metadata.uid != reference.uid:
            phase = volume.status.phase if volume.status.phase == "Failed" else "Released"
            self._store_volume(volume, deepcopy(volume), phase)
            self._reclaim(self.api.store.get(PersistentVolume, volume.name, copy=False))
        elif claim.spec.volume_name == volume.name:
            self._store_volume(volume, deepcopy(volume), "Bound")

    def _reclaim(self, volume: PersistentVolume) -> None:
        """Delete or retain a released volume. Source: reclaimVolume, deleteVolumeOperation."""
        if volume.spec.persistent_volume_reclaim_policy != "Delete" or volume.metadata.deletion_timestamp is not None:
            return
        provisioner = volume.metadata.annotations.get(PROVISIONED_BY, "")
        if provisioner not in ("", PROVISIONER):  # the driver deletes its own volumes
            return
        problem = _undeletable(volume) if not provisioner else ""
        if not problem:
            self.api.delete(PersistentVolume, volume.name)
        elif volume.status.phase != "Failed":
            self.event(volume, "Warning", "VolumeFailedDelete", problem)
            self._store_volume(volume, deepcopy(volume), "Failed", problem)

    def _store_volume(self, old: PersistentVolume, new: PersistentVolume, phase: str, message: str = "") -> None:
        if new.status.phase != phase:
            new.status.phase, new.status.message = phase, message
            new.status.last_phase_transition_time = self.now()
        if new != old:
            self.api.store.update(new)


def _undeletable(volume: PersistentVolume) -> str:
    """Return the reason why a volume without a provisioner cannot be deleted; "" = it can.

    Source: findDeletablePlugin, hostPathDeleter.Delete.
    """
    if volume.spec.host_path is not None:
        path = volume.spec.host_path.path
        known = re.search("/tmp/.+", path) is not None
        return "" if known else f"host_path deleter only supports /tmp/.+ but received provided {path}"
    what = "no deletable volume plugin matched" if volume.spec.nfs is not None else "no volume plugin matched"
    return f'error getting deleter volume plugin for volume "{volume.name}": {what}'


def _mismatch(claim: PersistentVolumeClaim, volume: Any) -> str:
    """Source: checkVolumeSatisfyClaim."""
    asked = claim.spec.resources.requests.get("storage")
    offered = volume.spec.capacity.get("storage")
    if asked is not None and (offered is None or offered < asked):
        return "requested PV is too small"
    if class_name(claim) != class_name(volume):
        return "storageClassName does not match"
    if (claim.spec.volume_mode or "Filesystem") != (volume.spec.volume_mode or "Filesystem"):
        return "incompatible volumeMode"
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return "incompatible accessMode"
    return ""

"""Ephemeral volumes: every pod gets its own claim from the volume's template, which is deleted with the pod.

Source: pkg/controller/volume/ephemeral/controller.go (handleVolume).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, PersistentVolumeClaim, Pod, Volume
from kitlib.api.errors import KitError
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key, Retry
from kitlib.controllers.informers import Delta
from kitlib.controllers.pod_control import owner_reference
from kitlib.scheduler.framework.volumes import claim_names, is_for_pod


class EphemeralVolumeController(Controller):
    """The controller of pods with ephemeral volumes."""

    name: ClassVar[str] = "ephemeral_volume"
    account: ClassVar[str] = "ephemeral-volume-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Pod": self._on_pod, "PersistentVolumeClaim": self._on_claim}

    def _on_pod(self, change: Delta) -> None:
        pod = change.new
        if change.type == "ADDED" and isinstance(pod, Pod) and any(v.ephemeral is not None for v in pod.spec.volumes):
            self.enqueue(pod)

    def _on_claim(self, change: Delta) -> None:
        """Queue the pods that use a deleted claim, because they need a new one."""
        if change.type == "DELETED":
            for pod in self.informers.of_namespace("Pod", change.new.namespace):
                if isinstance(pod, Pod) and pod.spec.volumes and change.new.name in claim_names(pod):
                    self.enqueue(pod)

    def sync(self, key: Key) -> None:
        pod: Pod | None = self.find(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.status.phase in TERMINAL_PHASES:
            return
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                self._sync_volume(pod, volume)

    def _sync_volume(self, pod: Pod, volume: Volume) -> None:
        """Source: handleVolume."""
        name = f"{pod.name}-{volume.name}"
        standing = self.api.store.find(PersistentVolumeClaim, name, pod.namespace, copy=False)
        try:
            if standing is not None:
                problem = is_for_pod(standing, pod)
                if problem:
                    raise Retry(problem)
                return
            assert volume.ephemeral is not None
            template = volume.ephemeral.volume_claim_template
            if template is None:
                return
            meta = ObjectMeta(
                name=name,
                namespace=pod.namespace,
                labels=dict(template.metadata.labels),
                annotations=dict(template.metadata.annotations),
                owner_references=[owner_reference(pod)],
            )
            self.api.create(PersistentVolumeClaim(metadata=meta, spec=deepcopy(template.spec)))
        except KitError as error:
            message = f"ephemeral volume {volume.name}: {error}"
            self.event(pod, "Warning", "FailedBinding", message)
            raise Retry(message) from error

"""PersistentVolumeClaimResize: only a bound claim can grow, and only if its class allows expansion.

Source: plugin/pkg/admission/storage/persistentvolume/resize/admission.go.
"""

from __future__ import annotations

from kitlib.api.errors import Forbidden
from kitlib.api.meta import KubeObject
from kitlib.api.persistent_volume import PersistentVolumeClaim, class_name
from kitlib.api.resource import Quantity
from kitlib.api.storage import StorageClass
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.apiserver.store.store import Store


def check(made: KubeObject, old: KubeObject | None, store: Store) -> None:
    """Reject a larger request for storage if the claim cannot be expanded.

    Raises:
        Forbidden: with the plugin's message.
    """
    if not isinstance(made, PersistentVolumeClaim) or not isinstance(old, PersistentVolumeClaim):
        return
    if _size(made) <= _size(old):
        return
    if old.status.phase != "Bound":
        raise Forbidden("persistentvolumeclaims", made.name, "Only bound persistent volume claims can be expanded")
    name = class_name(made)
    found = store.find(StorageClass, name, copy=False) if name and name == class_name(old) else None
    if found is None or not found.allow_volume_expansion:
        why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
        raise Forbidden("persistentvolumeclaims", made.name, f"{why}support resize")


def _size(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get("storage", Quantity("0"))


class PersistentVolumeClaimResizePlugin(AdmissionPlugin):
    """A plugin that checks updates of claims."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        check(about.object, about.old, around.store)

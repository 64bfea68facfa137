"""StorageObjectInUseProtection: a volume or claim in use is not deleted until it is released.

Source: plugin/pkg/admission/storage/storageobjectinuseprotection.
"""

from __future__ import annotations

from kitlib.api.persistent_volume import PersistentVolumeClaim
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.deletion import PV_PROTECTION, PVC_PROTECTION
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin


class StorageObjectInUseProtectionPlugin(AdmissionPlugin):
    """A plugin that adds finalizers to new volumes and claims."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        finalizer = PVC_PROTECTION if isinstance(about.new, PersistentVolumeClaim) else PV_PROTECTION
        meta = about.object.metadata
        if finalizer not in meta.finalizers:
            meta.finalizers = [*meta.finalizers, finalizer]

"""The kit's own provisioner: it creates a directory on a node for every claim whose StorageClass names it.

With WaitForFirstConsumer the volume is on the node of the first pod, and only pods there can use it.

Source: kubernetes-sigs/sig-storage-lib-external-provisioner (provisionClaimOperation) for names and events.
"""

from __future__ import annotations

from kitlib.api.core import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    VolumeNodeAffinity,
)
from kitlib.api.errors import AlreadyExists
from kitlib.api.meta import ObjectMeta
from kitlib.api.storage import StorageClass
from kitlib.api.volume import HostPathVolumeSource
from kitlib.apiserver.store.events import record
from kitlib.controllers.controller import Controller

PROVISIONER = "kitlib.example/hostpath"
"""The `provisioner` of StorageClasses whose volumes the kit creates itself."""
HOSTNAME = "kubernetes.io/hostname"
DIRECTORY = "/var/lib/kitlib/volumes"


def provision(
    controller: Controller, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None
) -> None:
    """Create a volume for the claim, which the volume controller binds afterwards.

    Args:
        controller: the controller that writes.
        claim: the claim.
        storage_class: the class of the claim.
        node: the node of the volume; None = every node can use it.
    """
    name = f"pvc-{claim.metadata.uid}"
    message = f'External provisioner is provisioning volume for claim "{claim.key}"'
    record(controller.api, claim, "Normal", "Provisioning", message, PROVISIONER)
    affinity = None
    if node is not None:
        hostname = node.metadata.labels.get(HOSTNAME, node.name)
        requirement = NodeSelectorRequirement(key=HOSTNAME, operator="In", values=[hostname])
        term = NodeSelectorTerm(match_expressions=[requirement])
        affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=[term]))
    spec = PersistentVolumeSpec(
        capacity={"storage": claim.spec.resources.requests["storage"]},
        access_modes=list(claim.spec.access_modes),
        claim_ref=ObjectReference(
            api_version="v1",
            kind="PersistentVolumeClaim",
            namespace=claim.namespace,
            name=claim.name,
            uid=claim.metadata.uid,
        ),
        persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
        storage_class_name=storage_class.name,
        volume_mode=claim.spec.volume_mode or "Filesystem",
        node_affinity=affinity,
        host_path=HostPathVolumeSource(path=f"{DIRECTORY}/{name}", type="DirectoryOrCreate"),
    )
    meta = ObjectMeta(name=name, annotations={"pv.kubernetes.io/provisioned-by": PROVISIONER})
    try:
        controller.api.create(PersistentVolume(metadata=meta, spec=spec))
    except AlreadyExists:
        return
    message = f"Successfully provisioned volume {name}"
    record(controller.api, claim, "Normal", "ProvisioningSucceeded", message, PROVISIONER)

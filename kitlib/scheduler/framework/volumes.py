"""The common part of the volume plugins: a pod's claims, their volumes, and the nodes on which these can be used.

Source: plugins/volumebinding (binder.go, assume_cache.go), component-helpers storage/volume.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kitlib.api.core import Node, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.persistent_volume import class_name
from kitlib.api.resource import Quantity
from kitlib.api.selectors import LabelSelectorMatcher, usable_on
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from kitlib.scheduler.framework.assume_cache import AssumeCache

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation that the volume controller writes when it has bound a claim."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""The annotation of a volume or claim that names the other one because a component chose it, not the user."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The annotation that the scheduler writes on a claim whose volume is to be provisioned for a node."""
ZERO = Quantity("0")
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAIT_FOR_CONSUMER = "WaitForFirstConsumer"


@dataclass
class Volumes:
    """The storage objects of a cluster.

    Attributes:
        claims: (namespace, name) -> claim.
        volumes: name -> volume.
        classes: name -> class.
        csi_nodes: node name -> CSINode.
        drivers: name -> CSIDriver.
        capacities: the CSIStorageCapacity objects.
        attachments: name -> VolumeAttachment.
        assumed: the scheduler's assumed volumes and claims; the other attributes hold the API's objects.
    """

    claims: dict[tuple[str, str], PersistentVolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    csi_nodes: dict[str, CSINode] = field(default_factory=dict)
    drivers: dict[str, CSIDriver] = field(default_factory=dict)
    capacities: list[CSIStorageCapacity] = field(default_factory=list)
    attachments: dict[str, VolumeAttachment] = field(default_factory=dict)
    assumed: AssumeCache = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.assumed = AssumeCache(self)

    @classmethod
    def of(cls, objects: Iterable[object]) -> Volumes:
        """Return the storage objects among some objects."""
        made = cls()
        for obj in objects:
            if isinstance(obj, PersistentVolumeClaim):
                made.claims[obj.namespace or "default", obj.name] = obj
            elif isinstance(obj, PersistentVolume):
                made.volumes[obj.name] = obj
            elif isinstance(obj, StorageClass):
                made.classes[obj.name] = obj
            elif isinstance(obj, CSINode):
                made.csi_nodes[obj.name] = obj
            elif isinstance(obj, CSIDriver):
                made.drivers[obj.name] = obj
            elif isinstance(obj, CSIStorageCapacity):
                made.capacities.append(obj)
            elif isinstance(obj, VolumeAttachment):
                made.attachments[obj.name] = obj
        return made

    def follows(self, earlier: Volumes) -> None:
        """Take over the assumed volumes and claims of earlier objects of the same cluster."""
        self.assumed = earlier.assumed
        self.assumed.api = self

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim as in the API, or None."""
        return self.claims.get((namespace or "default", name))

    def latest_volumes(self, storage_class: str) -> Iterator[PersistentVolume]:
        """Yield the volumes of a class, assumed ones in their future state. Source: PVAssumeCache.ListPVs."""
        for volume in self.volumes.values():
            if class_name(volume) == storage_class:
                yield self.assumed.volume(volume)


class ClaimUse(NamedTuple):
    """A claim that a pod's volume uses; an ephemeral volume's claim is named after pod and volume."""

    name: str
    ephemeral: bool


def claims_used(pod: Pod) -> list[ClaimUse]:
    """Return the claims that a pod's volumes use, in the order of the volumes."""
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(ClaimUse(volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None:
            found.append(ClaimUse(f"{pod.name}-{volume.name}", True))
    return found


def claim_names(pod: Pod) -> list[str]:
    return [one.name for one in claims_used(pod)]


def is_for_pod(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Return why an ephemeral volume's claim does not belong to the pod; "" = it does.

    Source: component-helpers storage/ephemeral VolumeIsForPod.
    """
    if any(ref.controller and ref.uid == pod.metadata.uid for ref in claim.metadata.owner_references):
        return ""
    return f"PVC {claim.namespace}/{claim.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume controller has bound the claim; a user's `volumeName` alone does not bind it.

    Source: volumebinding isPVCFullyBound.
    """
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def waits_for_consumer(claim: PersistentVolumeClaim, volumes: Volumes) -> bool:
    """Return whether the claim is bound only when a pod that uses it is placed. Source: IsDelayBindingMode."""
    found = volumes.classes.get(class_name(claim))
    return found is not None and found.volume_binding_mode == WAIT_FOR_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume names the claim. Source: IsVolumeBoundToClaim."""
    reference = volume.spec.claim_ref
    if reference is None or (reference.namespace, reference.name) != (claim.namespace, claim.name):
        return False
    # a user who pre-binds a volume gives no UID; another UID is that of a deleted claim with the same name
    return not reference.uid or reference.uid == claim.metadata.uid


def bind_volume_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a copy of the volume that names the claim, or the volume itself if it already does.

    Source: component-helpers storage/volume GetBindVolumeToClaim.
    """
    reference = volume.spec.claim_ref
    if is_bound_to(volume, claim) and reference is not None and reference.uid == claim.metadata.uid:
        return volume
    made = deepcopy(volume)
    if not is_bound_to(volume, claim):
        made.metadata.annotations = {**made.metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
    made.spec.claim_ref = ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.metadata.uid,
    )
    return made


def find_matching_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], node: Node | None, taken: Container[str]
) -> PersistentVolume | None:
    """Return the volume that names the claim, or else the smallest free one that fits and is usable on the node.

    Args:
        claim: the claim without a volume.
        volumes: the volumes of the claim's class.
        node: the pod's node; None = any node.
        taken: the names of the volumes for the pod's other claims.

    Source: component-helpers storage/volume FindMatchingVolume.
    """
    selector = LabelSelectorMatcher(claim.spec.selector) if claim.spec.selector is not None else None
    asked = claim.spec.resources.requests.get("storage", ZERO)
    smallest: PersistentVolume | None = None
    for volume in volumes:
        spec = volume.spec
        if volume.name in taken or volume.metadata.deletion_timestamp is not None:
            continue
        # a volume that names the claim needs no matching class, selector, phase or access modes: a user chose it
        mine = is_bound_to(volume, claim)
        if (spec.claim_ref is not None and not mine) or spec.capacity.get("storage", ZERO) < asked:
            continue
        if (spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem"):
            continue
        if (spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
            continue
        usable = node is None or usable_on(volume, node)
        if mine:
            # no other volume is tried: the controller binds the claim to the volume that names it
            return volume if usable else None
        # a volume in another phase would likely cause a conflict in the API. Source: FindMatchingVolume
        if (volume.status.phase or "Available") != "Available" or not usable:
            continue
        if selector is not None and not selector.matches(volume.metadata.labels):
            continue
        if class_name(volume) != class_name(claim) or not set(claim.spec.access_modes) <= set(spec.access_modes):
            continue
        if smallest is None or spec.capacity.get("storage", ZERO) < smallest.spec.capacity.get("storage", ZERO):
            smallest = volume
    return smallest

"""What the volume plugins know in common: a pod's claims, their volumes, and where these can be used.

Source: plugins/volumebinding (binder.go, assume_cache.go), component-helpers storage/volume.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kitlib.api.core import Node, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.selectors import LabelSelectorMatcher, matches_node_selector
from kitlib.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass

NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAIT_FOR_CONSUMER = "WaitForFirstConsumer"


@dataclass
class Volumes:
    """The storage objects of a cluster.

    Attributes:
        claims: (namespace, name) -> claim. volumes: name -> volume. classes: name -> class.
        csi_nodes: node -> its CSINode. drivers: name -> CSIDriver. capacities: all of them.
    """

    claims: dict[tuple[str, str], PersistentVolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    csi_nodes: dict[str, CSINode] = field(default_factory=dict)
    drivers: dict[str, CSIDriver] = field(default_factory=dict)
    capacities: list[CSIStorageCapacity] = field(default_factory=list)

    @classmethod
    def of(cls, objects: Iterable[object]) -> Volumes:
        """Pick the storage objects out of any objects."""
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
        return made

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """A claim, or None."""
        return self.claims.get((namespace or "default", name))


def claim_names(pod: Pod) -> list[str]:
    """The claims that a pod's volumes use; an ephemeral volume's claim is named after pod and volume."""
    names = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f"{pod.name}-{volume.name}")
    return names


def waits_for_consumer(claim: PersistentVolumeClaim, volumes: Volumes) -> bool:
    """Whether the claim is bound only when a pod that uses it is placed."""
    found = volumes.classes.get(claim.spec.storage_class_name or "")
    return found is not None and found.volume_binding_mode == WAIT_FOR_CONSUMER


def usable_on(volume: PersistentVolume, node: Node) -> bool:
    """Whether the volume's node affinity allows the node. Source: CheckNodeAffinity."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return matches_node_selector(affinity.required, node)


def fits_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether an unbound volume can serve a claim. Source: FindMatchingVolume."""
    spec, wanted = volume.spec, claim.spec
    reference = spec.claim_ref
    if reference is not None and (reference.namespace, reference.name) != (claim.namespace, claim.name):
        return False
    if (spec.storage_class_name or "") != (wanted.storage_class_name or ""):
        return False
    if (spec.volume_mode or "Filesystem") != (wanted.volume_mode or "Filesystem"):
        return False
    if not set(wanted.access_modes) <= set(spec.access_modes):
        return False
    size, asked = spec.capacity.get("storage"), wanted.resources.requests.get("storage")
    if asked is not None and (size is None or size < asked):
        return False
    return wanted.selector is None or LabelSelectorMatcher(wanted.selector).matches(volume.metadata.labels)

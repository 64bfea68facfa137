"""Kinds that an answer about a pod depends on but that have no object in a dump.

A dump does not record which kinds were requested. A kind without objects counts as not read, unless the caller listed
it (`Dump.listed`); then the cluster has none, and nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap
from kitlib.advisor.pod_fields import not_modelled
from kitlib.advisor.unreported import unreported_amounts
from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Namespace, PersistentVolumeClaim, Pod, Service
from kitlib.api.meta import KubeObject
from kitlib.api.policy import PriorityClass
from kitlib.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from kitlib.scheduler.framework.volumes import claim_names, is_fully_bound

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def gaps_of(dump: Dump, pod: Pod) -> list[Gap]:
    """Return the fields and kinds that the answer about a pod depends on but that are not modelled or not read."""
    found = [*dump.unread(pod), *not_modelled(pod), *missing_kinds(dump, pod), *unreported_amounts(dump)]
    if dump.left_out:
        found.append(Gap("List", "", dump.left_out, decides=False))
    if dump.unknown_release_text:
        found.append(Gap("Node", "status.nodeInfo.kubeletVersion", dump.unknown_release_text, decides=False))
    return found


def missing_kinds(dump: Dump, pod: Pod) -> Iterator[Gap]:
    """Yield the kinds that were not read although the answer about a pod depends on them."""
    yield from _of_affinity(dump, pod)
    yield from _of_claims(dump, pod)
    if pod.spec.priority_class_name not in ("", *SYSTEM_CLASSES) and not dump.has(PriorityClass):
        why = f"the value of {pod.spec.priority_class_name} decides which pods may be preempted"
        yield Gap("PriorityClass", "", why, decides=False)
    owner = next((reference.kind for reference in pod.metadata.owner_references if reference.controller), "")
    spread = not pod.spec.topology_spread_constraints and owner in ("ReplicaSet", "StatefulSet")
    kinds: dict[str, type[KubeObject]] = {"ReplicaSet": ReplicaSet, "StatefulSet": StatefulSet}
    if spread and not (dump.has(kinds[owner]) or dump.has(Service)):
        yield Gap(owner, "", "the default spreading looks for pods of the same owner (only scores)", decides=False)


def _of_affinity(dump: Dump, pod: Pod) -> Iterator[Gap]:
    """Yield a gap for namespace selectors, which match labels of Namespaces, also in affinities of pods on nodes."""
    if dump.has(Namespace):
        return
    for one in (pod, *(other for other in dump.pods if other.spec.node_name)):
        affinity = one.spec.affinity
        if affinity is None:
            continue
        own = one is pod
        sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if own else (affinity.pod_anti_affinity,)
        terms = [term for side in sides if side is not None for term in side.required]
        chosen = [t.namespace_selector for t in terms if t.namespace_selector is not None]
        if any(selector.match_labels or selector.match_expressions for selector in chosen):
            whose = "the pod's namespaceSelector" if own else f"the namespaceSelector of pod {one.key}"
            yield Gap("Namespace", "", f"{whose} chooses namespaces by their labels")
            return


def _of_claims(dump: Dump, pod: Pod) -> Iterator[Gap]:
    """Yield the kinds that a pod's claims need besides the claims: nodes' drivers and limits, published capacity."""
    claims = {(claim.namespace or "default", claim.name): claim for claim in dump.of(PersistentVolumeClaim)}
    used = [claims[pod.namespace, name] for name in claim_names(pod) if (pod.namespace, name) in claims]
    if not used:
        return
    classes = {storage_class.name: storage_class for storage_class in dump.of(StorageClass)}
    dynamic = [
        classes[claim.spec.storage_class_name].provisioner
        for claim in used
        if not is_fully_bound(claim) and claim.spec.storage_class_name in classes
    ]
    dynamic = [name for name in dynamic if name and name != "kubernetes.io/no-provisioner"]
    bound = [dump.volumes[claim.spec.volume_name] for claim in used if claim.spec.volume_name in dump.volumes]
    drivers = {volume.spec.csi.driver for volume in bound if volume.spec.csi is not None} | set(dynamic)
    if drivers and not dump.has(CSINode):
        yield Gap("CSINode", "", f"how many volumes of {', '.join(sorted(drivers))} a node may attach")
    # local provisioners are no CSI drivers and have no CSIDriver: the nodes' CSINodes name those that are
    on_nodes = {driver.name for node in dump.of(CSINode) for driver in node.spec.drivers}
    unknown = [name for name in dynamic if name in on_nodes or not dump.of(CSINode)]
    if unknown and not dump.has(CSIDriver):
        names = ", ".join(sorted(set(unknown)))
        yield Gap("CSIDriver", "", f"whether {names} publishes its free storage (storageCapacity)")
    elif dynamic and not dump.has(CSIStorageCapacity):
        limited = [one.name for one in dump.of(CSIDriver) if one.spec.storage_capacity and one.name in dynamic]
        if limited:
            yield Gap(
                "CSIStorageCapacity",
                "",
                f"the free storage of {', '.join(limited)}; none published = none free",
                decides=False,
            )

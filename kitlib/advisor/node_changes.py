"""Changes of the cluster that the platform team makes: a cordon lifted, a label, a volume, an additional node."""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.advisor.change import Change
from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import PLATFORM
from kitlib.api.core import Node, PersistentVolume, PersistentVolumeClaim, Pod
from kitlib.api.podresources import pod_requests
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import StorageClass
from kitlib.scheduler.framework.volumes import claim_names

MOST_LABELLED = 20
"""Maximum number of nodes that are tried with other labels."""
CORDON = "node.kubernetes.io/unschedulable"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
OWN_LABELS = ("node-role.kubernetes.io", "node-restriction.kubernetes.io")
"""Domains below kubernetes.io of labels that users set."""
WRITTEN_LABELS = (
    "kubernetes.io",
    "k8s.io",
    "karpenter.sh",
    "karpenter.k8s.aws",
    "eks.amazonaws.com",
    "cloud.google.com",
    "kubernetes.azure.com",
    "doks.digitalocean.com",
)
"""Domains of labels that kubelets, cloud controllers and node provisioners write; another value would be wrong."""


def cluster_changes(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Yield the single changes of the cluster that are worth trying, the cheapest kind first."""
    yield from _cordons(dump)
    yield from _labels(dump, pod)
    yield from _volumes(dump, pod)
    yield from _more_nodes(dump, pod)
    yield from _nodes_at_volumes(dump, pod)


def is_written_by_controllers(label: str) -> bool:
    """Return whether a kubelet, a cloud controller or a provisioner writes a node's label."""
    domain, slash, _ = label.partition("/")
    if not slash or domain in OWN_LABELS:
        return False
    return any(domain == one or domain.endswith(f".{one}") for one in WRITTEN_LABELS)


def _labels(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Label a node as the pod's nodeSelector requires, if the label is set by people."""
    for node in dump.nodes[:MOST_LABELLED]:
        missing = {k: v for k, v in pod.spec.node_selector.items() if node.metadata.labels.get(k) != v}
        if not missing or any(map(is_written_by_controllers, missing)):
            continue

        def label(nodes: list[Node], name: str = node.name, more: dict[str, str] = missing) -> list[Node]:
            return [_labelled(one, more) if one.name == name else one for one in nodes]

        listed = ", ".join(f"{key}={value}" for key, value in missing.items())
        yield Change(f"label node {node.name} with {listed}", "label", PLATFORM, nodes=label, about="label a node")


def _labelled(node: Node, more: dict[str, str]) -> Node:
    made = deepcopy(node)
    made.metadata.labels = {**made.metadata.labels, **more}
    return made


def _left(node: Node, name: str) -> int:
    return node.status.allocatable[name].nano if name in node.status.allocatable else 0


def _cordons(dump: Dump) -> Iterator[Change]:
    for node in dump.nodes:
        if node.spec.unschedulable:

            def uncordon(nodes: list[Node], name: str = node.name) -> list[Node]:
                return [_open(one) if one.name == name else one for one in nodes]

            yield Change(f"uncordon node {node.name}", "cordon", PLATFORM, nodes=uncordon)


def _open(node: Node) -> Node:
    made = deepcopy(node)
    made.spec.unschedulable = False
    # The node lifecycle controller derives this taint from spec.unschedulable and removes it with the field.
    made.spec.taints = [taint for taint in made.spec.taints if taint.key != CORDON]
    return made


def _more_nodes(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Add a node of each kind: the same labels (except its name), taints and allocatable.

    The smallest one that helps is the answer; if the pod requests more than any node has, one of that size.
    """
    seen: set[str] = set()
    for node in sorted(dump.nodes, key=_size):
        # The hostname is a topology key: a copy of it would put both nodes into one domain.
        labels = {k: v for k, v in node.metadata.labels.items() if k != "kubernetes.io/hostname"}
        taints = [t for t in node.spec.taints if t.key != CORDON]
        kind = repr((sorted(labels.items()), taints, sorted((n, q.nano) for n, q in node.status.allocatable.items())))
        if kind in seen:
            continue
        seen.add(kind)

        def add(nodes: list[Node], like: Node = node) -> list[Node]:
            made = _open(like)
            made.metadata.name = f"{like.name}-more"
            made.metadata.labels = {**like.metadata.labels, "kubernetes.io/hostname": made.metadata.name}
            return [*nodes, made]

        yield Change(f"add a node like {node.name}", "node", PLATFORM, nodes=add, about="add a node")
    asked = pod_requests(pod, release=dump.release)
    largest = {name: max((_left(node, name) for node in dump.nodes), default=0) for name in asked}
    beyond = {name: amount for name, amount in asked.items() if amount.nano > largest[name] > 0}
    if beyond:
        like = max(dump.nodes, key=_size)

        def enlarge(nodes: list[Node]) -> list[Node]:
            made = _open(like)
            made.metadata.name = f"{like.name}-more"
            made.metadata.labels = {**like.metadata.labels, "kubernetes.io/hostname": made.metadata.name}
            made.status.allocatable = {**made.status.allocatable, **beyond}
            return [*nodes, made]

        listed = " and ".join(f"{amount} {name}" for name, amount in beyond.items())
        yield Change(f"add a node with {listed} left for pods", "node", PLATFORM, nodes=enlarge, about="add a node")


def _volumes(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Create a volume for a claim whose class has no provisioner, like the class' other volumes."""
    claims = {(one.namespace or "default", one.name): one for one in dump.of(PersistentVolumeClaim)}
    classes = {storage_class.name: storage_class for storage_class in dump.of(StorageClass)}
    for name in claim_names(pod):
        claim = claims.get((pod.namespace, name))
        if claim is None or claim.spec.volume_name:
            continue
        made = classes.get(claim.spec.storage_class_name or "")
        if made is None or made.provisioner != NO_PROVISIONER:
            continue
        for like in dump.of(PersistentVolume):
            if like.spec.storage_class_name != made.name:
                continue
            volume = deepcopy(like)
            volume.metadata.name, volume.metadata.uid = f"{like.name}-more", f"{like.name}-more"
            volume.spec.claim_ref, volume.status.phase = None, "Available"
            asked = claim.spec.resources.requests.get("storage")
            if asked is not None:
                volume.spec.capacity = {**volume.spec.capacity, "storage": asked}
            volume.spec.access_modes = claim.spec.access_modes or volume.spec.access_modes
            text = f"add a volume of class {made.name} like {like.name} for claim {name}"
            yield Change(text, "volume", PLATFORM, objects=(volume,), about=f"volume {name}")


def _nodes_at_volumes(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Add a node where the pod's bound volumes can be used, of an existing kind."""
    claims = {(one.namespace or "default", one.name): one for one in dump.of(PersistentVolumeClaim)}
    for name in claim_names(pod):
        claim = claims.get((pod.namespace, name))
        volume = dump.volumes.get(claim.spec.volume_name) if claim is not None else None
        affinity = volume.spec.node_affinity if volume is not None else None
        if affinity is None or affinity.required is None:
            continue
        for term in affinity.required.node_selector_terms:
            where = {
                expression.key: expression.values[0]
                for expression in term.match_expressions
                if expression.operator == "In" and expression.values
            }
            # A local volume belongs to one machine, so a new node cannot use it.
            if not where or "kubernetes.io/hostname" in where:
                continue
            for like in sorted(dump.nodes, key=_size)[:MOST_LABELLED]:

                def add(nodes: list[Node], like: Node = like, where: dict[str, str] = where) -> list[Node]:
                    made = _open(like)
                    made.metadata.name = f"{like.name}-more"
                    named = {"kubernetes.io/hostname": made.metadata.name}
                    made.metadata.labels = {**like.metadata.labels, **named, **where}
                    return [*nodes, made]

                shown = ", ".join(f"{key}={value}" for key, value in where.items())
                yield Change(
                    f"add a node like {like.name} with {shown}", "node", PLATFORM, nodes=add, about="add a node"
                )


def _size(node: Node) -> tuple[int, int, int]:
    return len(node.status.allocatable), _left(node, "cpu"), _left(node, "memory")

"""The pod's `resize` subresource: what may change, and whether its node could ever offer it.

Source: pkg/apis/core/validation ValidatePodResize; plugin/pkg/admission/podresize (PodResizeValidator, from 1.36 on).
"""

from __future__ import annotations

from kitlib.api.core import Container, Node, Pod
from kitlib.api.errors import Forbidden
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.api.validation import validate_pod_create
from kitlib.api.validation.fields import Errors, forbidden, invalid
from kitlib.kubelet.qos.qos_class import compute_pod_qos, is_restartable_init

MIRROR = "kubernetes.io/config.mirror"
OS = "kubernetes.io/os"


def validate_pod_resize(new: Pod, old: Pod) -> Errors:
    """Only CPU and memory of containers and sidecars may change; none may be removed, and the QoS class stays.

    Source: ValidatePodResize.
    """
    if MIRROR in old.metadata.annotations:
        return [forbidden("", "static pods cannot be resized")]
    if old.spec.os is not None and old.spec.os.name == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    errors = [error for error in validate_pod_create(deepcopy(new)) if "resources" in error.field]
    if compute_pod_qos(new) != compute_pod_qos(old):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid("spec", compute_pod_qos(new), detail))
    for name, mine, theirs in _pairs(new, old):
        for kind in ("requests", "limits"):
            changed, standing = getattr(mine.resources, kind), getattr(theirs.resources, kind)
            if any(resource not in changed for resource in standing):
                errors.append(forbidden(f"spec.{name}.resources.{kind}", f"resource {kind} cannot be removed"))
    alike = deepcopy(new)
    for _, mine, theirs in _pairs(alike, old):
        for kind in ("requests", "limits"):
            changed, standing = getattr(mine.resources, kind), getattr(theirs.resources, kind)
            others = {name for name in {*changed, *standing} if name not in ("cpu", "memory")}
            if all(changed.get(name) == standing.get(name) for name in others):
                setattr(mine.resources, kind, standing)
    if alike.spec != old.spec:
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def _pairs(new: Pod, old: Pod) -> list[tuple[str, Container, Container]]:
    """Of each container that may be resized its path, as it should be and as it is."""
    sidecars = zip(new.spec.init_containers, old.spec.init_containers, strict=False)
    found = [(f"initContainers[{i}]", a, b) for i, (a, b) in enumerate(sidecars) if is_restartable_init(b)]
    both = zip(new.spec.containers, old.spec.containers, strict=False)
    return found + [(f"containers[{i}]", a, b) for i, (a, b) in enumerate(both)]


def check_node(pod: Pod, node: Node | None, release: Release) -> None:
    """A bound pod's new requests must fit into all that its node offers, and the node must run Linux.

    Args:
        pod: with the new resources.
        node: on which it runs; None = there is none of that name.
        release: whose rules hold.

    Raises:
        Forbidden: where the resize could never be done.

    Source: podresize.Plugin.validatePodResize.
    """
    if not pod.spec.node_name or not release.enabled("KitPodResizeValidator"):
        return
    if node is None:
        raise Forbidden("pods", pod.name, f'node "{pod.spec.node_name}" not found')
    system = node.metadata.labels.get(OS, "linux")
    if system != "linux":
        why = f'pod resize is only supported on linux nodes, node "{node.name}" is "{system}"'
        raise Forbidden("pods", pod.name, why)
    requests, short = pod_requests(pod, release=release), []
    for name in ("cpu", "memory"):
        asked, most = requests.get(name), node.status.allocatable.get(name)
        milli = name == "cpu"
        wanted = (asked.milli_value() if milli else asked.value()) if asked is not None else 0
        offered = (most.milli_value() if milli else most.value()) if most is not None else 0
        if wanted > offered:
            short.append(f"{name}, requested: {wanted}, allocatable: {offered}")
    if short:
        raise Forbidden("pods", pod.name, f"node didn't have enough allocatable resources: {'; '.join(short)}")

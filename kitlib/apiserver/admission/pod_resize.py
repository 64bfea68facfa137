"""The pod's `resize` subresource: the fields that can change, and the checks against the pod's node.

Source: pkg/apis/core/validation ValidatePodResize; plugin/pkg/admission/podresize (PodResizeValidator, from 1.36 on).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.api.core import Container, Node, Pod, ResourceList, ResourceRequirements
from kitlib.api.errors import Forbidden, KitError
from kitlib.api.field_errors import Errors, forbidden, invalid
from kitlib.api.node_declared_features import missing, required_to_update
from kitlib.api.podresources import is_pod_level_resources_set, pod_requests
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.apiserver.validation import validate_pod_create
from kitlib.kubelet.qos.qos_class import compute_pod_qos, is_restartable_init

MIRROR = "kubernetes.io/config.mirror"
OS = "kubernetes.io/os"
_RESIZABLE = ("cpu", "memory")
_MUTABLE = "only cpu and memory resources are mutable"


def drop_non_resize_updates(new: Pod, old: Pod) -> Pod:
    """Return the stored pod with the new resources and resize policies.

    Unknown containers are kept for validation to report them. Source: registry/core/pod dropNonResizeUpdates.
    """
    made = deepcopy(old)
    made.metadata.resource_version = new.metadata.resource_version
    made.metadata.managed_fields = new.metadata.managed_fields
    made.spec.resources = new.spec.resources
    made.spec.containers = _merged(new.spec.containers, made.spec.containers)
    made.spec.init_containers = _merged(new.spec.init_containers, made.spec.init_containers)
    return made


def _merged(new: Sequence[Container], old: Sequence[Container]) -> list[Container]:
    standing = {one.name: one for one in old}
    made = []
    for container in new:
        kept = standing.get(container.name, container)
        kept.resources, kept.resize_policy = container.resources, container.resize_policy
        made.append(kept)
    return made


def validate_pod_resize(new: Pod, old: Pod, release: Release) -> Errors:
    """Return the errors of a resize: it changes only CPU and memory, removes none, and keeps the QoS class.

    Source: ValidatePodResize.
    """
    if MIRROR in old.metadata.annotations:
        return [forbidden("[]", "static pods cannot be resized")]
    if old.spec.os is not None and old.spec.os.name == "windows":
        return [forbidden("[]", "windows pods cannot be resized")]
    whole = is_pod_level_resources_set(new) or is_pod_level_resources_set(old)
    if whole and not release.enabled("InPlacePodLevelResourcesVerticalScaling"):
        return [forbidden("[]", "pods with pod-level resources cannot be resized")]
    errors = [error for error in validate_pod_create(deepcopy(new)) if "resources" in error.field]
    before = old.status.qos_class or compute_pod_qos(old, release)
    if compute_pod_qos(new, release) != before:
        errors.append(invalid("spec", before, "Pod QOS Class may not change as a result of resizing"))
    if not _supported(old):
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    # A copy in which the allowed changes are undone: what still differs from the old pod is forbidden.
    alike = deepcopy(new)
    if whole:
        errors += _pod_level(alike, old)
    others = _order(new, old)
    if others:
        return errors + others
    for name, mine, theirs in _pairs(new, old, release):
        for kind in ("requests", "limits"):
            if _removed(getattr(mine.resources, kind), getattr(theirs.resources, kind)):
                errors.append(forbidden(f"spec.{name}.resources.{kind}", f"resource {kind} cannot be removed"))
    errors += _others(alike, old, release)
    if not errors and alike.spec != old.spec:
        errors.append(forbidden("spec", _MUTABLE))
    return errors


def _supported(pod: Pod) -> bool:
    """Return whether the kubelet reports the resources of running containers. Source: isPodResizeRequestSupported."""
    return all(status.resources is not None for status in pod.status.container_statuses if "running" in status.state)


def _pod_level(alike: Pod, old: Pod) -> Errors:
    """Return the errors of the pod-level resources and restore the old CPU and memory of `alike` in place.

    Source: validatePodLevelResourcesResize.
    """
    mine, theirs = alike.spec.resources, old.spec.resources
    if mine is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")] if theirs is not None else []
    errors: Errors = []
    standing = theirs or ResourceRequirements()
    for kind in ("requests", "limits"):
        if _removed(getattr(mine, kind), getattr(standing, kind)):
            errors.append(forbidden(f"spec.resources.{kind}", f"pod-level resource {kind} cannot be removed"))
    _set_back(mine, standing)
    if theirs is None and mine == standing:
        alike.spec.resources = None
    if alike.spec.resources != theirs:
        errors.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))
    return errors


def _order(new: Pod, old: Pod) -> Errors:
    """Return the errors of added, removed or reordered containers. Source: validatePodResizeContainerOrdering."""
    errors: Errors = []
    for field in ("containers", "initContainers"):
        attribute = "containers" if field == "containers" else "init_containers"
        mine, theirs = ([one.name for one in getattr(pod.spec, attribute)] for pod in (new, old))
        if len(mine) != len(theirs):
            errors.append(forbidden(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        for i, (name, before) in enumerate(zip(mine, theirs, strict=True)):
            if name != before:
                errors.append(
                    forbidden(f"spec.{field}[{i}].name", f"{field} may not be renamed or reordered on resize")
                )
    return errors


def _others(alike: Pod, old: Pod, release: Release) -> Errors:
    """Return the errors of changes other than CPU and memory, which are restored in place.

    Source: dropCPUMemoryUpdates.
    """
    errors: Errors = []
    for mine, theirs in zip(alike.spec.containers, old.spec.containers, strict=True):
        _set_back(mine.resources, theirs.resources)
        if mine != theirs:
            errors.append(forbidden("spec", _MUTABLE))
    for i, (mine, theirs) in enumerate(zip(alike.spec.init_containers, old.spec.init_containers, strict=True)):
        changed, sidecar = mine != theirs, is_restartable_init(theirs)
        if not sidecar and not release.enabled("InPlacePodVerticalScalingInitContainers"):
            if changed:
                errors.append(forbidden("spec", "resources for non-sidecar init containers are immutable"))
            continue
        _set_back(mine.resources, theirs.resources)
        place = f"spec.initContainers[{i}]"
        if mine != theirs:
            detail = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.append(forbidden(place, detail))
        if (
            changed
            and not sidecar
            and any(policy.restart_policy == "RestartContainer" for policy in mine.resize_policy)
        ):
            detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            errors.append(forbidden(place, detail))
    return errors


def _set_back(mine: ResourceRequirements, theirs: ResourceRequirements) -> None:
    """Restore the old amounts of CPU and memory, in place. Source: dropCPUMemoryUpdates."""
    for kind in ("requests", "limits"):
        changed, standing = getattr(mine, kind), getattr(theirs, kind)
        kept = {name: amount for name, amount in changed.items() if name not in _RESIZABLE}
        setattr(mine, kind, kept | {name: standing[name] for name in _RESIZABLE if name in standing})


def _removed(new: ResourceList, old: ResourceList) -> bool:
    return any(name not in new for name in old)


def _pairs(new: Pod, old: Pod, release: Release) -> list[tuple[str, Container, Container]]:
    """Return path, new and old container of each container that can be resized."""
    every = release.enabled("InPlacePodVerticalScalingInitContainers")
    inits = zip(new.spec.init_containers, old.spec.init_containers, strict=True)
    found = [(f"initContainers[{i}]", a, b) for i, (a, b) in enumerate(inits) if every or is_restartable_init(b)]
    both = zip(new.spec.containers, old.spec.containers, strict=True)
    return found + [(f"containers[{i}]", a, b) for i, (a, b) in enumerate(both)]


def check_features(new: Pod, old: Pod, node: Node | None, release: Release) -> None:
    """Check that the node of a bound pod declares the features that an update needs.

    Args:
        new: the pod after the update.
        old: the pod before the update.
        node: the pod's node; None = no node has that name.
        release: the release with the rules.

    Raises:
        Forbidden: the node is missing, or lacks a feature that the update needs.

    Source: plugin/pkg/admission/nodedeclaredfeatures Plugin.validatePodUpdate.
    """
    required = required_to_update(new.spec, old.spec, release) if new.spec.node_name else []
    if not required:
        return
    if node is None:
        raise Forbidden("pods", new.name, f'node "{new.spec.node_name}" not found')
    lacking = missing(required, node.status.declared_features, release)
    if lacking:
        why = f'pod update requires features {", ".join(lacking)} which are not available on node "{node.name}"'
        raise Forbidden("pods", new.name, why)


def check_node(pod: Pod, node: Node | None, release: Release) -> None:
    """Check that a bound pod's new requests fit into its node's allocatable resources, and that the node runs Linux.

    Args:
        pod: the pod with the new resources.
        node: the pod's node; None = no node has that name.
        release: the release with the rules.

    Raises:
        Forbidden: the resize can never be done.

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


class NodeDeclaredFeatureValidatorPlugin(AdmissionPlugin):
    """A plugin that checks the features that updates and resizes of pods need."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        pod, old = about.new, about.old
        if isinstance(pod, Pod) and isinstance(old, Pod) and pod.spec != old.spec:
            check_features(pod, old, around.store.find(Node, pod.spec.node_name), around.release)


class PodResizeValidatorPlugin(AdmissionPlugin):
    """A plugin that checks resizes of pods against the node."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        pod, old = about.new, about.old
        if isinstance(pod, Pod) and isinstance(old, Pod) and pod.spec != old.spec:
            check_node(pod, around.store.find(Node, pod.spec.node_name), around.release)


def resize_patch(pod: Pod, containers: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
    """Return the resources of containers as a patch of their pod.

    The patch lists containers in the pod's order, because a resize may not reorder them.

    Raises:
        KitError: the pod has no such container.
    """
    lists = {
        field: [c.name for c in some]
        for field, some in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
    }
    known = [name for names in lists.values() for name in names]
    for container in containers:
        if container not in known:
            valid = ", ".join(sorted(known))
            raise KitError(f'pods "{pod.name}": container {container!r} not found; valid values: {valid}')
    patch = {
        field: [
            {"name": name, "resources": {kind: dict(amounts) for kind, amounts in containers[name].items()}}
            for name in names
            if name in containers
        ]
        for field, names in lists.items()
    }
    return {"spec": {field: items for field, items in patch.items() if items}}

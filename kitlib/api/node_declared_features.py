"""Features that a node declares in `status.declaredFeatures` and that some pods and pod updates need.

A node that is older than the control plane may lack support for a new field of a pod. The kubelet lists the features
that its release knows and its gates enable; the scheduler, the API server and the kubelet compare the list with the
pod's requirements. The table of releases has the features of each release (`nodeDeclaredFeatures`).

Source: component-helpers nodedeclaredfeatures (framework.go, featureset.go, features/*); KEP-5328.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from kitlib.api.core import PodSpec
from kitlib.api.release import Release

NEEDS_RUNTIME = {"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"}
"""The features that also need the container runtime's support. Source: FeatureRequirements.RequiredRuntimeFeatures."""


def known(release: Release) -> tuple[str, ...]:
    """Return the features that the release knows, sorted by name; () without the gate NodeDeclaredFeatures."""
    names = release.default("nodeDeclaredFeatures") if release.enabled("NodeDeclaredFeatures") else None
    return names if isinstance(names, tuple) else ()


def discover(release: Release, runtime: Collection[str] = ()) -> list[str]:
    """Return the features that a kubelet declares.

    Args:
        release: the kubelet's release, with its feature gates.
        runtime: the features of `NEEDS_RUNTIME` that the container runtime supports.

    Source: Framework.DiscoverNodeFeatures.
    """
    return [name for name in known(release) if release.enabled(name) and (name not in NEEDS_RUNTIME or name in runtime)]


def required_to_schedule(spec: PodSpec, release: Release) -> list[str]:
    """Return the features that a node needs to run a pod. Source: Framework.InferForPodScheduling."""
    return [name for name in known(release) if name in _SCHEDULING and _SCHEDULING[name](spec)]


def required_to_update(new: PodSpec, old: PodSpec, release: Release) -> list[str]:
    """Return the features that a node needs for an update of a pod. Source: Framework.InferForPodUpdate."""
    return [name for name in known(release) if name in _UPDATING and _UPDATING[name](new, old)]


def mapped(declared: Sequence[str], release: Release) -> frozenset[str]:
    """Return the known features in a node's list.

    Both lists are merged in order, so a name behind a larger one is not found. The kubelet writes sorted lists.

    Source: FeatureMapper.mapSorted.
    """
    found = set()
    names = known(release)
    i = j = 0
    while i < len(declared) and j < len(names):
        if declared[i] == names[j]:
            found.add(names[j])
        i, j = i + (declared[i] <= names[j]), j + (declared[i] >= names[j])
    return frozenset(found)


def missing(required: Iterable[str], declared: Sequence[str], release: Release) -> list[str]:
    """Return the required features that a node does not declare, sorted. Source: Framework.MatchNode."""
    there = mapped(declared, release)
    return [name for name in required if name not in there]


def _restarts_all(spec: PodSpec) -> bool:
    """Source: restartAllContainersFeature.InferForScheduling."""
    return any(
        rule.action == "RestartAllContainers"
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    )


def _users_on_host_network(spec: PodSpec) -> bool:
    """Source: userNamespacesHostNetworkFeature.InferForScheduling."""
    return bool(spec.host_network) and spec.host_users is False


def _init_resized(new: PodSpec, old: PodSpec) -> bool:
    """Source: nonSidecarInitContainerResizeFeature.InferForUpdate."""
    return any(
        before.restart_policy != "Always" and before.resources != after.resources
        for before, after in zip(old.init_containers, new.init_containers, strict=False)
    )


def _memory_volume_resized(new: PodSpec, old: PodSpec) -> bool:
    """Source: memoryBackedVolumesResizeFeature.InferForUpdate."""
    if len(new.volumes) != len(old.volumes):
        return False
    for before, after in zip(old.volumes, new.volumes, strict=True):
        if before.name != after.name or after.empty_dir is None or before.empty_dir is None:
            continue
        limits = before.empty_dir.size_limit, after.empty_dir.size_limit
        if after.empty_dir.medium == "Memory" and None not in limits and limits[0] != limits[1]:
            return True
    return False


_SCHEDULING: dict[str, Callable[[PodSpec], bool]] = {
    "RestartAllContainersOnContainerExits": _restarts_all,
    "UserNamespacesHostNetworkSupport": _users_on_host_network,
}
_UPDATING: dict[str, Callable[[PodSpec, PodSpec], bool]] = {
    "InPlacePodLevelResourcesVerticalScaling": lambda new, old: new.resources != old.resources,
    "InPlacePodVerticalScalingInitContainers": _init_resized,
    "InPlacePodVerticalScalingMemoryBackedVolumes": _memory_volume_resized,
}

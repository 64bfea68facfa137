"""The desired cgroup tree: every cgroup of a node with its pods, every file, every value, and its reason.

The tree has four levels: the node's own cgroups ("kubepods" and those of reserved resources), the QoS cgroups, one
cgroup a pod, and one a container (written by the runtime). The tree depends on its arguments only, so it can be shown
before anything runs, and compared with a node's files afterwards. `cgroup_levels` computes the levels; `assemble` joins
them to a tree, for a prediction and for a running kubelet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.kubelet.cm.assigned import NOTHING_ASSIGNED, Assignments
from kitlib.kubelet.cm.cgroup_files import with_defaults
from kitlib.kubelet.cm.cgroup_levels import Desired, container_id, running_containers
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.qos.qos_class import QOS_CLASSES


def desired_tree(
    node: NodeConfig,
    pods: Iterable[Pod] = (),
    *,
    version: Version = 2,
    driver: Driver | None = None,
    assigned: Assignments | None = None,
    ids: Callable[[str, str], str] = container_id,
) -> CgroupTree:
    """Return every cgroup that the kubelet and its runtime make for these pods, parents before children.

    Args:
        node: the node's configuration.
        pods: the pods bound to the node, with API defaults; those in a terminal phase are ignored.
        version: cgroup version, 1 or 2.
        driver: the cgroup driver; None = that of the settings.
        assigned: the resource managers' assignments to containers.
        ids: (pod UID, container name; "" = the pause container) -> the container's id.

    Returns:
        The tree; every file has its reason.
    """
    active = [pod for pod in pods if pod.status.phase not in TERMINAL_PHASES]
    levels = Desired(node, version, driver)
    given, of_pods = assigned or {}, []
    for pod in active:
        uid = pod.metadata.uid
        cgroups = [*levels.pod_level(pod, assigned), levels.sandbox_level(pod, ids(uid, ""))]
        for container in running_containers(pod):
            known = given.get((uid, container.name), NOTHING_ASSIGNED)
            cgroups.append(levels.container_level(pod, container, ids(uid, container.name), known))
        of_pods.append(cgroups)
    return assemble(levels, levels.qos_level(active), of_pods)


def assemble(levels: Desired, qos_level: Iterable[Cgroup], of_pods: Iterable[list[Cgroup]]) -> CgroupTree:
    """Join the levels to one tree: the node's, the QoS cgroups, the pods by class, each parent before its children.

    Args:
        levels: the source of the root and of the node level.
        qos_level: the result of `Desired.qos_level` for the pods.
        of_pods: for each pod its own cgroup and those in it; empty lists are skipped.
    """
    cgroups = {cgroup.path: cgroup for cgroup in (levels.root(), *levels.node_level(), *qos_level)}
    by_class: dict[str, list[Cgroup]] = {qos: [] for qos in QOS_CLASSES}
    for some in of_pods:
        if some:
            by_class[some[0].qos] += some
    made = list(cgroups.values())
    for some in by_class.values():
        for cgroup in some:
            made.append(cgroup)
            if cgroup.inner is not None:
                made.append(cgroup.inner)
    return CgroupTree(levels.version, levels.driver, with_parents(made, levels.version))


def with_parents(cgroups: list[Cgroup], version: Version) -> list[Cgroup]:
    """Add the directories above the cgroups that the system made, such as `system.slice`; parents before children."""
    known = {cgroup.path for cgroup in cgroups}
    made: list[Cgroup] = []
    for cgroup in cgroups:
        missing = []
        parent = cgroup.parent
        while parent and parent not in known:
            missing.append(parent)
            known.add(parent)
            parent = parent.rpartition("/")[0]
        for path in reversed(missing):
            made.append(Cgroup(path, "system", "made by the system", files=with_defaults([], version)))
        made.append(cgroup)
    return made

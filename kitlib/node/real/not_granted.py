"""The settings of a manifest that pods of a kit node do not get, as one sentence each for an event.

A node shares its machine: pods have no capabilities, no privileges, no namespaces of the host, and the runtime's
default list of system calls. A request for more is not rejected, since the pod can work without it; an event reports
it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.api.core import Container, Pod

_NOT = "is not granted on this node"


def of_pod(pod: Pod) -> Iterator[str]:
    """Yield a sentence for each pod-level setting that is not granted."""
    spec, context = pod.spec, pod.spec.security_context
    for asked, name in (
        (spec.host_pid, "hostPID"),
        (spec.host_ipc, "hostIPC"),
    ):
        if asked:
            yield f"spec.{name}: true {_NOT}: a pod has namespaces of its own"
    if spec.host_users is False:
        yield f"spec.hostUsers: false {_NOT}: a pod has no user namespace of its own"
    if context is None:
        return
    if context.sysctls:
        names = ", ".join(sysctl.name for sysctl in context.sysctls[:5])
        yield f"spec.securityContext.sysctls ({names}) {_NOT}: /proc/sys is read-only"
    for value, name in ((context.fs_group, "fsGroup"), (context.supplemental_groups, "supplementalGroups")):
        if value:
            yield f"spec.securityContext.{name} {_NOT}: a process has its own group alone"


def of_container(container: Container, place: str) -> Iterator[str]:
    """Yield a sentence for each setting of a container that is not granted.

    Args:
        container: the container.
        place: path of the container in the manifest, `spec.containers[0]`.
    """
    context = container.security_context
    if context is None:
        return
    where = f"{place}.securityContext"
    if context.privileged:
        yield f"{where}.privileged: true {_NOT}: no pod has more than its user may do"
    added = context.capabilities.add if context.capabilities is not None else []
    if added:
        yield f"{where}.capabilities.add ({', '.join(added[:5])}) {_NOT}: processes have no capabilities"
    if context.proc_mount not in (None, "", "Default"):
        yield f"{where}.procMount: {context.proc_mount} {_NOT}: the usual paths of /proc are masked"
    if context.seccomp_profile is not None and context.seccomp_profile.type not in ("", "RuntimeDefault"):
        yield f"{where}.seccompProfile: {context.seccomp_profile.type} {_NOT}: the runtime's default list holds"
    if context.read_only_root_filesystem is False:
        yield f"{where}.readOnlyRootFilesystem: false {_NOT}: the root is read-only, /tmp can be written"


def sentences(pod: Pod, container: Container) -> list[str]:
    """Return all sentences about a container; those of its pod are included with the first container only."""
    spec = pod.spec
    kinds = (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    )
    place = next(
        (f"spec.{kind}[{i}]" for kind, listed in kinds for i, one in enumerate(listed) if one.name == container.name),
        f"container {container.name}",
    )
    first = (pod.spec.init_containers or pod.spec.containers)[0].name == container.name
    return [*(of_pod(pod) if first else ()), *of_container(container, place)]

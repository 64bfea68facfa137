"""Validation of a pod's operating system, and of the fields that the other one does not support.

Source: pkg/apis/core/validation validateOS, validateLinux, validateWindows.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.api.core import Container, PodSecurityContext, PodSpec
from kitlib.api.field_errors import Errors, forbidden, not_supported, required

SYSTEMS = ("linux", "windows")
_OF_LINUX_CONTAINERS = (
    ("appArmorProfile", "app_armor_profile"),
    ("seLinuxOptions", "se_linux_options"),
    ("seccompProfile", "seccomp_profile"),
    ("capabilities", "capabilities"),
    ("readOnlyRootFilesystem", "read_only_root_filesystem"),
    ("privileged", "privileged"),
    ("allowPrivilegeEscalation", "allow_privilege_escalation"),
    ("procMount", "proc_mount"),
    ("runAsUser", "run_as_user"),
    ("runAsGroup", "run_as_group"),
)
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"


def validate_os(spec: PodSpec, field: str) -> Errors:
    """Check the operating system and the fields it excludes. Source: validateOS, validateLinux, validateWindows."""
    if spec.os is None:
        return []
    if not spec.os.name:
        return [required(f"{field}.os.name", "cannot be empty")]
    if spec.os.name not in SYSTEMS:
        return [not_supported(f"{field}.os", spec.os.name, SYSTEMS)]
    return _linux(spec, field) if spec.os.name == "linux" else _windows(spec, field)


def containers_with_paths(spec: PodSpec, field: str) -> Iterator[tuple[Container, str]]:
    """Yield every container and its path. Source: podshelper.VisitContainersWithPath."""
    for which, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for i, container in enumerate(containers):
            yield container, f"{field}.{which}[{i}]"


def _linux(spec: PodSpec, field: str) -> Errors:
    found: Errors = []
    if spec.security_context is not None and spec.security_context.windows_options is not None:
        found.append(forbidden(f"{field}.securityContext.windowsOptions", _NOT_ON_LINUX))
    for container, place in containers_with_paths(spec, field):
        if container.security_context is not None and container.security_context.windows_options is not None:
            found.append(forbidden(f"{place}.securityContext.windowsOptions", _NOT_ON_LINUX))
    return found


def _windows(spec: PodSpec, field: str) -> Errors:
    found: Errors = []
    context = spec.security_context if spec.security_context is not None else PodSecurityContext()
    for name, value in (
        ("securityContext.appArmorProfile", context.app_armor_profile is not None),
        ("securityContext.seLinuxOptions", context.se_linux_options is not None),
        ("hostUsers", spec.host_users is not None),
        ("hostPID", spec.host_pid),
        ("hostIPC", spec.host_ipc),
        ("securityContext.seccompProfile", context.seccomp_profile is not None),
        ("securityContext.fsGroup", context.fs_group is not None),
        ("securityContext.fsGroupChangePolicy", context.fs_group_change_policy is not None),
        ("securityContext.sysctls", context.sysctls),
        ("shareProcessNamespace", spec.share_process_namespace is not None),
        ("securityContext.runAsUser", context.run_as_user is not None),
        ("securityContext.runAsGroup", context.run_as_group is not None),
        ("securityContext.supplementalGroups", context.supplemental_groups),
        ("securityContext.supplementalGroupsPolicy", context.supplemental_groups_policy is not None),
        ("securityContext.seLinuxChangePolicy", context.se_linux_change_policy is not None),
    ):
        if value:
            found.append(forbidden(f"{field}.{name}", _NOT_ON_WINDOWS))
    for container, place in containers_with_paths(spec, field):
        for name, attribute in _OF_LINUX_CONTAINERS if container.security_context is not None else ():
            if getattr(container.security_context, attribute) is not None:
                found.append(forbidden(f"{place}.securityContext.{name}", _NOT_ON_WINDOWS))
    return found

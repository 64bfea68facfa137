"""Validation of the security contexts of containers and pods.

Source: pkg/apis/core/validation ValidateSecurityContext, validatePodSpecSecurityContext, validateSysctls,
validateSeccompProfileField, ValidateAppArmorProfileField, validateWindowsSecurityContextOptions.
"""

from __future__ import annotations

import re

from kitlib.api.container import (
    AppArmorProfile,
    SeccompProfile,
    SecurityContext,
    WindowsSecurityContextOptions,
)
from kitlib.api.core import PodSpec
from kitlib.api.field_errors import (
    Errors,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long_value,
)
from kitlib.api.names import is_dns1123_subdomain, is_valid_user_id
from kitlib.apiserver.validation.paths import validate_local_descending_path

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
PROC_MOUNTS = ("Default", "Unmasked")
FS_GROUP_CHANGE_POLICIES = ("Always", "OnRootMismatch")
SUPPLEMENTAL_GROUPS_POLICIES = ("Merge", "Strict")
SELINUX_CHANGE_POLICIES = ("MountOption", "Recursive")
_SYSCTL = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_MAX_SYSCTL = 253
_MAX_PATH = 4095
_MAX_GMSA_KIB = 64
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_DOMAIN = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)


def validate_security_context(context: SecurityContext | None, field: str, *, host_users: bool) -> Errors:
    """Source: ValidateSecurityContext."""
    if context is None:
        return []
    found: Errors = []
    for name, number in (("runAsUser", context.run_as_user), ("runAsGroup", context.run_as_group)):
        if number is not None:
            found += each(f"{field}.{name}", number, is_valid_user_id(number))
    if context.proc_mount is not None:
        if context.proc_mount not in PROC_MOUNTS:
            found.append(not_supported(f"{field}.procMount", context.proc_mount, PROC_MOUNTS))
        if host_users and context.proc_mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            found.append(invalid(f"{field}.procMount", context.proc_mount, detail))
    found += validate_seccomp_profile_field(context.seccomp_profile, f"{field}.seccompProfile")
    if context.allow_privilege_escalation is False:
        if context.privileged:
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.append(invalid(field, context, detail))
        if context.capabilities is not None:
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found += [invalid(field, context, detail) for name in context.capabilities.add if name == "CAP_SYS_ADMIN"]
    found += validate_windows_security_context_options(context.windows_options, f"{field}.windowsOptions")
    return found + validate_app_armor_profile_field(context.app_armor_profile, f"{field}.appArmorProfile")


def validate_pod_spec_security_context(spec: PodSpec, field: str) -> Errors:
    """Source: validatePodSpecSecurityContext."""
    context = spec.security_context
    if context is None:
        return []
    found: Errors = []
    for name, number in (
        ("fsGroup", context.fs_group),
        ("runAsUser", context.run_as_user),
        ("runAsGroup", context.run_as_group),
    ):
        if number is not None:
            found += each(f"{field}.{name}", number, is_valid_user_id(number))
    for i, number in enumerate(context.supplemental_groups):
        found += each(f"{field}.supplementalGroups[{i}]", number, is_valid_user_id(number))
    if spec.share_process_namespace and spec.host_pid:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{field}.shareProcessNamespace", True, detail))
    found += validate_sysctls(spec, f"{field}.sysctls")
    found += _optional(context.fs_group_change_policy, f"{field}.fsGroupChangePolicy", FS_GROUP_CHANGE_POLICIES)
    found += validate_seccomp_profile_field(context.seccomp_profile, f"{field}.seccompProfile")
    found += validate_windows_security_context_options(context.windows_options, f"{field}.windowsOptions")
    found += validate_app_armor_profile_field(context.app_armor_profile, f"{field}.appArmorProfile")
    policy = context.supplemental_groups_policy
    found += _optional(policy, f"{field}.supplementalGroupsPolicy", SUPPLEMENTAL_GROUPS_POLICIES)
    return found + _optional(context.se_linux_change_policy, f"{field}.seLinuxChangePolicy", SELINUX_CHANGE_POLICIES)


def _optional(value: str | None, field: str, supported: tuple[str, ...]) -> Errors:
    return [] if value is None or value in supported else [not_supported(field, value, supported)]


def validate_sysctls(spec: PodSpec, field: str) -> Errors:
    """Source: validateSysctls, ValidateHostSysctl."""
    found: Errors = []
    names: set[str] = set()
    assert spec.security_context is not None
    for i, sysctl in enumerate(spec.security_context.sysctls):
        place = f"{field}[{i}].name"
        name = sysctl.name
        if not name:
            found.append(required(place))
        elif len(name) > _MAX_SYSCTL or not re.fullmatch(_SYSCTL, name):
            found.append(
                invalid(place, name, f"must have at most {_MAX_SYSCTL} characters and match regex ^{_SYSCTL}$")
            )
        elif name in names:
            found.append(duplicate(place, name))
        names.add(name)
        namespace = _sysctl_namespace(name)
        if spec.host_network and namespace == "net":
            found.append(invalid(place, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.host_ipc and namespace == "ipc":
            found.append(invalid(place, name, "may not be specified when 'hostIPC' is true"))
    return found


def _sysctl_namespace(name: str) -> str:
    """Source: component-helpers sysctl GetNamespace."""
    dotted = name.replace("/", ".")
    if dotted.startswith("net."):
        return "net"
    ipc = dotted.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")) or dotted == "kernel.sem"
    return "ipc" if ipc else ""


def validate_seccomp_profile_field(profile: SeccompProfile | None, field: str) -> Errors:
    """Source: validateSeccompProfileField."""
    if profile is None:
        return []
    found: Errors = []
    if not profile.type:
        found.append(required(f"{field}.type", "type is required when seccompProfile is set"))
    elif profile.type not in PROFILE_TYPES:
        found.append(not_supported(f"{field}.type", profile.type, PROFILE_TYPES))
    place = f"{field}.localhostProfile"
    if profile.type == "Localhost":
        if profile.localhost_profile is None:
            found.append(required(place, "must be set when seccomp type is Localhost"))
        else:
            found += validate_local_descending_path(profile.localhost_profile, place)
    elif profile.localhost_profile is not None:
        found.append(invalid(place, profile, "can only be set when seccomp type is Localhost"))
    return found


def validate_app_armor_profile_field(profile: AppArmorProfile | None, field: str) -> Errors:
    """Source: ValidateAppArmorProfileField."""
    if profile is None:
        return []
    found: Errors = []
    place, name = f"{field}.localhostProfile", profile.localhost_profile
    if profile.type == "Localhost":
        if name is None or name == "":
            found.append(required(place, "must be set when AppArmor type is Localhost"))
        elif name != name.strip():
            found.append(invalid(place, name, "must not be padded with whitespace"))
        if name is not None and len(name.encode()) > _MAX_PATH:
            found.append(too_long_value(place, _MAX_PATH))
    elif profile.type in PROFILE_TYPES:
        if name is not None:
            found.append(invalid(place, name, "can only be set when AppArmor type is Localhost"))
    elif not profile.type:
        found.append(required(f"{field}.type", "type is required when appArmorProfile is set"))
    else:
        found.append(not_supported(f"{field}.type", profile.type, PROFILE_TYPES))
    return found


def validate_windows_security_context_options(options: WindowsSecurityContextOptions | None, field: str) -> Errors:
    """Source: validateWindowsSecurityContextOptions."""
    if options is None:
        return []
    found: Errors = []
    if options.gmsa_credential_spec_name is not None:
        name = options.gmsa_credential_spec_name
        found += each(f"{field}.gmsaCredentialSpecName", name, is_dns1123_subdomain(name))
    if options.gmsa_credential_spec is not None:
        text, place = options.gmsa_credential_spec, f"{field}.gmsaCredentialSpec"
        if not text:
            found.append(invalid(place, text, "gmsaCredentialSpec cannot be an empty string"))
        elif len(text.encode()) > _MAX_GMSA_KIB * 1024:
            found.append(invalid(place, text, f"gmsaCredentialSpec size must be under {_MAX_GMSA_KIB} KiB"))
    if options.run_as_user_name is not None:
        name = options.run_as_user_name
        found += [invalid(f"{field}.runAsUserName", name, f"runAsUserName{text}") for text in _user_name_problems(name)]
    return found


def _user_name_problems(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if re.search(r"[\x00-\x1f\x7f]", name):
        return [" cannot contain control characters"]
    parts = name.split("\\")
    if len(parts) > 2:
        return [" cannot contain more than one backslash"]
    found: list[str] = []
    user = parts[-1]
    if len(parts) == 2:
        if len(parts[0].encode()) >= 256:
            found.append("'s Domain length must be under 256 characters")
        if not (_NETBIOS.fullmatch(parts[0]) or _DNS_DOMAIN.fullmatch(parts[0])):
            found.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("'s User cannot be empty")
    elif len(user.encode()) > 104:
        found.append("'s User length must not be longer than 104 characters")
    if re.fullmatch(r"[. ]+", user):
        found.append("'s User cannot contain only periods or spaces")
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        found.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def validate_windows_host_process_pod(spec: PodSpec, field: str) -> Errors:
    """Check that all containers are HostProcess containers, or none. Source: validateWindowsHostProcessPod."""
    found: Errors = []
    options = spec.security_context.windows_options if spec.security_context is not None else None
    of_pod = options.host_process if options is not None else None
    total = host = 0
    for which, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for i, container in enumerate(containers):
            total += 1
            context = container.security_context
            own = context.windows_options.host_process if context and context.windows_options else None
            if of_pod is not None and own is not None and of_pod != own:
                detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
                place = f"{field}.{which}[{i}].securityContext.windowsOptions.hostProcess"
                found.append(invalid(place, own, detail))
            host += bool(of_pod if own is None else own)
    if host and host != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        found.append(invalid(field, "", detail))
    if host and not spec.host_network:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid(f"{field}.hostNetwork", False, detail))
    return found


def validate_host_users(spec: PodSpec, field: str) -> Errors:
    """Check that a pod with a user namespace does not use the host's other namespaces. Source: validateHostUsers."""
    if spec.host_users is not False:
        return []
    detail = "when `pod.Spec.HostUsers` is false"
    return [
        forbidden(f"{field}.{name}", detail)
        for name, on in (("hostNetwork", spec.host_network), ("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc))
        if on
    ]

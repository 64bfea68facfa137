"""The checks of the level `baseline`, which prevent known privilege escalations.

Each check receives a pod's metadata and spec, and returns one Violation or None. In the checks `own` is the value in
the pod's securityContext and `of` holds the values of its containers. Messages are upstream's, letter by letter: lists
that upstream collects in Go sets are sorted as strings, the other lists keep the order of the containers.

Source: pod-security-admission policy check_*.go whose level is LevelBaseline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kitlib.api.container import Container, LifecycleHandler, Probe, SELinuxOptions
from kitlib.api.core import PodSpec
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.admission.podsecurity.violations import (
    Check,
    Violation,
    containers,
    in_user_namespace,
    named,
    names,
    plural,
    quoted,
    setters,
    uses,
)
from kitlib.apiserver.validation.pod_annotations import APPARMOR_PREFIX, SECCOMP_POD, SECCOMP_PREFIX

PROFILES = ("RuntimeDefault", "Localhost")
"""The allowed types of AppArmor and of seccomp profiles."""
CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
SYSCTLS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    )
)
_SYSCTLS_27 = SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    f"net.ipv4.tcp_{name}" for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def app_armor_profile(meta: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: appArmorProfileV1Dot0."""
    own = spec.security_context.app_armor_profile if spec.security_context is not None else None
    pod = own is not None and own.type not in PROFILES
    values = {own.type} if own is not None and pod else set()  # `pod` implies `own`; the type checker needs both
    bad: list[str] = []
    for container in containers(spec):
        profile = container.security_context.app_armor_profile if container.security_context is not None else None
        if profile is not None and profile.type not in PROFILES:
            bad.append(container.name)
            values.add(profile.type)
    # The key prefix alone decides: an annotation for a container that does not exist is forbidden as well.
    # json.dumps prints like Go's %q, except for control characters, which Go writes as \x01.
    annotations = sorted(
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in meta.annotations.items()
        if key.startswith(APPARMOR_PREFIX)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    shown = [*sorted(values), *annotations]
    if not shown:
        return None
    who = [setters(pod, bad)] if pod or bad else []
    who += [plural("annotation", len(annotations))] if annotations else []
    detail = f"{' and '.join(who)} must not set AppArmor profile type to {quoted(shown)}"
    return Violation(plural("forbidden AppArmor profile", len(shown)), detail)


def added(container: Container) -> list[str]:
    """Return the capabilities that a container adds."""
    context = container.security_context
    return context.capabilities.add if context is not None and context.capabilities is not None else []


def capabilities_baseline(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: capabilitiesBaselineV1Dot0."""
    bad = names(spec, lambda container: set(added(container)) - CAPABILITIES)
    if not bad:
        return None
    others = sorted({name for container in containers(spec) for name in added(container)} - CAPABILITIES)
    detail = f"{named(bad)} must not include {quoted(others)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: hostNamespacesV1Dot0."""
    ways = {"hostNetwork": spec.host_network, "hostPID": spec.host_pid, "hostIPC": spec.host_ipc}
    used = [f"{name}=true" for name, value in ways.items() if value]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: hostPathVolumesV1Dot0."""
    bad = [volume.name for volume in spec.volumes if volume.host_path is not None]
    return Violation("hostPath volumes", f"{plural('volume', len(bad))} {quoted(bad)}") if bad else None


def host_ports(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: hostPortsV1Dot0."""
    bad = names(spec, lambda container: any(port.host_port for port in container.ports))
    if not bad:
        return None
    # Sorted as strings, so 443 precedes 80: upstream collects the ports in a sets.String.
    ports = sorted(
        {str(port.host_port) for container in containers(spec) for port in container.ports if port.host_port}
    )
    return Violation("hostPort", f"{named(bad)} {uses(len(bad))} {plural('hostPort', len(ports))} {', '.join(ports)}")


def host_probes_and_host_lifecycle(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: hostProbesAndHostLifecycleV1Dot34."""
    # The only check of this level that sorts its containers: upstream collects their names in a set, too.
    bad = sorted(set(names(spec, lambda container: any(_hosts(container)))))
    if not bad:
        return None
    hosts = sorted({host for container in containers(spec) for host in _hosts(container)})
    word = plural("probe or lifecycle host", len(hosts))
    return Violation("probe or lifecycle host", f"{named(bad)} {uses(len(bad))} {word} {quoted(hosts)}")


def _hosts(container: Container) -> Iterator[str]:
    handlers: list[Probe | LifecycleHandler | None] = [
        container.liveness_probe,
        container.readiness_probe,
        container.startup_probe,
    ]
    if container.lifecycle is not None:
        handlers += [container.lifecycle.post_start, container.lifecycle.pre_stop]
    for handler in handlers:
        if handler is not None:
            for way in (handler.http_get, handler.tcp_socket):
                if way is not None and way.host:
                    yield way.host


def privileged(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: privilegedV1Dot0."""
    bad = names(
        spec, lambda container: container.security_context is not None and container.security_context.privileged
    )
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: procMountV1Dot0."""

    def other(container: Container) -> str | None:
        mount = container.security_context.proc_mount if container.security_context is not None else None
        return None if mount == "Default" else mount

    bad = names(spec, lambda container: other(container) is not None)
    if not bad:
        return None
    types = sorted({mount for container in containers(spec) if (mount := other(container)) is not None})
    return Violation("procMount", f"{named(bad)} must not set securityContext.procMount to {quoted(types)}")


def proc_mount_35(meta: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Check procMount; with `hostUsers: false` every value is allowed. Source: procMountV1Dot35Baseline."""
    return None if in_user_namespace(spec) else proc_mount(meta, spec)


def _selinux(types: frozenset[str]) -> Check:
    def check(_: ObjectMeta, spec: PodSpec) -> Violation | None:
        """Source: seLinuxOptionsV1Dot0, seLinuxOptionsV1Dot31."""

        def wrong(options: SELinuxOptions | None) -> bool:
            return options is not None and (options.type not in types or bool(options.user) or bool(options.role))

        own = spec.security_context.se_linux_options if spec.security_context is not None else None
        # The keys are ids, because a Container has no hash; each call of `containers` yields the same objects.
        of = {
            id(container): container.security_context.se_linux_options
            for container in containers(spec)
            if container.security_context
        }
        bad = names(spec, lambda container: wrong(of.get(id(container))))
        if not wrong(own) and not bad:
            return None
        every = [options for options in (own, *of.values()) if options is not None]
        bad_types = sorted({options.type for options in every} - types)
        data = [f"{plural('type', len(bad_types))} {quoted(bad_types)}"] if bad_types else []
        data += ["user may not be set"] if any(options.user for options in every) else []
        data += ["role may not be set"] if any(options.role for options in every) else []
        who = setters(wrong(own), bad)
        # "set forbidden", not "must not set" as in the other messages: so upstream words this one.
        return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")

    return check


def seccomp_annotations(meta: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Check the seccomp annotations; policies of version 1.19 and later check the fields instead.

    Only annotations of the pod and of existing containers count, unlike those for AppArmor.

    Source: seccompProfileBaselineV1Dot0.
    """
    keys = [SECCOMP_POD, *(f"{SECCOMP_PREFIX}{container.name}" for container in containers(spec))]
    bad = sorted(
        {
            f"{key}={json.dumps(meta.annotations[key], ensure_ascii=False)}"
            for key in keys
            if key in meta.annotations
            and meta.annotations[key] not in ("runtime/default", "docker/default")
            and not meta.annotations[key].startswith("localhost/")
        }
    )
    return Violation("seccompProfile", f"forbidden {plural('annotation', len(bad))} {', '.join(bad)}") if bad else None


def seccomp_types(spec: PodSpec) -> tuple[str | None, dict[str, str]]:
    """Return the type of the pod's seccomp profile, or None, and those of its containers by name.

    Names are unique: validation, which runs before, rejects a pod with two containers of one name.
    """
    own = spec.security_context.seccomp_profile if spec.security_context is not None else None
    of = {
        container.name: container.security_context.seccomp_profile.type
        for container in containers(spec)
        if container.security_context is not None and container.security_context.seccomp_profile is not None
    }
    return own.type if own is not None else None, of


def seccomp_profile_baseline(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: seccompProfileBaselineV1Dot19."""
    own, of = seccomp_types(spec)
    bad = [name for name, type_ in of.items() if type_ not in PROFILES]
    pod = own is not None and own not in PROFILES
    if not pod and not bad:
        return None
    values = sorted({of[name] for name in bad} | ({own} if own is not None and pod else set()))
    detail = f"{setters(pod, bad)} must not set securityContext.seccompProfile.type to {quoted(values)}"
    return Violation("seccompProfile", detail)


def _sysctls(allowed: frozenset[str]) -> Check:
    def check(_: ObjectMeta, spec: PodSpec) -> Violation | None:
        """Source: sysctlsV1Dot0 to sysctlsV1Dot32."""
        own = spec.security_context.sysctls if spec.security_context is not None else []
        bad = [sysctl.name for sysctl in own if sysctl.name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: windowsHostProcessV1Dot0."""

    def host_process(context: object) -> bool:
        options = getattr(context, "windows_options", None)
        return options is not None and bool(options.host_process)

    pod = host_process(spec.security_context)
    bad = names(spec, lambda container: host_process(container.security_context))
    if not pod and not bad:
        return None
    detail = f"{setters(pod, bad)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)


CHECKS: dict[str, tuple[tuple[int, Check], ...]] = {
    # Upstream's ID of a check -> (first minor version, check), ascending. Of the entries whose version is at most the
    # policy's, only the last one runs: it replaces the earlier ones. A policy older than all entries skips the check.
    # IDs are sorted, as upstream joins the violations. "_baseline" marks an ID that a check of `restricted` overrides.
    "appArmorProfile": ((0, app_armor_profile),),
    "capabilities_baseline": ((0, capabilities_baseline),),
    "hostNamespaces": ((0, host_namespaces),),
    "hostPathVolumes": ((0, host_path_volumes),),
    "hostPorts": ((0, host_ports),),
    # Policies older than 1.34 do not have this check.
    "hostProbesAndHostLifecycle": ((34, host_probes_and_host_lifecycle),),
    "privileged": ((0, privileged),),
    "procMount": ((0, proc_mount), (35, proc_mount_35)),
    "seLinuxOptions": ((0, _selinux(SELINUX_TYPES)), (31, _selinux(SELINUX_TYPES | {"container_engine_t"}))),
    "seccompProfile_baseline": ((0, seccomp_annotations), (19, seccomp_profile_baseline)),
    "sysctls": ((0, _sysctls(SYSCTLS)), (27, _sysctls(_SYSCTLS_27)), (29, _sysctls(_SYSCTLS_29)),
                (32, _sysctls(_SYSCTLS_32))),
    "windowsHostProcess": ((0, windows_host_process),),
}  # fmt: skip

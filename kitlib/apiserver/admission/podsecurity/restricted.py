"""The checks of the level `restricted`, which enforces hardening, in addition to `baseline`.

Source: pod-security-admission policy check_*.go whose level is LevelRestricted.
"""

from __future__ import annotations

import msgspec

from kitlib.api.container import Container
from kitlib.api.core import PodSpec
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.admission.podsecurity.baseline import (
    PROFILES,
    added,
    proc_mount,
    seccomp_profile_baseline,
    seccomp_types,
)
from kitlib.apiserver.admission.podsecurity.violations import (
    Check,
    Violation,
    containers,
    in_user_namespace,
    named,
    names,
    on_windows,
    plural,
    quoted,
    setters,
    uses,
)

_VOLUMES = frozenset(
    [
        "config_map",
        "csi",
        "downward_api",
        "empty_dir",
        "ephemeral",
        "image",
        "persistent_volume_claim",
        "projected",
        "secret",
    ]
)


def allow_privilege_escalation(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: allowPrivilegeEscalationV1Dot8."""
    bad = names(
        spec,
        lambda container: (
            container.security_context is None or container.security_context.allow_privilege_escalation is not False
        ),
    )
    if not bad:
        return None
    return Violation(
        "allowPrivilegeEscalation != false", f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    )


def capabilities_restricted(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: capabilitiesRestrictedV1Dot22."""
    kept = names(spec, lambda container: "ALL" not in _dropped(container))
    bad = names(spec, lambda container: set(added(container)) - {"NET_BIND_SERVICE"})
    details = []
    if kept:
        details.append(f'{named(kept)} must set securityContext.capabilities.drop=["ALL"]')
    if bad:
        others = sorted({name for container in containers(spec) for name in added(container)} - {"NET_BIND_SERVICE"})
        details.append(f"{named(bad)} must not include {quoted(others)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _dropped(container: Container) -> list[str]:
    context = container.security_context
    return context.capabilities.drop if context is not None and context.capabilities is not None else []


def restricted_volumes(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: restrictedVolumesV1Dot0."""
    bad: list[str] = []
    types: set[str] = set()
    for volume in spec.volumes:
        sources = {
            field.name: field.encode_name
            for field in msgspec.structs.fields(type(volume))
            if field.name != "name" and getattr(volume, field.name) is not None
        }
        if not sources.keys() & _VOLUMES:
            bad.append(volume.name)
            types.add(next(iter(sources.values()), "unknown"))
    if not bad:
        return None
    listed = f"{plural('volume', len(bad))} {quoted(bad)} {uses(len(bad))}"
    word = plural("restricted volume type", len(types))
    return Violation("restricted volume types", f"{listed} {word} {quoted(sorted(types))}")


def run_as_non_root(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: runAsNonRootV1Dot0."""
    own = spec.security_context.run_as_non_root if spec.security_context is not None else None

    def of(container: Container) -> bool | None:
        return container.security_context.run_as_non_root if container.security_context is not None else None

    bad = names(spec, lambda container: of(container) is False)
    if own is False or bad:
        detail = f"{setters(own is False, bad)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", detail)
    unsaid = [] if own else names(spec, lambda container: of(container) is None)
    if not unsaid:
        return None
    return Violation("runAsNonRoot != true", f"pod or {named(unsaid)} must set securityContext.runAsNonRoot=true")


def run_as_user(_: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: runAsUserV1Dot23."""
    pod = spec.security_context is not None and spec.security_context.run_as_user == 0
    bad = names(
        spec, lambda container: container.security_context is not None and container.security_context.run_as_user == 0
    )
    return Violation("runAsUser=0", f"{setters(pod, bad)} must not set runAsUser=0") if pod or bad else None


def seccomp_profile_restricted(meta: ObjectMeta, spec: PodSpec) -> Violation | None:
    """Source: seccompProfileRestrictedV1Dot19."""
    wrong = seccomp_profile_baseline(meta, spec)
    if wrong is not None:
        return wrong
    own, of = seccomp_types(spec)
    unsaid = [] if own is not None else names(spec, lambda container: container.name not in of)
    if not unsaid:
        return None
    allowed = " or ".join(f'"{name}"' for name in PROFILES)
    return Violation(
        "seccompProfile", f"pod or {named(unsaid)} must set securityContext.seccompProfile.type to {allowed}"
    )


def _but_on_windows(check: Check) -> Check:
    """Skip the check for Windows pods, since 1.25, as the fields apply to Linux only. Source: the checks' V1Dot25."""
    return lambda meta, spec: None if on_windows(spec) else check(meta, spec)


def _but_in_user_namespaces(check: Check) -> Check:
    """Skip the check for pods in a user namespace, since 1.35: their root is unprivileged on the node.

    Source: the checks' V1Dot35.
    """
    return lambda meta, spec: None if in_user_namespace(spec) else check(meta, spec)


CHECKS: dict[str, tuple[tuple[int, Check], ...]] = {
    # identifier -> (minor version since which a check applies, the check), in the order of upstream's messages
    "allowPrivilegeEscalation": (
        (8, allow_privilege_escalation),
        (25, _but_on_windows(allow_privilege_escalation)),
    ),
    "capabilities_restricted": ((22, capabilities_restricted), (25, _but_on_windows(capabilities_restricted))),
    "procMount_restricted": ((35, proc_mount),),
    "restrictedVolumes": ((0, restricted_volumes),),
    "runAsNonRoot": ((0, run_as_non_root), (35, _but_in_user_namespaces(run_as_non_root))),
    "runAsUser": ((23, run_as_user), (35, _but_in_user_namespaces(run_as_user))),
    "seccompProfile_restricted": (
        (19, seccomp_profile_restricted),
        (25, _but_on_windows(seccomp_profile_restricted)),
    ),
}
OVERRIDES = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""Check of this level -> the weaker check of `baseline` that it replaces."""

"""Warnings about pods and pod templates.

Source: pkg/api/pod/warnings.go warningsForPodSpecAndMeta; registry/core/pod applyAppArmorVersionSkew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kitlib.api.container import Container, ContainerPort
from kitlib.api.core import PodAffinityTerm, PodSpec
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.validation.pod_annotations import APPARMOR_PREFIX, SECCOMP_POD, SECCOMP_PREFIX
from kitlib.apiserver.validation.warnings.parts import (
    VOLUMES,
    claim_spec,
    deprecated_label,
    fractional,
    node_selector,
    node_term,
)
from kitlib.apiserver.validation.warnings.volume import overlapping_paths

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(spec: PodSpec, meta: ObjectMeta, field: str) -> Iterator[str]:
    """Yield the warnings about a defaulted pod.

    Args:
        spec: the pod's spec.
        meta: the pod's metadata.
        field: the path of the template with a trailing dot; "" for a pod.
    """
    at, notes = f"{field}spec", f"{field}metadata.annotations"
    if not field:  # podStrategy adds this warning first
        yield from _app_armor(spec, meta, at, notes)
    yield from node_selector(spec.node_selector, f"{at}.nodeSelector")
    yield from _node_affinity(spec, f"{at}.affinity.nodeAffinity")
    for i, constraint in enumerate(spec.topology_spread_constraints):
        place = f"{at}.topologySpreadConstraints[{i}]"
        text = deprecated_label(constraint.topology_key)
        if text:
            yield f"{place}.topologyKey: {constraint.topology_key} is {text}"
        if constraint.label_selector is None:
            yield _no_pod(place)
    for key, text in _ANNOTATIONS.items():
        if key in meta.annotations:
            yield f"{notes}[{key}]: {text}"
    yield from _volumes(spec, f"{at}.volumes")
    yield from overlapping_paths(spec.volumes)
    yield from _repeated((alias.ip for alias in spec.host_aliases), f"{at}.hostAliases", "ip")
    names = [secret.name for secret in spec.image_pull_secrets]
    yield from _repeated(names, f"{at}.imagePullSecrets", "name")
    for i, name in enumerate(names):
        if not name:
            yield f'{at}.imagePullSecrets[{i}].name: invalid empty name ""'
    yield from fractional(spec.overhead, f"{at}.overhead", _BYTES)
    profile = spec.security_context.seccomp_profile if spec.security_context is not None else None
    if profile is None and SECCOMP_POD in meta.annotations:
        yield f"{notes}[{SECCOMP_POD}]: {_SECCOMP}"
    for container, place in containers_with_paths(spec, at):
        yield from _container(container, meta, place, notes)
    if field:
        yield from _app_armor(spec, meta, at, notes)
    yield from _ports(spec, at)
    grace = spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at}.terminationGracePeriodSeconds: {text}"
    yield from _pod_affinity(spec, f"{at}.affinity")


def containers_with_paths(spec: PodSpec, field: str) -> Iterator[tuple[Container, str]]:
    """Source: VisitContainersWithPath."""
    for name, listed in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for i, container in enumerate(listed):
            yield container, f"{field}.{name}[{i}]"


def _app_armor(spec: PodSpec, meta: ObjectMeta, field: str, notes: str) -> Iterator[str]:
    """Yield a warning for each AppArmor annotation without a field in the container or the pod."""
    if spec.security_context is not None and spec.security_context.app_armor_profile is not None:
        return
    for container, _ in containers_with_paths(spec, field):
        key, context = f"{APPARMOR_PREFIX}{container.name}", container.security_context
        if key in meta.annotations and (context is None or context.app_armor_profile is None):
            yield f"{notes}[{key}]: {_APPARMOR}"


def _node_affinity(spec: PodSpec, field: str) -> Iterator[str]:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return
    for i, term in enumerate(affinity.required.node_selector_terms if affinity.required is not None else ()):
        yield from node_term(term, f"{field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{i}]")
    for i, preferred in enumerate(affinity.preferred):
        at = f"{field}.preferredDuringSchedulingIgnoredDuringExecution[{i}].preference"
        yield from node_term(preferred.preference, at)


def _volumes(spec: PodSpec, field: str) -> Iterator[str]:
    for i, volume in enumerate(spec.volumes):
        for name, (wire, text) in VOLUMES.items():
            if getattr(volume, name, None) is not None:
                yield f"{field}[{i}].{wire}: {text}"
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            claim = volume.ephemeral.volume_claim_template.spec
            yield from claim_spec(claim, f"{field}[{i}].ephemeral.volumeClaimTemplate.spec")


def _container(container: Container, meta: ObjectMeta, field: str, notes: str) -> Iterator[str]:
    context = container.security_context
    key = f"{SECCOMP_PREFIX}{container.name}"
    if key in meta.annotations and (context is None or context.seccomp_profile is None):
        yield f"{notes}[{key}]: {_SECCOMP}"
    for name in _BYTES:
        yield from fractional(container.resources.limits, f"{field}.resources.limits", (name,))
        yield from fractional(container.resources.requests, f"{field}.resources.requests", (name,))
    seen: set[str] = set()
    for i, variable in enumerate(container.env):
        reference = f"$({variable.name})"
        if variable.name in seen and (
            variable.value_from is not None or variable.value == reference or reference not in variable.value
        ):
            text = f'hides previous definition of "{variable.name}", which may be dropped when using apply'
            yield f"{field}.env[{i}]: {text}"
        seen.add(variable.name)


def _ports(spec: PodSpec, field: str) -> Iterator[str]:
    """Yield warnings about duplicate ports of the pod and duplicate port names of concurrent containers."""
    known: dict[tuple[int, str], list[tuple[str, ContainerPort]]] = {}
    for container, at in containers_with_paths(spec, field):
        for i, port in enumerate(container.ports):
            here = f"{at}.ports[{i}]"
            if port.host_ip and not port.host_port:
                yield f"{here}: hostIP set without hostPort: {_go_port(port)}"
            others = known.setdefault((port.container_port, port.protocol), [])
            for place, other in others:
                yield from _clash(port, other, here, place)
            others.append((here, port))
    names: dict[str, str] = {}
    for container, at in containers_with_paths(spec, field):
        if ".initContainers[" in at and container.restart_policy != "Always":
            continue
        for i, port in enumerate(container.ports):
            here = f"{at}.ports[{i}].name"
            if port.name and port.name in names:
                first = names[port.name]
                text = f'duplicate port name "{port.name}" with {first}'
                yield f"{here}: {text}, services and probes that select ports by name will use {first}"
            elif port.name:
                names[port.name] = here


def _clash(port: ContainerPort, other: ContainerPort, here: str, there: str) -> Iterator[str]:
    if (port.host_ip, port.host_port or 0) == (other.host_ip, other.host_port or 0):
        yield f"{here}: duplicate port definition with {there}"
    elif not port.host_port or not other.host_port:
        yield f"{here}: overlapping port definition with {there}"
    elif port.host_port == other.host_port and bool(port.host_ip) != bool(other.host_ip):
        yield f"{here}: dangerously ambiguous port definition with {there}"


def _go_port(port: ContainerPort) -> str:
    """Return a port in the format of Go's `%+v`."""
    return (
        f"{{Name:{port.name} HostPort:{port.host_port or 0} ContainerPort:{port.container_port} "
        f"Protocol:{port.protocol} HostIP:{port.host_ip}}}"
    )


def _pod_affinity(spec: PodSpec, field: str) -> Iterator[str]:
    if spec.affinity is None:
        return
    for name, terms in (
        ("podAffinity", spec.affinity.pod_affinity),
        ("podAntiAffinity", spec.affinity.pod_anti_affinity),
    ):
        if terms is not None:
            required = f"{field}.{name}.requiredDuringSchedulingIgnoredDuringExecution"
            yield from _pod_terms(((term, "") for term in terms.required), required)
            preferred = f"{field}.{name}.preferredDuringSchedulingIgnoredDuringExecution"
            weighted = ((term.pod_affinity_term, ".podAffinityTerm") for term in terms.preferred)
            yield from _pod_terms(weighted, preferred)


def _pod_terms(terms: Iterable[tuple[PodAffinityTerm, str]], field: str) -> Iterator[str]:
    for i, (term, below) in enumerate(terms):
        if term.label_selector is None:
            yield _no_pod(f"{field}[{i}]{below}")


def _no_pod(field: str) -> str:
    return f"{field}.labelSelector: a null labelSelector results in matching no pod"


def _repeated(values: Iterable[str], field: str, name: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield f'{field}[{i}].{name}: duplicate {name} "{value}"'
        seen.add(value)

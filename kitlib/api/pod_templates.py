"""Pod templates, and the fields of pods that a release drops because their features are disabled.

Source: pkg/api/pod/util.go (DropDisabledPodFields, DropDisabledTemplateFields); pod-security-admission
DefaultPodSpecExtractor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.batch import CronJob, Job
from kitlib.api.core import (
    Container,
    EphemeralContainer,
    Node,
    Pod,
    PodSpec,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
)
from kitlib.api.meta import KubeObject
from kitlib.api.release import Release
from kitlib.api.volume_files import VolumeProjection


def template_of(obj: KubeObject) -> PodTemplateSpec | None:
    """Return the pod template of a workload; None for other kinds."""
    if isinstance(obj, PodTemplate):
        return obj.template
    if isinstance(obj, CronJob):
        return obj.spec.job_template.spec.template
    if isinstance(obj, Deployment | ReplicaSet | StatefulSet | DaemonSet | Job | ReplicationController):
        return obj.spec.template
    return None


def pod_spec_of(obj: KubeObject) -> PodSpec | None:
    """Return the spec of a pod, or of a workload's template; None for other kinds."""
    if isinstance(obj, Pod):
        return obj.spec
    template = template_of(obj)
    return None if template is None else template.spec


def drop_disabled_fields(obj: KubeObject, old: KubeObject | None, release: Release) -> None:
    """Drop fields of disabled features, in place; fields that the stored object uses are kept.

    Args:
        obj: a pod, a workload or a node; other kinds are not changed.
        old: the stored object; None when the object is created.
        release: the release with the feature gates.
    """
    if isinstance(obj, Node) and not release.enabled("InPlacePodVerticalScalingSchedulerPreemption"):
        if not (isinstance(old, Node) and old.spec.pod_preemption_policy is not None):
            obj.spec.pod_preemption_policy = None  # source: registry/core/node dropDisabledFields of 1.37
        return
    spec, before = pod_spec_of(obj), None if old is None else pod_spec_of(old)
    if spec is None:
        return
    for gate, (drop, is_used) in _FIELDS.items():
        if not release.enabled(gate) and not (before is not None and is_used(before)):
            drop(spec)


def _containers(spec: PodSpec) -> Iterable[Container | EphemeralContainer]:
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)


def _projections(spec: PodSpec) -> Iterable[VolumeProjection]:
    return (source for volume in spec.volumes if volume.projected is not None for source in volume.projected.sources)


def _drop_scheduling_group(spec: PodSpec) -> None:
    spec.scheduling_group = None


def _drop_stop_signal(spec: PodSpec) -> None:
    for container in _containers(spec):
        if container.lifecycle is not None:
            container.lifecycle.stop_signal = None
            if container.lifecycle.post_start is None and container.lifecycle.pre_stop is None:
                container.lifecycle = None


def _has_stop_signal(spec: PodSpec) -> bool:
    return any(
        container.lifecycle is not None and container.lifecycle.stop_signal is not None
        for container in _containers(spec)
    )


def _drop_restart_rules(spec: PodSpec) -> None:
    """Source: dropContainerRestartRules. A sidecar's policy stays."""
    for container in _containers(spec):
        container.restart_policy_rules = []
    for container in spec.init_containers:
        if container.restart_policy != "Always":
            container.restart_policy = None
    for container in (*spec.containers, *spec.ephemeral_containers):
        container.restart_policy = None


def _has_restart_rules(spec: PodSpec) -> bool:
    """Source: containerRestartRulesInUse."""
    inits = any(
        container.restart_policy not in (None, "Always") or container.restart_policy_rules
        for container in spec.init_containers
    )
    return inits or any(container.restart_policy is not None for container in spec.containers)


def _drop_trust_bundle(spec: PodSpec) -> None:
    for projection in _projections(spec):
        projection.cluster_trust_bundle = None


def _drop_certificate(spec: PodSpec) -> None:
    for projection in _projections(spec):
        projection.pod_certificate = None


_FIELDS: dict[str, tuple[Callable[[PodSpec], None], Callable[[PodSpec], bool]]] = {
    "GenericWorkload": (_drop_scheduling_group, lambda spec: spec.scheduling_group is not None),
    "ContainerRestartRules": (_drop_restart_rules, _has_restart_rules),
    "ContainerStopSignals": (_drop_stop_signal, _has_stop_signal),
    "ClusterTrustBundleProjection": (
        _drop_trust_bundle,
        lambda spec: any(projection.cluster_trust_bundle is not None for projection in _projections(spec)),
    ),
    "PodCertificateRequest": (
        _drop_certificate,
        lambda spec: any(projection.pod_certificate is not None for projection in _projections(spec)),
    ),
}
"""By gate: the function that drops its fields, and the function that tells whether a spec uses them."""

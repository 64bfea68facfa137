"""The strategies of built-in kinds: fields that the API server sets or drops before validation, besides the defaults.

Source: PrepareForCreate of the strategies in pkg/registry (batch/job, apps/statefulset, core/*).
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from kitlib.api.apps import StatefulSet
from kitlib.api.batch import Job
from kitlib.api.core import Namespace, PersistentVolumeClaim, Service
from kitlib.api.errors import Invalid
from kitlib.api.field_errors import NOT_NEGATIVE, Errors, invalid
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.pod_templates import drop_disabled_fields
from kitlib.api.release import Release
from kitlib.apiserver.store.store import Store

T = TypeVar("T", bound=KubeObject)
_DEVICES = "resource.k8s.io/"
"""The API group with types that are loaded with its first object."""
_CONTROLLER_UID, _JOB_NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"


def prepare(obj: KubeObject, old: KubeObject | None, release: Release, subresource: str = "") -> None:
    """Prepare a defaulted object for validation, in place; its name and UID are already set.

    Args:
        obj: the object.
        old: the stored object; None for a new one.
        release: the release with its feature gates.
        subresource: the subresource of an update; "" = none.
    """
    drop_disabled_fields(obj, old, release)
    if isinstance(obj, Service):
        from kitlib.apiserver.admission.service_allocation import prepare_service

        prepare_service(obj, old if isinstance(old, Service) else None)
    if isinstance(obj, PersistentVolumeClaim):
        from kitlib.api.claim_data_sources import normalize_data_sources, prepare_data_sources

        prepare_data_sources(obj.spec, old.spec if isinstance(old, PersistentVolumeClaim) else None)
        if isinstance(old, PersistentVolumeClaim):
            normalize_data_sources(old.spec)
    if isinstance(obj, Namespace) and isinstance(old, Namespace) and subresource != "finalize":
        obj.spec.finalizers = old.spec.finalizers  # Source: namespaceStrategy.PrepareForUpdate
    if isinstance(obj, StatefulSet):
        _max_unavailable(obj, old, release)
    if isinstance(obj, Job) and old is None:
        _generate_selector(obj)


def validate(store: Store, obj: KubeObject) -> Errors:
    """Return the errors of a new object that depend on more than its own fields."""
    if obj.api_version.startswith(_DEVICES):
        from kitlib.api.devices import ResourceClaim, ResourceClaimTemplate
        from kitlib.apiserver.admission.validation import admin_access

        if not isinstance(obj, ResourceClaim | ResourceClaimTemplate):
            return []
        return admin_access(obj, store.get(Namespace, obj.namespace, copy=False).metadata.labels)
    return []


def scaled(obj: T, scale: KubeObject) -> T:
    """Set a workload's replicas to those of a Scale, in place.

    Source: scaleUpdatedObjectInfo.UpdatedObject, autoscaling validation.ValidateScale.
    """
    from kitlib.api.scale import Scale

    assert isinstance(scale, Scale)
    replicas = scale.spec.replicas
    if replicas < 0:
        raise Invalid("Scale.autoscaling", obj.name, [invalid("spec.replicas", replicas, NOT_NEGATIVE)])
    obj.spec.replicas = replicas  # type: ignore[attr-defined]
    return obj


def _max_unavailable(obj: StatefulSet, old: KubeObject | None, release: Release) -> None:
    """Default `maxUnavailable` to 1 with the gate; without it, drop the field unless the old object has it.

    Source: statefulset strategy dropStatefulSetDisabledFields, maxUnavailableInUse; SetDefaults_StatefulSet.
    """
    strategy = obj.spec.update_strategy
    rolling = strategy.rolling_update
    if rolling is None:
        return
    before = old.spec.update_strategy.rolling_update if isinstance(old, StatefulSet) else None
    if not release.enabled("MaxUnavailableStatefulSet"):
        if before is None or before.max_unavailable is None:
            rolling.max_unavailable = None
    elif strategy.type == "RollingUpdate" and rolling.max_unavailable is None:
        rolling.max_unavailable = 1


def stamp_taints(obj: KubeObject, now: datetime) -> None:
    """Set the time of new device taints, in place. Source: resource SetDefaults_DeviceTaint."""
    if not obj.api_version.startswith(_DEVICES):
        return
    from kitlib.api.devices import DeviceTaint, DeviceTaintRule, ResourceSlice

    taints: list[DeviceTaint] = []
    if isinstance(obj, DeviceTaintRule):
        taints = [obj.spec.taint]
    elif isinstance(obj, ResourceSlice):
        taints = [taint for device in obj.spec.devices for taint in device.taints]
    for taint in taints:
        if taint.time_added is None:
            taint.time_added = now


def _generate_selector(job: Job) -> None:
    """Set a Job's selector and pod labels to the Job's UID. Source: generateSelectorIfNeeded."""
    if job.spec.manual_selector:
        return
    own = {_CONTROLLER_UID: job.metadata.uid, _JOB_NAME: job.metadata.name}
    labels = job.spec.template.metadata.labels = dict(job.spec.template.metadata.labels)
    for key, value in own.items():
        labels.setdefault(key.removeprefix("batch.kubernetes.io/"), value)
        labels.setdefault(key, value)
    selector = job.spec.selector = job.spec.selector or LabelSelector()
    selector.match_labels = {**selector.match_labels}
    selector.match_labels.setdefault(_CONTROLLER_UID, job.metadata.uid)
    job.metadata.labels = job.metadata.labels or dict(labels)  # the defaults of a read from storage

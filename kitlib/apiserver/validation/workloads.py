"""Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

Source: pkg/apis/apps/validation ValidateDeploymentSpec, ValidateReplicaSetSpec, ValidateStatefulSetSpec,
ValidateDaemonSetSpec; pkg/apis/core/validation ValidateReplicationControllerSpec.
"""

from __future__ import annotations

import re

from kitlib.api.apps import (
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetUpdateStrategy,
)
from kitlib.api.core import (
    PersistentVolumeClaimVolumeSource,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
    Volume,
)
from kitlib.api.field_errors import (
    Errors,
    GoStruct,
    each,
    forbidden,
    invalid,
    is_not_more_than_100_percent,
    not_supported,
    required,
    validate_immutable_field,
    validate_nonnegative_field,
    validate_positive_int_or_percent,
)
from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.api.names import is_dns1123_label, is_valid_percent
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.validation.object_meta import (
    name_is_dns_label,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.persistent_volume_claim import validate_persistent_volume_claim_spec
from kitlib.apiserver.validation.pod import validate_pod_template_spec
from kitlib.apiserver.validation.rules import Rules

_NO_MATCH = "`selector` does not match template `labels`"
_STATEFUL_SET_IMMUTABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def validate_deployment(obj: Deployment) -> Errors:
    """Source: ValidateDeployment."""
    return validate_object_meta(obj.metadata, namespaced=True) + validate_deployment_spec(obj.spec, "spec")


def validate_deployment_update(new: Deployment, old: Deployment) -> Errors:
    """Check that an update keeps the selector. Source: ValidateDeploymentUpdate, deploymentStrategy.ValidateUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_deployment_spec(new.spec, "spec")
    return found + validate_immutable_field(new.spec.selector, old.spec.selector, "spec.selector")


def validate_deployment_spec(spec: DeploymentSpec, field: str) -> Errors:
    """Source: ValidateDeploymentSpec."""
    found = validate_nonnegative_field(spec.replicas, f"{field}.replicas")
    found += _required_selector(spec.selector, f"{field}.selector", "deployment")
    if _is_unusable(spec.selector):
        found.append(invalid(f"{field}.selector", spec.selector, "invalid label selector"))
    else:
        found += _template(spec.template, spec.selector, f"{field}.template", "ReplicaSet")
    found += validate_deployment_strategy(spec.strategy, f"{field}.strategy")
    found += validate_nonnegative_field(spec.min_ready_seconds, f"{field}.minReadySeconds")
    found += validate_nonnegative_field(spec.revision_history_limit, f"{field}.revisionHistoryLimit")
    seconds = spec.progress_deadline_seconds
    if seconds is not None:
        found += validate_nonnegative_field(seconds, f"{field}.progressDeadlineSeconds")
        if seconds <= spec.min_ready_seconds:
            found.append(invalid(f"{field}.progressDeadlineSeconds", seconds, "must be greater than minReadySeconds"))
    return found


def validate_deployment_strategy(strategy: DeploymentStrategy, field: str) -> Errors:
    """Source: ValidateDeploymentStrategy, ValidateRollingUpdateDeployment."""
    rolling, place = strategy.rolling_update, f"{field}.rollingUpdate"
    if strategy.type == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(place, detail)] if rolling is not None else []
    if strategy.type != "RollingUpdate":
        return [not_supported(field, _shown(strategy), ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(place, "this should be defaulted and never be nil")]
    unavailable, surge = _given(rolling.max_unavailable), _given(rolling.max_surge)
    found = validate_positive_int_or_percent(unavailable, f"{place}.maxUnavailable")
    found += validate_positive_int_or_percent(surge, f"{place}.maxSurge")
    if not _amount(unavailable) and not _amount(surge):
        found.append(invalid(f"{place}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return found + is_not_more_than_100_percent(unavailable, f"{place}.maxUnavailable")


def _given(value: int | str | None) -> int | str:
    """Return the value, 0 if it is None; an empty string is kept."""
    return 0 if value is None else value


def _amount(value: int | str) -> int:
    """Return the number of a value, string or percentage; 0 if it has none. Source: getIntOrPercentValue."""
    if isinstance(value, int):
        return value
    number = value[:-1] if not is_valid_percent(value) else value
    return int(number) if re.fullmatch(r"[+-]?[0-9]{1,18}", number) else 0


def _shown(strategy: DeploymentStrategy | StatefulSetUpdateStrategy | DaemonSetUpdateStrategy) -> GoStruct:
    """Return a strategy as Go prints it: unset values are 0, except for StatefulSets' maxUnavailable."""
    rolling = strategy.rolling_update
    shown = None
    if isinstance(rolling, RollingUpdateStatefulSetStrategy):
        shown = GoStruct({"Partition": rolling.partition or 0, "MaxUnavailable": rolling.max_unavailable})
    elif rolling is not None:
        bounds = {"MaxUnavailable": _given(rolling.max_unavailable), "MaxSurge": _given(rolling.max_surge)}
        shown = GoStruct(bounds)
    return GoStruct({"Type": strategy.type, "RollingUpdate": shown})


def validate_replica_set(obj: ReplicaSet) -> Errors:
    """Source: ValidateReplicaSet."""
    return validate_object_meta(obj.metadata, namespaced=True) + _replica_set_spec(obj)


def validate_replica_set_update(new: ReplicaSet, old: ReplicaSet) -> Errors:
    """Source: ValidateReplicaSetUpdate, rsStrategy.ValidateUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + _replica_set_spec(new)
    return found + validate_immutable_field(new.spec.selector, old.spec.selector, "spec.selector")


def _replica_set_spec(obj: ReplicaSet) -> Errors:
    """Source: ValidateReplicaSetSpec."""
    spec = obj.spec
    found = validate_nonnegative_field(spec.replicas, "spec.replicas")
    found += validate_nonnegative_field(spec.min_ready_seconds, "spec.minReadySeconds")
    found += _required_selector(spec.selector, "spec.selector", "deployment")
    if _is_unusable(spec.selector):
        return [*found, invalid("spec.selector", spec.selector, "invalid label selector")]
    return found + _template(spec.template, spec.selector, "spec.template", "ReplicaSet")


def validate_stateful_set(obj: StatefulSet) -> Errors:
    """Source: ValidateStatefulSet."""
    found = validate_object_meta(obj.metadata, namespaced=True, name_rule=name_is_dns_label)
    found += validate_stateful_set_spec(obj.spec, "spec")
    if obj.spec.service_name:
        name = obj.spec.service_name
        found += each("spec.serviceName", name, is_dns1123_label(name))
    return found


def validate_stateful_set_update(new: StatefulSet, old: StatefulSet) -> Errors:
    """Source: ValidateStatefulSetUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_stateful_set_spec(new.spec, "spec")
    alike = deepcopy(new.spec)
    alike.replicas, alike.ordinals, alike.template = old.spec.replicas, old.spec.ordinals, old.spec.template
    alike.update_strategy, alike.min_ready_seconds = old.spec.update_strategy, old.spec.min_ready_seconds
    alike.revision_history_limit = old.spec.revision_history_limit
    alike.persistent_volume_claim_retention_policy = old.spec.persistent_volume_claim_retention_policy
    if alike != old.spec:
        found.append(forbidden("spec", _STATEFUL_SET_IMMUTABLE))
    return found


def validate_stateful_set_spec(spec: StatefulSetSpec, field: str) -> Errors:
    """Source: ValidateStatefulSetSpec."""
    found: Errors = []
    if not spec.pod_management_policy:
        found.append(required(f"{field}.podManagementPolicy"))
    elif spec.pod_management_policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid(f"{field}.podManagementPolicy", spec.pod_management_policy, detail))
    found += _stateful_set_strategy(spec, f"{field}.updateStrategy")
    retention = spec.persistent_volume_claim_retention_policy
    if retention is not None:
        for name, value in (("whenDeleted", retention.when_deleted), ("whenScaled", retention.when_scaled)):
            if value not in ("Retain", "Delete"):
                place = f"{field}.persistentVolumeClaimRetentionPolicy.{name}"
                found.append(not_supported(place, value, ("Retain", "Delete")))
    found += validate_nonnegative_field(spec.replicas, f"{field}.replicas")
    found += validate_nonnegative_field(spec.min_ready_seconds, f"{field}.minReadySeconds")
    if spec.ordinals is not None:
        found += validate_nonnegative_field(spec.ordinals.start, f"{field}.ordinals.start")
    found += _required_selector(spec.selector, f"{field}.selector", "statefulset")
    if _is_unusable(spec.selector):
        found.append(invalid(f"{field}.selector", spec.selector, ""))
    else:
        found += _template(_with_claims(spec), spec.selector, f"{field}.template", "StatefulSet")
    for i, claim in enumerate(spec.volume_claim_templates):
        found += validate_persistent_volume_claim_spec(claim.spec, f"{field}.volumeClaimTemplates[{i}].spec")
    return found


def _stateful_set_strategy(spec: StatefulSetSpec, field: str) -> Errors:
    strategy = spec.update_strategy
    rolling, place = strategy.rolling_update, f"{field}.rollingUpdate"
    if not strategy.type:
        return [required(field)]
    if strategy.type == "OnDelete":
        return (
            [invalid(place, rolling, "only allowed for updateStrategy 'RollingUpdate'")] if rolling is not None else []
        )
    if strategy.type != "RollingUpdate":
        return [invalid(field, _shown(strategy), "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    found = validate_nonnegative_field(rolling.partition, f"{place}.partition")
    if rolling.max_unavailable is not None:
        value, where = rolling.max_unavailable, f"{place}.maxUnavailable"
        found += validate_positive_int_or_percent(value, where)
        if not _amount(value):
            found.append(invalid(where, value, "cannot be 0"))
        found += is_not_more_than_100_percent(value, where)
    return found


def _with_claims(spec: StatefulSetSpec) -> PodTemplateSpec:
    """Return the template with a volume for each claim template, which replaces a volume of the same name."""
    if not spec.volume_claim_templates:
        return spec.template
    names = {claim.metadata.name for claim in spec.volume_claim_templates}
    pod = deepcopy(spec.template.spec)
    pod.volumes = [volume for volume in pod.volumes if volume.name not in names] + [
        Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name))
        for name in sorted(names)
    ]
    return PodTemplateSpec(metadata=spec.template.metadata, spec=pod)


def validate_daemon_set(obj: DaemonSet) -> Errors:
    """Source: ValidateDaemonSet."""
    return validate_object_meta(obj.metadata, namespaced=True) + validate_daemon_set_spec(obj.spec, "spec")


def validate_daemon_set_update(new: DaemonSet, old: DaemonSet) -> Errors:
    """Source: ValidateDaemonSetUpdate, daemonSetStrategy.ValidateUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_daemon_set_spec(new.spec, "spec")
    return found + validate_immutable_field(new.spec.selector, old.spec.selector, "spec.selector")


def validate_daemon_set_spec(spec: DaemonSetSpec, field: str) -> Errors:
    """Source: ValidateDaemonSetSpec."""
    found = validate_label_selector(spec.selector, f"{field}.selector")
    if not found and not LabelSelectorMatcher(spec.selector).matches(spec.template.metadata.labels):
        labels = spec.template.metadata.labels or None
        found.append(invalid(f"{field}.template.metadata.labels", labels, _NO_MATCH))
    if spec.selector is not None and not spec.selector.match_labels and not spec.selector.match_expressions:
        found.append(invalid(f"{field}.selector", spec.selector, "empty selector is invalid for daemonset"))
    found += validate_pod_template_spec(spec.template, f"{field}.template")
    found += _runs_forever(spec.template, f"{field}.template.spec", "DaemonSet")
    found += validate_nonnegative_field(spec.min_ready_seconds, f"{field}.minReadySeconds")
    found += _daemon_set_strategy(spec, f"{field}.updateStrategy")
    return found + validate_nonnegative_field(spec.revision_history_limit, f"{field}.revisionHistoryLimit")


def _daemon_set_strategy(spec: DaemonSetSpec, field: str) -> Errors:
    """Source: ValidateDaemonSetUpdateStrategy, ValidateRollingUpdateDaemonSet."""
    strategy = spec.update_strategy
    rolling, place = strategy.rolling_update, f"{field}.rollingUpdate"
    if strategy.type == "OnDelete":
        return []
    if strategy.type != "RollingUpdate":
        return [not_supported(field, _shown(strategy), ("RollingUpdate", "OnDelete"))]
    if rolling is None:
        return [required(place)]
    unavailable, surge = _given(rolling.max_unavailable), _given(rolling.max_surge)
    found = validate_positive_int_or_percent(unavailable, f"{place}.maxUnavailable")
    found += validate_positive_int_or_percent(surge, f"{place}.maxSurge")
    found += is_not_more_than_100_percent(unavailable, f"{place}.maxUnavailable")
    found += is_not_more_than_100_percent(surge, f"{place}.maxSurge")
    if _amount(unavailable) and _amount(surge):
        found.append(invalid(f"{place}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not _amount(unavailable) and not _amount(surge):
        found.append(required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found


def validate_replication_controller(obj: ReplicationController) -> Errors:
    """Source: ValidateReplicationController."""
    return validate_object_meta(obj.metadata, namespaced=True) + _replication_controller_spec(obj)


def validate_replication_controller_update(new: ReplicationController, old: ReplicationController) -> Errors:
    """Source: ValidateReplicationControllerUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + _replication_controller_spec(new)


def _replication_controller_spec(obj: ReplicationController) -> Errors:
    """Source: ValidateReplicationControllerSpec, ValidatePodTemplateSpecForRC."""
    spec = obj.spec
    found = validate_nonnegative_field(spec.min_ready_seconds, "spec.minReadySeconds")
    if not spec.selector:
        found.append(required("spec.selector"))
    found += validate_nonnegative_field(spec.replicas, "spec.replicas")
    if spec.template is None:
        return [*found, required("spec.template")]
    labels = spec.template.metadata.labels
    if spec.selector and not spec.selector.items() <= labels.items():
        found.append(invalid("spec.template.metadata.labels", labels or None, _NO_MATCH))
    found += validate_pod_template_spec(spec.template, "spec.template")
    return found + _runs_forever(spec.template, "spec.template.spec", "ReplicationController")


def _required_selector(selector: LabelSelector | None, field: str, kind: str) -> Errors:
    if selector is None:
        return [required(field)]
    found = validate_label_selector(selector, field)
    if not selector.match_labels and not selector.match_expressions:
        found.append(invalid(field, selector, f"empty selector is invalid for {kind}"))
    return found


def _is_unusable(selector: LabelSelector | None) -> bool:
    """Return whether the selector cannot be parsed. Source: metav1.LabelSelectorAsSelector."""
    return selector is not None and bool(validate_label_selector(selector, ""))


def _template(template: PodTemplateSpec, selector: LabelSelector | None, field: str, kind: str) -> Errors:
    """Source: ValidatePodTemplateSpecForReplicaSet, ValidatePodTemplateSpecForStatefulSet."""
    found: Errors = []
    matcher = LabelSelectorMatcher(selector)
    meta: ObjectMeta = template.metadata
    if not matcher.everything and not matcher.matches(meta.labels):
        found.append(invalid(f"{field}.metadata.labels", meta.labels or None, _NO_MATCH))
    found += validate_pod_template_spec(template, field)
    return found + _runs_forever(template, f"{field}.spec", kind)


def _runs_forever(template: PodTemplateSpec, field: str, kind: str) -> Errors:
    """Check that the pods always restart and have no deadline."""
    found: Errors = []
    if template.spec.restart_policy != "Always":
        found.append(not_supported(f"{field}.restartPolicy", template.spec.restart_policy, ("Always",)))
    if template.spec.active_deadline_seconds is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(forbidden(f"{field}.activeDeadlineSeconds", detail))
    return found


def validate_pod_template(obj: PodTemplate) -> Errors:
    """Source: ValidatePodTemplate."""
    return validate_object_meta(obj.metadata, namespaced=True) + validate_pod_template_spec(obj.template, "template")


def validate_pod_template_update(new: PodTemplate, old: PodTemplate) -> Errors:
    """Source: ValidatePodTemplateUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + validate_pod_template_spec(
        new.template, "template"
    )


KINDS: Rules = {
    ReplicationController: (validate_replication_controller, validate_replication_controller_update),
    Deployment: (validate_deployment, validate_deployment_update),
    ReplicaSet: (validate_replica_set, validate_replica_set_update),
    StatefulSet: (validate_stateful_set, validate_stateful_set_update),
    DaemonSet: (validate_daemon_set, validate_daemon_set_update),
    PodTemplate: (validate_pod_template, validate_pod_template_update),
}

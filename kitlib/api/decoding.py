"""The API server's messages for manifests that it cannot decode: unknown fields and values of a wrong type.

The words are those of Go's JSON decoder, which names the field's path without indices; the kit's error has the path
with indices. This code runs only after decoding has failed.

Source: sigs.k8s.io/json (UnmarshalStrict, UnmarshalTypeError); apimachinery runtime/serializer/json,
apiserver endpoints/handlers (transformDecodeError).
"""

from __future__ import annotations

import datetime
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from kitlib.api.go_time import RFC3339, RFC3339_MICRO, parse_problem
from kitlib.api.meta import KubeStruct
from kitlib.api.numbers import Int32, Int64
from kitlib.api.resource import FORMAT_WRONG, Quantity, QuantityError

Path = tuple[str | int, ...]
_MAX_STRICT_ERRORS = 100
_origin: Callable[[Any], Any] = cache(typing.get_origin)
_arguments: Callable[[Any], Any] = cache(typing.get_args)

STRUCTS = {
    "ResourceClaimRef": "ResourceClaim",
    "EndpointSlicePort": "EndpointPort",
    "CrossVersionObjectReferenceV1": "CrossVersionObjectReference",
    "FlowSubject": "Subject",
    "HorizontalPodAutoscalerV1": "HorizontalPodAutoscaler",
    "HorizontalPodAutoscalerSpecV1": "HorizontalPodAutoscalerSpec",
}
"""The upstream names of types that have another name in the kit."""

NAMED: dict[str, str] = {
    # "Struct.field" -> the Go type of its value, or of its list's items, where it is a string with a type of its own
    "ContainerPort.protocol": "v1.Protocol",
    "ServicePort.protocol": "v1.Protocol",
    "EndpointPort.protocol": "v1.Protocol",
    "NetworkPolicyPort.protocol": "v1.Protocol",
    "Container.imagePullPolicy": "v1.PullPolicy",
    "Container.terminationMessagePolicy": "v1.TerminationMessagePolicy",
    "Container.restartPolicy": "v1.ContainerRestartPolicy",
    "Capabilities.add": "v1.Capability",
    "Capabilities.drop": "v1.Capability",
    "SecurityContext.procMount": "v1.ProcMountType",
    "SeccompProfile.type": "v1.SeccompProfileType",
    "AppArmorProfile.type": "v1.AppArmorProfileType",
    "PodSecurityContext.fsGroupChangePolicy": "v1.PodFSGroupChangePolicy",
    "PodSecurityContext.supplementalGroupsPolicy": "v1.SupplementalGroupsPolicy",
    "PodSecurityContext.seLinuxChangePolicy": "v1.PodSELinuxChangePolicy",
    "HTTPGetAction.scheme": "v1.URIScheme",
    "Lifecycle.stopSignal": "v1.Signal",
    "VolumeMount.mountPropagation": "v1.MountPropagationMode",
    "VolumeMount.recursiveReadOnly": "v1.RecursiveReadOnlyMode",
    "ContainerResizePolicy.resourceName": "v1.ResourceName",
    "ContainerResizePolicy.restartPolicy": "v1.ResourceResizeRestartPolicy",
    "EmptyDirVolumeSource.medium": "v1.StorageMedium",
    "HostPathVolumeSource.type": "v1.HostPathType",
    "PodSpec.restartPolicy": "v1.RestartPolicy",
    "PodSpec.dnsPolicy": "v1.DNSPolicy",
    "PodSpec.preemptionPolicy": "v1.PreemptionPolicy",
    "PodOS.name": "v1.OSName",
    "PodReadinessGate.conditionType": "v1.PodConditionType",
    "NodeSelectorRequirement.operator": "v1.NodeSelectorOperator",
    "LabelSelectorRequirement.operator": "v1.LabelSelectorOperator",
    "Toleration.operator": "v1.TolerationOperator",
    "Toleration.effect": "v1.TaintEffect",
    "Taint.effect": "v1.TaintEffect",
    "TopologySpreadConstraint.whenUnsatisfiable": "v1.UnsatisfiableConstraintAction",
    "TopologySpreadConstraint.nodeAffinityPolicy": "v1.NodeInclusionPolicy",
    "TopologySpreadConstraint.nodeTaintsPolicy": "v1.NodeInclusionPolicy",
    "PersistentVolumeClaimSpec.accessModes": "v1.PersistentVolumeAccessMode",
    "PersistentVolumeClaimSpec.volumeMode": "v1.PersistentVolumeMode",
    "PersistentVolumeSpec.accessModes": "v1.PersistentVolumeAccessMode",
    "PersistentVolumeSpec.volumeMode": "v1.PersistentVolumeMode",
    "PersistentVolumeSpec.persistentVolumeReclaimPolicy": "v1.PersistentVolumeReclaimPolicy",
    "ServiceSpec.type": "v1.ServiceType",
    "ServiceSpec.sessionAffinity": "v1.ServiceAffinity",
    "ServiceSpec.externalTrafficPolicy": "v1.ServiceExternalTrafficPolicy",
    "ServiceSpec.internalTrafficPolicy": "v1.ServiceInternalTrafficPolicy",
    "ServiceSpec.ipFamilies": "v1.IPFamily",
    "ServiceSpec.ipFamilyPolicy": "v1.IPFamilyPolicy",
    "Secret.type": "v1.SecretType",
    "ResourceQuotaSpec.scopes": "v1.ResourceQuotaScope",
    "ScopedResourceSelectorRequirement.scopeName": "v1.ResourceQuotaScope",
    "ScopedResourceSelectorRequirement.operator": "v1.ScopeSelectorOperator",
    "LimitRangeItem.type": "v1.LimitType",
    "NamespaceSpec.finalizers": "v1.FinalizerName",
    "ObjectMeta.uid": "types.UID",
    "OwnerReference.uid": "types.UID",
    "DeploymentStrategy.type": "v1.DeploymentStrategyType",
    "StatefulSetSpec.podManagementPolicy": "v1.PodManagementPolicyType",
    "StatefulSetUpdateStrategy.type": "v1.StatefulSetUpdateStrategyType",
    "DaemonSetUpdateStrategy.type": "v1.DaemonSetUpdateStrategyType",
    "JobSpec.completionMode": "v1.CompletionMode",
    "JobSpec.podReplacementPolicy": "v1.PodReplacementPolicy",
    "PodFailurePolicyRule.action": "v1.PodFailurePolicyAction",
    "PodFailurePolicyOnExitCodesRequirement.operator": "v1.PodFailurePolicyOnExitCodesOperator",
    "PodFailurePolicyOnPodConditionsPattern.type": "v1.PodConditionType",
    "PodFailurePolicyOnPodConditionsPattern.status": "v1.ConditionStatus",
    "ContainerRestartRule.action": "v1.ContainerRestartRuleAction",
    "ContainerRestartRuleOnExitCodes.operator": "v1.ContainerRestartRuleOnExitCodesOperator",
    "ObjectReference.uid": "types.UID",
    "AzureDiskVolumeSource.cachingMode": "v1.AzureDataDiskCachingMode",
    "AzureDiskVolumeSource.kind": "v1.AzureDataDiskKind",
    "ImageVolumeSource.pullPolicy": "v1.PullPolicy",
    "StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted": "v1.PersistentVolumeClaimRetentionPolicyType",
    "StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled": "v1.PersistentVolumeClaimRetentionPolicyType",
    "CronJobSpec.concurrencyPolicy": "v1.ConcurrencyPolicy",
    "HTTPIngressPath.pathType": "v1.PathType",
    "NetworkPolicySpec.policyTypes": "v1.PolicyType",
    "EndpointSlice.addressType": "v1.AddressType",
    "StorageClass.reclaimPolicy": "v1.PersistentVolumeReclaimPolicy",
    "StorageClass.volumeBindingMode": "v1.VolumeBindingMode",
    "CSIDriverSpec.fsGroupPolicy": "v1.FSGroupPolicy",
    "CSIDriverSpec.volumeLifecycleModes": "v1.VolumeLifecycleMode",
    "PriorityClass.preemptionPolicy": "v1.PreemptionPolicy",
    "PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": "v1.UnhealthyPodEvictionPolicyType",
    "MetricSpec.type": "v2.MetricSourceType",
    "MetricTarget.type": "v2.MetricTargetType",
    "ResourceMetricSource.name": "v1.ResourceName",
    "HPAScalingPolicy.type": "v2.HPAScalingPolicyType",
    "HPAScalingRules.selectPolicy": "v2.ScalingPolicySelect",
    "CustomResourceDefinitionSpec.scope": "v1.ResourceScope",
    "LeaseSpec.strategy": "v1.CoordinatedLeaseStrategy",
    "FlowSubject.kind": "v1.SubjectKind",
    "FlowDistinguisherMethod.type": "v1.FlowDistinguisherMethodType",
    "LimitResponse.type": "v1.LimitResponseType",
    "PriorityLevelConfigurationSpec.type": "v1.PriorityLevelEnablement",
    "ValidatingWebhook.failurePolicy": "v1.FailurePolicyType",
    "ValidatingWebhook.matchPolicy": "v1.MatchPolicyType",
    "ValidatingWebhook.sideEffects": "v1.SideEffectClass",
    "MutatingWebhook.failurePolicy": "v1.FailurePolicyType",
    "MutatingWebhook.matchPolicy": "v1.MatchPolicyType",
    "MutatingWebhook.sideEffects": "v1.SideEffectClass",
    "MutatingWebhook.reinvocationPolicy": "v1.ReinvocationPolicyType",
    "RuleWithOperations.operations": "v1.OperationType",
    "RuleWithOperations.scope": "v1.ScopeType",
    "NamedRuleWithOperations.operations": "v1.OperationType",
    "NamedRuleWithOperations.scope": "v1.ScopeType",
    "MatchResources.matchPolicy": "v1.MatchPolicyType",
    "ParamRef.parameterNotFoundAction": "v1.ParameterNotFoundActionType",
    "Validation.reason": "v1.StatusReason",
    "ValidatingAdmissionPolicySpec.failurePolicy": "v1.FailurePolicyType",
    "MutatingAdmissionPolicySpec.failurePolicy": "v1.FailurePolicyType",
    "MutatingAdmissionPolicySpec.reinvocationPolicy": "v1.ReinvocationPolicyType",
    "Mutation.patchType": "v1.PatchType",
    "ValidatingAdmissionPolicyBindingSpec.validationActions": "v1.ValidationAction",
    "ContainerResourceMetricSource.name": "v1.ResourceName",
    "ExactDeviceRequest.allocationMode": "v1.DeviceAllocationMode",
    "DeviceSubRequest.allocationMode": "v1.DeviceAllocationMode",
    "DeviceToleration.operator": "v1.DeviceTolerationOperator",
    "DeviceToleration.effect": "v1.DeviceTaintEffect",
    "DeviceTaint.effect": "v1.DeviceTaintEffect",
    "DeviceConstraint.matchAttribute": "v1.FullyQualifiedName",
    "DeviceConstraint.distinctAttribute": "v1.FullyQualifiedName",
    "CertificateSigningRequestSpec.usages": "v1.KeyUsage",
    "CustomResourceConversion.strategy": "v1.ConversionStrategyType",
    "LeaseSpec.acquireTime": "v1.MicroTime",
    "LeaseSpec.renewTime": "v1.MicroTime",
}


class Problem(NamedTuple):
    """A problem that prevents decoding.

    Attributes:
        text: the message in the decoder's words.
        path: the field's path, with indices.
        final: whether decoding ends here. Otherwise it continues, and a later final problem is reported instead.
    """

    text: str
    path: Path
    final: bool = False


def cannot_be_handled(api_version: str, kind: str, text: str) -> str:
    """Return the whole message of the API server. Source: transformDecodeError."""
    return f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind}: {text}'


def type_problem(data: Any, type_: type[KubeStruct]) -> Problem | None:
    """Return the problem that the server reports for values of a wrong type: the first final one, else the first."""
    first: Problem | None = None
    for problem in _struct(data, type_, (), ()):
        # Go's decoder stores the first UnmarshalTypeError and goes on; an error of an UnmarshalJSON method ends it.
        if problem.final:
            return problem
        first = first or problem
    return first


class Members(dict[str, Any]):
    """A JSON object with a duplicate key; its items have the last values, `pairs` has all members in order."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def strict_errors(data: Any, hint: Any) -> list[str]:
    """Return the errors of strict decoding in the order of the text: unknown fields, and duplicates (in `Members`).

    Source: sigs.k8s.io/json internal/golang/encoding/json (decodeState.object, objectInterface, saveStrictError).
    """
    found = dict.fromkeys(f'{what} field "{field_path(path)}"' for what, path in _strict(data, hint, ()))
    return list(found)[:_MAX_STRICT_ERRORS]


def strict_problem(data: Any, type_: type[KubeStruct]) -> Problem | None:
    """Return one problem that names all fields that the type does not have; None where it has all."""
    unknown = list(_unknown(data, type_, ()))
    if not unknown:
        return None
    listed = ", ".join(f'unknown field "{field_path(path)}"' for path in unknown[:_MAX_STRICT_ERRORS])
    return Problem(f"strict decoding error: {listed}", unknown[0])


def unknown_fields(data: Any, type_: type[KubeStruct]) -> list[str]:
    """Return the paths of the fields that the type does not have."""
    return [field_path(path) for path in _unknown(data, type_, ())]


def field_path(path: Path) -> str:
    """Return a path as text: `spec.containers[0].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text and not step.startswith("[") else step
    return text


@cache
def _fields(type_: type[KubeStruct]) -> dict[str, Any]:
    """Return the type hint of each field by its wire name; hints of integers have their width (Int32, Int64)."""
    hints = typing.get_type_hints(type_, include_extras=True)
    return {f.encode_name: hints[f.name] for f in msgspec.structs.fields(type_)}


@cache
def _alternatives(hint: Any) -> list[Any]:
    """Return the types that a value may have besides null."""
    if _origin(hint) in (typing.Union, types.UnionType):
        return [alternative for alternative in _arguments(hint) if alternative is not type(None)]
    return [hint]


def _unknown(data: Any, hint: Any, path: Path) -> Iterator[Path]:
    return (place for what, place in _strict(data, hint, path) if what == "unknown")


def _strict(data: Any, hint: Any, path: Path) -> Iterator[tuple[str, Path]]:
    """Yield unknown and duplicate fields with their paths; nothing is reported below an unknown field."""
    for alternative in _alternatives(hint):
        origin, arguments = _origin(alternative), _arguments(alternative)
        struct = isinstance(alternative, type) and issubclass(alternative, KubeStruct)
        if isinstance(data, dict) and (struct or origin is dict or alternative is Any):
            fields, seen = _fields(alternative) if struct else None, set()
            for key, value in data.pairs if isinstance(data, Members) else data.items():
                place = (*path, str(key))
                if fields is not None and key not in fields:
                    yield "unknown", place
                    continue
                if key in seen:
                    yield "duplicate", place
                seen.add(key)
                if isinstance(value, dict | list):
                    below = fields[key] if fields is not None else arguments[1] if origin is dict else Any
                    yield from _strict(value, below, place)
        elif isinstance(data, list) and (origin is list or alternative is Any):
            for i, value in enumerate(data):
                yield from _strict(value, arguments[0] if origin is list else Any, (*path, i))


def _struct(data: Any, type_: type[KubeStruct], path: Path, names: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the problems of an object's fields in the order of the text."""
    owner = STRUCTS.get(type_.__name__, type_.__name__)
    fields = _fields(type_)
    for key, value in data.items():
        if key in fields and value is not None:
            place = (*names, key)
            where = f"Go struct field {owner}.{'.'.join(place)}"
            yield from _value(value, fields[key], (*path, key), place, where, _named(type_, owner, key))


def _named(type_: type[KubeStruct], owner: str, key: str) -> str:
    """Return the named Go type of a field, "" without one; our type's name tells apart two Go structs of one name."""
    return NAMED.get(f"{type_.__name__}.{key}") or NAMED.get(f"{owner}.{key}", "")


def _value(value: Any, hint: Any, path: Path, names: tuple[str, ...], where: str, named: str) -> Iterator[Problem]:
    """Yield the problems of one value.

    Args:
        value: the decoded JSON value.
        hint: the type that the value should have.
        path: the field's path, with indices.
        names: the wire names of the path, without indices.
        where: the field as the message names it, `Go struct field PodSpec.spec.replicas`.
        named: the named Go type of the field; "" = none.
    """
    if value is None:
        return
    options = _alternatives(hint)
    if len(options) > 1:  # IntOrString, the only union in the API
        if not isinstance(value, str) and not _fits(value, Int32):
            yield _wrong(value, path, where, "int32", final=True)
        return
    option = options[0]
    origin, arguments = _origin(option), _arguments(option)
    if option is Quantity:
        yield from _quantity(value, path)
    elif option is datetime.datetime:
        yield from _time(value, path, where, RFC3339_MICRO if named == "v1.MicroTime" else RFC3339)
    elif option is bytes:
        yield from _bytes(value, path, where)
    elif origin is list and isinstance(value, list):
        for i, item in enumerate(value):
            yield from _value(item, arguments[0], (*path, i), names, where, named)
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _value(item, arguments[1], (*path, f"[{key}]"), names, where, named)
    elif (struct := isinstance(option, type) and issubclass(option, KubeStruct)) and isinstance(value, dict):
        yield from _struct(value, option, path, names)
    elif option is not Any and (struct or origin in (list, dict) or not _fits(value, option)):
        yield _wrong(value, path, where, go_type(option, named))


def _fits(value: Any, hint: Any) -> bool:
    if hint is str:
        return isinstance(value, str)
    if hint is bool:
        return isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    width = 31 if hint == Int32 else 63
    return _is_int(value) and -(2**width) <= value < 2**width


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(value: Any, path: Path, where: str, expected: str, *, final: bool = False) -> Problem:
    """Return the problem of a value of a wrong type; it is final where the Go type has its own UnmarshalJSON."""
    return Problem(f"json: cannot unmarshal {_kind(value, expected)} into {where} of type {expected}", path, final)


def _kind(value: Any, expected: str = "") -> str:
    """Return JSON's name of a value's type, with the number if it is out of range. Source: UnmarshalTypeError.Value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if expected.startswith(("int", "float")) or not expected else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def go_type(hint: Any, named: str = "") -> str:
    """Return the Go name of a type: `[]v1.PodAffinityTerm`, `map[string]string`, `int32`."""
    alternative = _alternatives(hint)[0]
    origin, arguments = typing.get_origin(alternative), typing.get_args(alternative)
    if origin is list:
        return f"[]{go_type(arguments[0], named)}"
    if origin is dict:
        return "v1.ResourceList" if arguments[1] is Quantity else f"map[string]{go_type(arguments[1], named)}"
    if named:
        return named
    if alternative == Int32:
        return "int32"
    if alternative == Int64 or alternative is int:
        return "int64"
    if isinstance(alternative, type) and issubclass(alternative, KubeStruct):
        package = (
            "v2" if alternative.__module__.endswith("autoscaling") and not alternative.__name__.endswith("V1") else "v1"
        )
        return f"{package}.{STRUCTS.get(alternative.__name__, alternative.__name__)}"
    return {str: "string", bool: "bool", float: "float64", bytes: "[]uint8", Quantity: "resource.Quantity"}.get(
        alternative, "interface {}"
    )


def _quantity(value: Any, path: Path) -> Iterator[Problem]:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise QuantityError(FORMAT_WRONG)
        Quantity(value)
    except QuantityError as error:
        yield Problem(str(error), path, final=True)


def _time(value: Any, path: Path, where: str, layout: str) -> Iterator[Problem]:
    """Source: metav1.Time.UnmarshalJSON, MicroTime.UnmarshalJSON."""
    if not isinstance(value, str):
        yield _wrong(value, path, where, "string", final=True)
        return
    problem = parse_problem(value, layout)
    if problem:
        yield Problem(problem, path, final=True)


def _bytes(value: Any, path: Path, where: str) -> Iterator[Problem]:
    """Source: encoding/base64 CorruptInputError, which has the offset of the first invalid byte."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            if not _is_int(item) or not 0 <= item < 2**8:
                shown = _kind(item, "int")
                yield Problem(f"json: cannot unmarshal {shown} into {where} of type uint8", (*path, i))
        return
    if not isinstance(value, str):
        yield _wrong(value, path, where, "[]uint8")
        return
    from kitlib.api.go_base64 import corrupt_at

    at = corrupt_at(value.encode(errors="replace"))
    if at is not None:
        yield Problem(f"illegal base64 data at input byte {at}", path)

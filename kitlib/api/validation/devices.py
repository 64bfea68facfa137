"""Claims of devices: in pods and containers, as objects, as templates; device classes, and the slices of drivers.

Sources: pkg/apis/core/validation validatePodResourceClaims, validateResourceClaimNames; pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from kitlib.api.claims import Asked
from kitlib.api.core import NodeSelector, PodResourceClaim, PodSpec
from kitlib.api.devices import (
    ALL,
    EXACT_COUNT,
    MAX_REQUESTS,
    MAX_SUBREQUESTS,
    Device,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
    ResourceSliceSpec,
)
from kitlib.api.validation import scheduling
from kitlib.api.validation.fields import (
    Errors,
    FieldError,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    validate_immutable_field,
)
from kitlib.api.validation.names import is_dns1123_label, is_dns1123_subdomain
from kitlib.api.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_template_object_meta,
)
from kitlib.api.validation.resources import is_extended

EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")
MAX_DEVICES, MAX_DEVICES_ADVANCED, MAX_EXPRESSION = 128, 64, 10 * 1024
_ONE_SOURCE = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_SOME_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_REQUEST_NAME = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_NODES = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'


def validate_pod_resource_claims(spec: PodSpec, path: str) -> Errors:
    """`spec.resourceClaims`. Source: validatePodResourceClaims."""
    found: Errors = []
    names: set[str] = set()
    for i, claim in enumerate(spec.resource_claims):
        place = f"{path}.resourceClaims[{i}]"
        if not claim.name:
            found.append(required(f"{place}.name"))
        elif claim.name in names:
            found.append(duplicate(f"{place}.name", claim.name))
        else:
            found += each(f"{place}.name", claim.name, is_dns1123_label(claim.name))
        names.add(claim.name)
        found += _source(claim, place)
    return found


def _source(claim: PodResourceClaim, path: str) -> Errors:
    """Source: validatePodResourceClaimSource."""
    named, template = claim.resource_claim_name, claim.resource_claim_template_name
    found: Errors = []
    if named is not None and template is not None:
        found.append(invalid(path, claim, _ONE_SOURCE))
    if named is None and template is None:
        found.append(invalid(path, claim, _SOME_SOURCE))
    if named is not None:
        found += each(f"{path}.resourceClaimName", named, is_dns1123_subdomain(named))
    if template is not None:
        found += each(f"{path}.resourceClaimTemplateName", template, is_dns1123_subdomain(template))
    return found


def claim_spec(spec: ResourceClaimSpec, path: str) -> Errors:
    """Source: validateResourceClaimSpec, validateDeviceClaim."""
    devices, path = spec.devices, f"{path}.devices"
    names = {request.name for request in devices.requests}
    names |= {f"{request.name}/{one.name}" for request in devices.requests for one in request.first_available}
    found = _each(devices.requests, f"{path}.requests", _request, MAX_REQUESTS, lambda one: one.name)
    found += _each(
        devices.constraints, f"{path}.constraints", lambda one, at: _constraint(one, names, at), MAX_REQUESTS
    )
    for i, config in enumerate(devices.config):
        place = f"{path}.config[{i}]"
        found += _references(config.requests, names, f"{place}.requests")
        if config.opaque is None:
            found.append(required(f"{place}.opaque"))
    return found


def _request(request: DeviceRequest, path: str) -> Errors:
    """Source: validateDeviceRequest."""
    found = _name(request.name, f"{path}.name")
    if request.exactly is not None and request.first_available:
        return [*found, invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")]
    if request.exactly is not None:
        return found + _asked(request.exactly, f"{path}.exactly")
    if not request.first_available:
        return [*found, required(path, _ONE_KIND)]
    return found + _each(
        request.first_available,
        f"{path}.firstAvailable",
        lambda one, at: _name(one.name, f"{at}.name") + _asked(one, at),
        MAX_SUBREQUESTS,
        lambda one: one.name,
    )


def _asked(request: Asked, path: str) -> Errors:
    """Source: validateExactDeviceRequest, validateDeviceSubRequest."""
    found: Errors = []
    if not request.device_class_name:
        found.append(required(f"{path}.deviceClassName"))
    else:
        found += each(
            f"{path}.deviceClassName", request.device_class_name, is_dns1123_subdomain(request.device_class_name)
        )
    found += selectors(request.selectors, f"{path}.selectors")
    if request.allocation_mode == ALL:
        if request.count:
            detail = f"must not be specified when allocationMode is '{ALL}'"
            found.append(invalid(f"{path}.count", request.count, detail))
    elif request.allocation_mode == EXACT_COUNT:
        if request.count <= 0:
            found.append(invalid(f"{path}.count", request.count, "must be greater than zero"))
    else:
        found.append(not_supported(f"{path}.allocationMode", request.allocation_mode, (ALL, EXACT_COUNT)))
    for i, toleration in enumerate(request.tolerations):
        found += _toleration(toleration, f"{path}.tolerations[{i}]")
    return found


def selectors(values: Sequence[DeviceSelector], path: str) -> Errors:
    """Source: validateSelector, validateCELExpression."""
    if not values:
        return []
    from kitlib.api.cel import CompileError, compile_selector  # only those who write selectors need the language

    found: Errors = []
    for i, one in enumerate(values):
        if one.cel is None:
            found.append(required(f"{path}[{i}].cel"))
            continue
        place, text = f"{path}[{i}].cel.expression", one.cel.expression
        if len(text) > MAX_EXPRESSION:
            found.append(FieldError("FieldValueTooLong", place, "", f"may not be more than {MAX_EXPRESSION} bytes"))
            continue
        try:
            compile_selector(text)
        except CompileError as error:
            found.append(invalid(place, text, str(error)))
    return found


def _toleration(one: DeviceToleration, path: str) -> Errors:
    """Source: validateDeviceToleration."""
    found: Errors = []
    if one.operator == "Exists":
        if one.value:
            found.append(invalid(f"{path}.value", one.value, 'must be empty for operator "Exists"'))
    elif one.operator == "Equal":
        if not one.key:
            found.append(required(f"{path}.key"))
    else:
        found.append(not_supported(f"{path}.operator", one.operator, OPERATORS))
    if one.effect and one.effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", one.effect, EFFECTS))
    return found


def _constraint(one: DeviceConstraint, names: Collection[str], path: str) -> Errors:
    """Source: validateDeviceConstraint."""
    found = _references(one.requests, names, f"{path}.requests")
    if one.match_attribute is not None:
        return found + _qualified(one.match_attribute, f"{path}.matchAttribute")
    if one.distinct_attribute is not None:
        return found + _qualified(one.distinct_attribute, f"{path}.distinctAttribute")
    return [*found, required(path, _ONE_ATTRIBUTE)]


def _references(requests: Iterable[str], names: Collection[str], path: str) -> Errors:
    """Source: validateRequestNameRef."""
    found: Errors = []
    seen: set[str] = set()
    for i, name in enumerate(requests):
        if name in seen:
            found.append(duplicate(f"{path}[{i}]", name))
        elif name not in names:
            found.append(invalid(f"{path}[{i}]", name, _REQUEST_NAME))
        seen.add(name)
    return found


def _qualified(name: str, path: str) -> Errors:
    """Source: validateFullyQualifiedName."""
    if not name:
        return [required(path)]
    if "/" not in name:
        return [invalid(path, name, "must include a domain")]
    return []


def device_class(obj: DeviceClass) -> Errors:
    """Source: validateDeviceClassSpec."""
    found = selectors(obj.spec.selectors, "spec.selectors")
    for i, config in enumerate(obj.spec.config):
        if config.opaque is None:
            found.append(required(f"spec.config[{i}].opaque"))
    resource = obj.spec.extended_resource_name
    if resource is not None and not is_extended(resource):
        found.append(invalid("spec.extendedResourceName", resource, "must be a valid extended resource name"))
    return found


def slice_spec(spec: ResourceSliceSpec, old: ResourceSliceSpec | None, path: str) -> Errors:
    """Source: validateResourceSliceSpec."""
    found: Errors = []
    if not spec.driver:
        found.append(required(f"{path}.driver"))
    else:
        found += each(f"{path}.driver", spec.driver, is_dns1123_subdomain(spec.driver))
    if not spec.pool.name:
        found.append(required(f"{path}.pool.name"))
    if spec.pool.resource_slice_count <= 0:
        count = spec.pool.resource_slice_count
        found.append(invalid(f"{path}.pool.resourceSliceCount", count, "must be greater than zero"))
    if spec.pool.generation < 0:
        found.append(invalid(f"{path}.pool.generation", spec.pool.generation, "must be greater than or equal to zero"))
    if old is not None:
        for name, now, before in (
            ("pool.name", spec.pool.name, old.pool.name),
            ("driver", spec.driver, old.driver),
            ("nodeName", spec.node_name, old.node_name),
        ):
            if now != before:
                found.append(invalid(f"{path}.{name}", now, "field is immutable"))
    found += _places(spec, path)
    if spec.shared_counters and spec.devices:
        found.append(invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
    advanced = any(device.taints or device.consumes_counters for device in spec.devices)
    most = MAX_DEVICES_ADVANCED if advanced else MAX_DEVICES
    return found + _each(spec.devices, f"{path}.devices", _device, most, lambda one: one.name)


def _places(spec: ResourceSliceSpec, path: str) -> Errors:
    """On which nodes the devices are: said once, in one way."""
    found = _selector(spec.node_selector, f"{path}.nodeSelector")
    ways = (spec.node_name, spec.node_selector, spec.all_nodes, spec.per_device_node_selection)
    named = [name for name, value in zip(_NODES.split(", "), ways, strict=True) if value]
    for name, value in (("allNodes", spec.all_nodes), ("perDeviceNodeSelection", spec.per_device_node_selection)):
        if value is False:
            found.append(invalid(f"{path}.{name}", value, "must be either unset or set to true"))
    if spec.node_name == "":
        found.append(invalid(f"{path}.nodeName", "", "must be either unset or set to a non-empty string"))
    if not named:
        found.append(required(path, f"exactly one of {_NODES} is required"))
    elif len(named) > 1:
        detail = f"exactly one of {_NODES} is required, but multiple fields are set"
        found.append(invalid(path, f"{{{', '.join(named)}}}", detail))
    return found


def _selector(selector: NodeSelector | None, path: str) -> Errors:
    if selector is None:
        return []
    found = scheduling.validate_node_selector(selector.node_selector_terms, path)
    if len(selector.node_selector_terms) != 1:
        terms = selector.node_selector_terms
        found.append(invalid(f"{path}.nodeSelectorTerms", terms, "must have exactly one node selector term"))
    return found


def _device(device: Device, path: str) -> Errors:
    """Source: validateDevice, validateDeviceAttribute, validateDeviceTaint."""
    found = _name(device.name, f"{path}.name")
    for name, value in device.attributes.items():
        given = (value.int_value, value.bool_value, value.string_value, value.version_value)
        if sum(one is not None for one in given) != 1:
            detail = "exactly one value must be specified"
            found.append(
                required(f"{path}.attributes[{name}]", detail)
                if not any(one is not None for one in given)
                else invalid(f"{path}.attributes[{name}]", value, detail)
            )
    for i, taint in enumerate(device.taints):
        place = f"{path}.taints[{i}]"
        if not taint.key:
            found.append(required(f"{place}.key"))
        if not taint.effect:
            found.append(required(f"{place}.effect"))
        elif taint.effect not in EFFECTS:
            found.append(not_supported(f"{place}.effect", taint.effect, EFFECTS))
    return found + _selector(device.node_selector, f"{path}.nodeSelector")


def _name(name: str, path: str) -> Errors:
    return each(path, name, is_dns1123_label(name)) if name else [required(path)]


def _each(
    values: Sequence[Any],
    path: str,
    rule: Callable[[Any, str], Errors],
    most: int,
    key: Callable[[Any], str] | None = None,
) -> Errors:
    """A list: not too long, nothing twice, every entry right. Source: validateSet, validateSlice."""
    found: Errors = []
    if len(values) > most:
        found.append(FieldError("FieldValueTooMany", path, len(values), f"must have at most {most} items"))
    seen: set[str] = set()
    for i, one in enumerate(values):
        found += rule(one, f"{path}[{i}]")
        if key is not None and key(one):
            if key(one) in seen:
                found.append(duplicate(f"{path}[{i}]", key(one)))
            seen.add(key(one))
    return found


def validate_resource_claim(claim: ResourceClaim) -> Errors:
    """Source: ValidateResourceClaim."""
    return validate_object_meta(claim.metadata, namespaced=True) + claim_spec(claim.spec, "spec")


def validate_resource_claim_update(new: ResourceClaim, old: ResourceClaim) -> Errors:
    """Source: ValidateResourceClaimUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    return found + validate_immutable_field(new.spec, old.spec, "spec")


def validate_resource_claim_template(template: ResourceClaimTemplate) -> Errors:
    """Source: ValidateResourceClaimTemplate."""
    found = validate_object_meta(template.metadata, namespaced=True)
    found += validate_template_object_meta(template.spec.metadata, "spec.metadata")
    return found + claim_spec(template.spec.spec, "spec.spec")


def validate_resource_claim_template_update(new: ResourceClaimTemplate, old: ResourceClaimTemplate) -> Errors:
    """Source: ValidateResourceClaimTemplateUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    return found + validate_immutable_field(new.spec, old.spec, "spec")


def validate_device_class(obj: DeviceClass) -> Errors:
    """Source: ValidateDeviceClass."""
    return validate_object_meta(obj.metadata, namespaced=False) + device_class(obj)


def validate_device_class_update(new: DeviceClass, old: DeviceClass) -> Errors:
    """Source: ValidateDeviceClassUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + device_class(new)


def validate_resource_slice(obj: ResourceSlice) -> Errors:
    """Source: ValidateResourceSlice."""
    return validate_object_meta(obj.metadata, namespaced=False) + slice_spec(obj.spec, None, "spec")


def validate_resource_slice_update(new: ResourceSlice, old: ResourceSlice) -> Errors:
    """Source: ValidateResourceSliceUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + slice_spec(new.spec, old.spec, "spec")

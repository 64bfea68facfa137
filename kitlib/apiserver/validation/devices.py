"""Validation of device claims in pods and containers, of ResourceClaims, their templates, and DeviceClasses.

Sources: pkg/apis/core/validation validatePodResourceClaims, validateResourceClaimNames; pkg/apis/resource/validation.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from kitlib.api.claims import Asked
from kitlib.api.core import PodResourceClaim, PodSpec
from kitlib.api.devices import (
    ALL,
    EXACT_COUNT,
    MAX_REQUESTS,
    MAX_SUBREQUESTS,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long_value,
    validate_immutable_field,
)
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain
from kitlib.api.resource_names import is_extended
from kitlib.apiserver.validation.device_names import (
    validate_device_name,
    validate_driver_name,
    validate_fully_qualified_name,
    validate_set,
    validate_slice,
)
from kitlib.apiserver.validation.device_taints import validate_device_toleration
from kitlib.apiserver.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_template_object_meta,
)
from kitlib.apiserver.validation.rules import Rules

MAX_SELECTORS = MAX_CONSTRAINTS = MAX_CONFIG = 32
MAX_EXPRESSION = MAX_PARAMETERS = 10 * 1024
_ONE_SOURCE = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_SOME_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_REQUEST_NAME = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'


def validate_pod_resource_claims(spec: PodSpec, path: str) -> Errors:
    """Check `spec.resourceClaims`. Source: validatePodResourceClaims."""
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
    found = validate_set(
        devices.requests, MAX_REQUESTS, _request, lambda device_request: device_request.name, f"{path}.requests"
    )
    found += validate_slice(
        devices.constraints,
        MAX_CONSTRAINTS,
        lambda device_constraint, at: _constraint(device_constraint, names, at),
        f"{path}.constraints",
    )
    return found + validate_slice(
        devices.config,
        MAX_CONFIG,
        lambda configuration, at: (
            _references(configuration.requests, names, f"{at}.requests") + _config(configuration.opaque, at)
        ),
        f"{path}.config",
    )


def _request(request: DeviceRequest, path: str) -> Errors:
    """Source: validateDeviceRequest."""
    found = validate_device_name(request.name, f"{path}.name")
    if request.exactly is not None and request.first_available:
        return [*found, invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")]
    if request.exactly is not None:
        return found + _asked(request.exactly, f"{path}.exactly")
    if not request.first_available:
        return [*found, required(path, _ONE_KIND)]
    return found + validate_set(
        request.first_available,
        MAX_SUBREQUESTS,
        lambda one, at: validate_device_name(one.name, f"{at}.name") + _asked(one, at),
        lambda one: one.name,
        f"{path}.firstAvailable",
    )


def _asked(request: Asked, path: str) -> Errors:
    """Source: validateExactDeviceRequest, validateDeviceSubRequest."""
    name, place = request.device_class_name, f"{path}.deviceClassName"
    found = each(place, name, is_dns1123_subdomain(name)) if name else [required(place)]
    found += selectors(request.selectors, f"{path}.selectors")
    if request.allocation_mode == ALL:
        if request.count:
            detail = f"must not be specified when allocationMode is '{ALL}'"
            found.append(invalid(f"{path}.count", request.count, detail))
    elif request.allocation_mode == EXACT_COUNT:
        if request.count <= 0:
            found.append(invalid(f"{path}.count", request.count, NOT_POSITIVE))
    else:
        found.append(not_supported(f"{path}.allocationMode", request.allocation_mode, (ALL, EXACT_COUNT)))
    for i, toleration in enumerate(request.tolerations):
        found += validate_device_toleration(toleration, f"{path}.tolerations[{i}]")
    return found


def selectors(values: Sequence[DeviceSelector], path: str) -> Errors:
    """Source: validateSelectorSlice."""
    return validate_slice(values, MAX_SELECTORS, _selector, path)


def _selector(device_selector: DeviceSelector, path: str) -> Errors:
    """Source: validateSelector, validateCELExpression."""
    if device_selector.cel is None:
        return [required(f"{path}.cel")]
    from kitlib.cel.device_selectors import (  # load CEL only if a selector is used
        CompileError,
        compile_selector,
    )

    place, text = f"{path}.cel.expression", device_selector.cel.expression
    if len(text.encode()) > MAX_EXPRESSION:
        return [too_long_value(place, MAX_EXPRESSION)]
    try:
        compile_selector(text)
    except CompileError as error:
        return [invalid(place, text, str(error))]
    return []


def _constraint(device_constraint: DeviceConstraint, names: Collection[str], path: str) -> Errors:
    """Source: validateDeviceConstraint."""
    found = _references(device_constraint.requests, names, f"{path}.requests")
    if device_constraint.match_attribute is not None:
        return found + validate_fully_qualified_name(device_constraint.match_attribute, f"{path}.matchAttribute")
    if device_constraint.distinct_attribute is not None:
        return found + validate_fully_qualified_name(device_constraint.distinct_attribute, f"{path}.distinctAttribute")
    return [*found, required(path, _ONE_ATTRIBUTE)]


def _references(requests: Sequence[str], names: Collection[str], path: str) -> Errors:
    """Source: validateRequestNameRef."""

    def reference(name: str, place: str) -> Errors:
        parts = name.split("/")
        if len(parts) > 2:
            return [invalid(place, name, _REQUEST_NAME)]
        found = [error for part in parts for error in validate_device_name(part, place)]
        return found if name in names else [*found, invalid(place, name, _REQUEST_NAME)]

    return validate_set(requests, MAX_REQUESTS, reference, lambda name: name, path)


def _config(opaque: OpaqueDeviceConfiguration | None, path: str) -> Errors:
    """Source: validateDeviceConfiguration, validateOpaqueConfiguration, validateRawExtension."""
    if opaque is None:
        return [required(f"{path}.opaque")]
    found, place = validate_driver_name(opaque.driver, f"{path}.opaque.driver"), f"{path}.opaque.parameters"
    if opaque.parameters is None:
        return [*found, required(place)]
    if len(json.dumps(opaque.parameters, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_PARAMETERS:
        return [*found, too_long_value(place, MAX_PARAMETERS)]
    if not isinstance(opaque.parameters, dict):
        found.append(invalid(place, "<value omitted>", "must be a valid JSON object"))
    return found


def device_class(obj: DeviceClass) -> Errors:
    """Source: validateDeviceClassSpec."""
    found = selectors(obj.spec.selectors, "spec.selectors")
    found += validate_slice(
        obj.spec.config, MAX_CONFIG, lambda configuration, at: _config(configuration.opaque, at), "spec.config"
    )
    resource = obj.spec.extended_resource_name
    if resource is not None and not is_extended(resource):
        found.append(invalid("spec.extendedResourceName", resource, "must be a valid extended resource name"))
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


KINDS: Rules = {
    ResourceClaim: (validate_resource_claim, validate_resource_claim_update),
    ResourceClaimTemplate: (validate_resource_claim_template, validate_resource_claim_template_update),
    DeviceClass: (validate_device_class, validate_device_class_update),
}

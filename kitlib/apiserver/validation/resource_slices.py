"""Validation of ResourceSlices: a driver's devices, their nodes, and the counters that they share.

Source: pkg/apis/resource/validation ValidateResourceSlice, validateDevice, validateCounterSet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kitlib.api.core import NodeSelector
from kitlib.api.devices import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    ResourceSlice,
    ResourceSliceSpec,
)
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    each,
    invalid,
    required,
    too_long_value,
    validate_immutable_field,
)
from kitlib.api.names import is_dns1123_subdomain
from kitlib.apiserver.validation import scheduling
from kitlib.apiserver.validation.device_capacity import validate_shared_capacity, validate_single_capacity
from kitlib.apiserver.validation.device_names import (
    validate_binding_conditions,
    validate_device_name,
    validate_driver_name,
    validate_map,
    validate_pool_name,
    validate_qualified_name,
    validate_set,
    validate_slice,
)
from kitlib.apiserver.validation.device_taints import validate_device_taint
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules

MAX_DEVICES, MAX_DEVICES_ADVANCED = 128, 64
MAX_ATTRIBUTES_AND_CAPACITIES, MAX_VALUE, MAX_TAINTS = 32, 64, 16
MAX_COUNTER_SETS, MAX_COUNTERS, MAX_CONSUMED_SETS = 8, 32, 2
_LABEL_LENGTH = 63
_NODES = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_UNSET_OR_TRUE = "must be either unset or set to true"
_NUMBER, _WORD = r"(0|[1-9]\d*)", r"[0-9a-zA-Z-]+"
_PRE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+{_WORD}(\.{_WORD})*)?", re.ASCII)


def validate_resource_slice(obj: ResourceSlice) -> Errors:
    """Source: ValidateResourceSlice."""
    return validate_object_meta(obj.metadata, namespaced=False) + slice_spec(obj.spec, None, "spec")


def validate_resource_slice_update(new: ResourceSlice, old: ResourceSlice) -> Errors:
    """Source: ValidateResourceSliceUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + slice_spec(new.spec, old.spec, "spec")


def slice_spec(spec: ResourceSliceSpec, old: ResourceSliceSpec | None, path: str) -> Errors:
    """Source: validateResourceSliceSpec."""
    pool = spec.pool
    found = validate_driver_name(spec.driver, f"{path}.driver") + validate_pool_name(pool.name, f"{path}.pool.name")
    if pool.resource_slice_count <= 0:
        found.append(invalid(f"{path}.pool.resourceSliceCount", pool.resource_slice_count, NOT_POSITIVE))
    if pool.generation < 0:
        found.append(invalid(f"{path}.pool.generation", pool.generation, "must be greater than or equal to zero"))
    if old is not None:
        found += validate_immutable_field(pool.name, old.pool.name, f"{path}.pool.name")
        found += validate_immutable_field(spec.driver, old.driver, f"{path}.driver")
        found += validate_immutable_field(spec.node_name, old.node_name, f"{path}.nodeName")
    found += _places(spec, path)
    if spec.shared_counters and spec.devices:
        found.append(invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
    before = {device.name: device for device in old.devices} if old is not None else {}
    advanced = any(device.taints or device.consumes_counters for device in spec.devices)
    found += validate_set(
        spec.devices,
        MAX_DEVICES_ADVANCED if advanced else MAX_DEVICES,
        lambda device, at: _device(device, before.get(device.name), bool(spec.per_device_node_selection), at),
        lambda device: device.name,
        f"{path}.devices",
    )
    return found + validate_set(
        spec.shared_counters,
        MAX_COUNTER_SETS,
        _counter_set,
        lambda counter_set: counter_set.name,
        f"{path}.sharedCounters",
    )


def _places(spec: ResourceSliceSpec, path: str) -> Errors:
    """Check that exactly one field selects the nodes of the devices."""
    flags = {"allNodes": spec.all_nodes, "perDeviceNodeSelection": spec.per_device_node_selection}
    empty = "must be either unset or set to a non-empty string"
    ways, found = _ways(spec.node_name, spec.node_selector, flags, path, empty=empty)
    if spec.node_selector is not None and len(spec.node_selector.node_selector_terms) != 1:
        detail, terms = "must have exactly one node selector term", spec.node_selector.node_selector_terms
        found.append(invalid(f"{path}.nodeSelector.nodeSelectorTerms", terms or None, detail))
    if not ways:
        found.append(required(path, f"exactly one of {_NODES} is required"))
    elif len(ways) > 1:
        detail = f"exactly one of {_NODES} is required, but multiple fields are set"
        found.append(invalid(path, f"{{{', '.join(ways)}}}", detail))
    return found


def _ways(
    node_name: str | None, selector: NodeSelector | None, flags: Mapping[str, bool | None], path: str, *, empty: str
) -> tuple[list[str], Errors]:
    """Return the fields that select nodes, in backquotes, and the errors of each field.

    Args:
        node_name: the node's name; None if not set.
        selector: the node selector; None if not set.
        flags: field -> its value; false is an error.
        path: the path of the fields.
        empty: the message for an empty node name.
    """
    found: Errors = []
    ways: list[str] = []
    if node_name == "":
        found.append(invalid(f"{path}.nodeName", "", empty))
    elif node_name is not None:
        ways.append("`nodeName`")
        found += each(f"{path}.nodeName", node_name, is_dns1123_subdomain(node_name))
    if selector is not None:
        ways.append("`nodeSelector`")
        found += scheduling.validate_node_selector(selector.node_selector_terms, f"{path}.nodeSelector")
    for name, value in flags.items():
        if value:
            ways.append(f"`{name}`")
        elif value is False:
            found.append(invalid(f"{path}.{name}", value, _UNSET_OR_TRUE))
    return ways, found


def _counter_set(counter_set: CounterSet, path: str) -> Errors:
    """Source: validateCounterSet."""
    return _counters(counter_set.name, counter_set.counters, "name", path)


def _consumption(consumption: DeviceCounterConsumption, path: str) -> Errors:
    """Source: validateDeviceCounterConsumption."""
    return _counters(consumption.counter_set, consumption.counters, "counterSet", path)


def _counters(name: str, counters: dict[str, Counter], field: str, path: str) -> Errors:
    found = validate_device_name(name, f"{path}.{field}") if name else [required(f"{path}.{field}")]
    if not counters:
        return [*found, required(f"{path}.counters")]
    return found + validate_map(
        counters, MAX_COUNTERS, validate_device_name, lambda *_: [], f"{path}.counters", _LABEL_LENGTH
    )


def _device(device: Device, old: Device | None, per_device: bool, path: str) -> Errors:
    """Source: validateDevice."""
    found = validate_device_name(device.name, f"{path}.name")
    several = len(device.attributes) + len(device.capacity)
    if several > MAX_ATTRIBUTES_AND_CAPACITIES:
        detail = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES_AND_CAPACITIES}"
        found.append(invalid(path, several, detail))
    found += validate_map(device.attributes, None, validate_qualified_name, _attribute, f"{path}.attributes")
    if old is None or old.capacity != device.capacity:
        rule = validate_shared_capacity if device.allow_multiple_allocations else validate_single_capacity
        found += validate_map(device.capacity, None, validate_qualified_name, rule, f"{path}.capacity")
    if old is None or old.taints != device.taints:
        found += validate_slice(
            device.taints, MAX_TAINTS, lambda taint, at: validate_device_taint(taint, None, at), f"{path}.taints"
        )
    found += validate_set(
        device.consumes_counters,
        MAX_CONSUMED_SETS,
        _consumption,
        lambda consumption: consumption.counter_set,
        f"{path}.consumesCounters",
    )
    found += _place(device, per_device, path)
    return found + validate_binding_conditions(device.binding_conditions, device.binding_failure_conditions, path)


def _place(device: Device, per_device: bool, path: str) -> Errors:
    """Check a device's nodes, which are set only if the slice has perDeviceNodeSelection."""
    flags = {"allNodes": device.all_nodes}
    if not per_device:
        said = device.node_name is not None or device.node_selector is not None or device.all_nodes is not None
        return [invalid(path, None, _NO_PLACE)] if said else []
    ways, found = _ways(device.node_name, device.node_selector, flags, path, empty="must not be empty")
    if not ways:
        found.append(required(path, _ONE_PLACE))
    elif len(ways) > 1:
        found.append(invalid(path, f"{{{', '.join(ways)}}}", _ONE_PLACE))
    return found


def _attribute(value: DeviceAttribute, path: str) -> Errors:
    """Source: validateDeviceAttribute."""
    found: Errors = []
    text, version = value.string_value, value.version_value
    if text is not None and len(text.encode()) > MAX_VALUE:
        found.append(too_long_value(f"{path}.string", MAX_VALUE))
    if version is not None:
        if not _SEMVER.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            found.append(invalid(f"{path}.version", version, detail))
        if len(version.encode()) > MAX_VALUE:
            found.append(too_long_value(f"{path}.version", MAX_VALUE))
    given = sum(one is not None for one in (value.int_value, value.bool_value, text, version))
    if given != 1:
        found.append(invalid(path, value if given else "", "exactly one value must be specified"))
    return found


KINDS: Rules = {
    ResourceSlice: (validate_resource_slice, validate_resource_slice_update),
}

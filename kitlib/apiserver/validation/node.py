"""Validation of Nodes, Leases and RuntimeClasses.

Source: pkg/apis/core/validation ValidateNode, validateNodeTaints; pkg/apis/coordination/validation;
pkg/apis/node/validation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from kitlib.api.convert import convert
from kitlib.api.coordination import Lease, RuntimeClass
from kitlib.api.core import Node, Taint
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    FieldError,
    GoStruct,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    validate_immutable_field,
)
from kitlib.api.names import (
    is_dns1123_label,
    is_qualified_name,
    is_valid_cidr,
    is_valid_label_value,
    parse_cidr,
)
from kitlib.api.serialize import known_fields
from kitlib.apiserver.validation.object_meta import (
    validate_label_name,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.resources import validate_overhead, validate_resource_quantity_value
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.scheduling import EFFECTS, validate_tolerations

TAINTS = "scheduler.alpha.kubernetes.io/taints"
AVOID_PODS = "scheduler.alpha.kubernetes.io/preferAvoidPods"
LEASE_STRATEGIES = ("OldestEmulationVersion",)


def validate_node(node: Node) -> Errors:
    """Source: ValidateNode."""
    found = validate_object_meta(node.metadata, namespaced=False)
    found += _annotations(node.metadata.annotations)
    found += validate_node_taints(node.spec.taints, "metadata.taints")
    found += _resources(node)
    swap = ((node.status.node_info or {}).get("swap") or {}).get("capacity")
    if isinstance(swap, int) and swap <= 0:
        found.append(invalid("metadata.nodeSwapStatus.capacity", swap, NOT_POSITIVE))
    networks = pod_cidrs(node)
    for i, text in enumerate(networks):
        found += each(f"spec.podCIDRs[{i}]", text, is_valid_cidr(text))
    return found + _one_for_each_family(networks, "spec.podCIDRs") if len(networks) > 1 else found


def _one_for_each_family(networks: Sequence[str], field: str) -> Errors:
    """Check that several networks are one of each family. Source: netutils.IsDualStackCIDRStrings."""
    found: Errors = []
    parsed = [parse_cidr(text) for text in networks]
    versions = {network.version for network in parsed if network is not None}
    if None in parsed:
        i = parsed.index(None)
        problem = f"invalid CIDR[{i}]: <nil> (invalid CIDR address: {networks[i]})"
        detail = f"invalid PodCIDRs. failed to check with dual stack with error:{problem}"
        found.append(FieldError("InternalError", field, "", detail))
    if None in parsed or len(versions) < 2 or len(networks) > 2:
        found.append(invalid(field, networks, "may specify no more than one CIDR for each IP family"))
    return found


def _annotations(annotations: Mapping[str, str]) -> Errors:
    """Source: ValidateNodeSpecificAnnotations, ValidateTaintsInNodeAnnotations."""
    found: Errors = []
    if annotations.get(TAINTS):
        try:
            taints = convert(known_fields(json.loads(annotations[TAINTS]), list[Taint]), list[Taint])
        except (ValueError, msgspec.ValidationError) as error:  # below msgspec 0.21 the second is no ValueError
            found.append(invalid("metadata.annotations", TAINTS, str(error)))
        else:
            found += validate_node_taints(taints, f"metadata.annotations.{TAINTS}")
    return found + _avoided_pods(annotations)


def _avoided_pods(annotations: Mapping[str, str]) -> Errors:
    """Check the annotation of controllers whose pods a node prefers to avoid; the scheduler no longer uses it.

    Source: ValidateAvoidPodsInNodeAnnotations, validatePreferAvoidPodsEntry.
    """
    text = annotations.get(AVOID_PODS)
    if not text:
        return []
    try:
        entries = json.loads(text).get("preferAvoidPods") or []
        signatures = [(entry.get("podSignature") or {}).get("podController") for entry in entries]
    except (ValueError, AttributeError, TypeError) as error:
        return [invalid("metadata.annotations.AvoidPods", AVOID_PODS, str(error))]
    found: Errors = []
    for i, controller in enumerate(signatures):
        place = f"metadata.annotations.{AVOID_PODS}[{i}].PodSignature"
        if controller is None:
            found.append(required(place))
        elif not isinstance(controller, dict) or not controller.get("controller"):
            found.append(invalid(f"{place}.PodController.Controller", False, "must point to a controller"))
    return found


def pod_cidrs(node: Node) -> list[str]:
    """Return the pod networks; podCIDR takes precedence over podCIDRs. Source: Convert_v1_NodeSpec_To_core_NodeSpec."""
    one, several = node.spec.pod_cidr, node.spec.pod_cidrs
    return [one] if one and several[:1] != [one] else several


def _resources(node: Node) -> Errors:
    """Source: ValidateNodeResources."""
    found: Errors = []
    for which, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        for name, quantity in amounts.items():
            found += validate_resource_quantity_value(name, quantity, f"status.{which}.{name}")
    return found


def validate_node_taints(taints: Sequence[Taint], field: str) -> Errors:
    """Source: validateNodeTaints."""
    found: Errors = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        place = f"{field}[{i}]"
        found += validate_label_name(taint.key, f"{place}.key")
        wrong = is_valid_label_value(taint.value)
        if wrong:
            found.append(invalid(f"{place}.value", taint.value, ";".join(wrong)))
        if not taint.effect:
            found.append(required(f"{place}.effect"))
        elif taint.effect not in EFFECTS:
            found.append(not_supported(f"{place}.effect", taint.effect, EFFECTS))
        if (taint.key, taint.effect) in seen:
            found.append(duplicate(place, taint, "taints must be unique by key and effect pair"))
        seen.add((taint.key, taint.effect))
    return found


def validate_node_update(new: Node, old: Node) -> Errors:
    """Check the node as a whole, then that networks and provider are not changed once they are set.

    Source: nodeStrategy.ValidateUpdate, ValidateNodeUpdate.
    """
    found = validate_node(new)
    found += validate_object_meta_update(new.metadata, old.metadata) + _annotations(new.metadata.annotations)
    found += _resources(new)
    addresses = [(address.get("type", ""), address.get("address", "")) for address in new.status.addresses]
    for i, (kind, text) in enumerate(addresses):
        if (kind, text) in addresses[:i]:
            found.append(duplicate(f"status.addresses[{i}]", GoStruct({"Type": kind, "Address": text})))
    now, before = pod_cidrs(new), pod_cidrs(old)
    changed = len(now) != len(before) or sum(one != was for one, was in zip(now, before, strict=True))
    if before and changed:
        detail = 'node updates may not change podCIDR except from "" to valid'
        found += [forbidden("spec.podCIDRs", detail)] * changed
    if old.spec.provider_id and new.spec.provider_id != old.spec.provider_id:
        detail = 'node updates may not change providerID except from "" to valid'
        found.append(forbidden("spec.providerID", detail))
    found += validate_node_taints(new.spec.taints, "metadata.taints")
    if new.spec.external_id != old.spec.external_id:
        found.append(forbidden("spec.externalID", "may not be updated"))
    return found


def validate_lease(obj: Lease) -> Errors:
    """Source: ValidateLease, ValidateLeaseSpec."""
    return validate_object_meta(obj.metadata, namespaced=True, known_finalizers=False) + _lease_spec(obj)


def _lease_spec(obj: Lease) -> Errors:
    spec = obj.spec
    found: Errors = []
    if spec.lease_duration_seconds is not None and spec.lease_duration_seconds <= 0:
        found.append(invalid("spec.leaseDurationSeconds", spec.lease_duration_seconds, "must be greater than 0"))
    if spec.lease_transitions is not None and spec.lease_transitions < 0:
        detail = "must be greater than or equal to 0"
        found.append(invalid("spec.leaseTransitions", spec.lease_transitions, detail))
    if spec.strategy is not None:
        found += _lease_strategy(spec.strategy, "spec.strategy.strategy")
    if spec.preferred_holder and not spec.strategy:
        found.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return found


def _lease_strategy(strategy: str, field: str) -> Errors:
    """Check a Lease's strategy; upstream's path has the field twice. Source: ValidateCoordinatedLeaseStrategy."""
    if "/" in strategy:
        return each(field, strategy, is_qualified_name(strategy))
    return [] if strategy in LEASE_STRATEGIES else [not_supported(field, strategy, LEASE_STRATEGIES)]


def validate_lease_update(new: Lease, old: Lease) -> Errors:
    """Source: ValidateLeaseUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False) + _lease_spec(new)


def validate_runtime_class(obj: RuntimeClass) -> Errors:
    """Source: ValidateRuntimeClass, validateTolerations."""
    found = validate_object_meta(obj.metadata, namespaced=False, known_finalizers=False)
    found += each("handler", obj.handler, is_dns1123_label(obj.handler)) if obj.handler else [required("handler")]
    if obj.overhead is not None:
        found += validate_overhead(obj.overhead.pod_fixed, "overhead.podFixed")
    if obj.scheduling is not None:
        found += validate_labels(obj.scheduling.node_selector, "scheduling.nodeSelector")
        found += validate_tolerations(obj.scheduling.tolerations, "scheduling.tolerations")
        seen: set[tuple[str, str, str, str]] = set()
        for i, toleration in enumerate(obj.scheduling.tolerations):
            key = (toleration.key, toleration.operator, toleration.value, toleration.effect)
            if key in seen:
                found.append(duplicate(f"scheduling.tolerations[{i}]", toleration))
            seen.add(key)
    return found


def validate_runtime_class_update(new: RuntimeClass, old: RuntimeClass) -> Errors:
    """Source: ValidateRuntimeClassUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False)
    return found + validate_immutable_field(new.handler, old.handler, "handler")


KINDS: Rules = {
    Node: (validate_node, validate_node_update),
    Lease: (validate_lease, validate_lease_update),
    RuntimeClass: (validate_runtime_class, validate_runtime_class_update),
}

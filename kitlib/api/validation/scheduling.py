"""What a pod says about its place: selectors, affinity, tolerations, spread constraints, gates.

Sources: pkg/apis/core/validation validateAffinity, ValidateNodeSelectorRequirement, ValidateTolerations,
validateTopologySpreadConstraints, validateSchedulingGates.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import (
    Affinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodSchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from kitlib.api.meta import LabelSelector
from kitlib.api.validation.fields import (
    Errors,
    dns_label,
    duplicate,
    each,
    forbidden,
    invalid,
    label_selector,
    label_value,
    not_supported,
    qualified_name,
    required,
)

UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists", "Lt", "Gt")
_POSITIVE = "must be greater than zero"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(value: Affinity | None, field: str) -> Errors:
    """Source: validateAffinity."""
    if value is None:
        return []
    found: Errors = []
    if value.node_affinity is not None:
        place = f"{field}.nodeAffinity"
        if value.node_affinity.required is not None:
            found += node_selector_terms(value.node_affinity.required.node_selector_terms, f"{place}.{_REQUIRED}")
        for i, preferred in enumerate(value.node_affinity.preferred):
            one = f"{place}.{_PREFERRED}[{i}]"
            found += _weight(preferred.weight, one)
            found += node_selector_term(preferred.preference, f"{one}.preference")
    for name, terms in (("podAffinity", value.pod_affinity), ("podAntiAffinity", value.pod_anti_affinity)):
        if terms is not None:
            found += _pod_affinity(terms, f"{field}.{name}")
    return found


def _weight(weight: int, field: str) -> Errors:
    return [] if 1 <= weight <= 100 else [invalid(f"{field}.weight", weight, "must be in the range 1-100")]


def node_selector_terms(terms: list[NodeSelectorTerm], field: str) -> Errors:
    """Source: ValidateNodeSelector."""
    if not terms:
        return [required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")]
    found: Errors = []
    for i, term in enumerate(terms):
        found += node_selector_term(term, f"{field}.nodeSelectorTerms[{i}]")
    return found


def node_selector_term(term: NodeSelectorTerm, field: str) -> Errors:
    """Source: ValidateNodeSelectorTerm."""
    found: Errors = []
    for i, requirement in enumerate(term.match_expressions):
        found += _expression(requirement, f"{field}.matchExpressions[{i}]")
    for i, requirement in enumerate(term.match_fields):
        found += _field(requirement, f"{field}.matchFields[{i}]")
    return found


def _expression(requirement: NodeSelectorRequirement, field: str) -> Errors:
    """Source: ValidateNodeSelectorRequirement."""
    found: Errors = []
    if requirement.operator in ("In", "NotIn"):
        if not requirement.values:
            found.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif requirement.operator in ("Exists", "DoesNotExist"):
        if requirement.values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden(f"{field}.values", detail))
    elif requirement.operator in ("Gt", "Lt"):
        if len(requirement.values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{field}.values", detail))
    else:
        found.append(invalid(f"{field}.operator", requirement.operator, "not a valid selector operator"))
    found += each(f"{field}.key", requirement.key, qualified_name(requirement.key))
    for i, value in enumerate(requirement.values):
        found += each(f"{field}.values[{i}]", value, label_value(value))
    return found


def _field(requirement: NodeSelectorRequirement, field: str) -> Errors:
    """Source: ValidateNodeFieldSelectorRequirement."""
    found: Errors = []
    if requirement.operator in ("In", "NotIn"):
        if len(requirement.values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            found.append(required(f"{field}.values", detail))
    else:
        found.append(invalid(f"{field}.operator", requirement.operator, "not a valid selector operator"))
    if requirement.key != "metadata.name":
        found.append(invalid(f"{field}.key", requirement.key, "not a valid field selector key"))
    return found


def _pod_affinity(terms: PodAffinity, field: str) -> Errors:
    found: Errors = []
    for i, term in enumerate(terms.required):
        found += _pod_affinity_term(term, f"{field}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(terms.preferred):
        place = f"{field}.{_PREFERRED}[{i}]"
        found += _weight(weighted.weight, place)
        found += _pod_affinity_term(weighted.pod_affinity_term, f"{place}.podAffinityTerm")
    return found


def _pod_affinity_term(term: PodAffinityTerm, field: str) -> Errors:
    """Source: validatePodAffinityTerm, validateMatchLabelKeysAndMismatchLabelKeys."""
    found = label_selector(term.label_selector, f"{field}.labelSelector")
    found += label_selector(term.namespace_selector, f"{field}.namespaceSelector")
    for i, name in enumerate(term.namespaces):
        found += each(f"{field}.namespace[{i}]", name, dns_label(name))
    found += _label_keys(term.match_label_keys, term.label_selector, field, "matchLabelKeys")
    found += _label_keys(term.mismatch_label_keys, term.label_selector, field, "mismatchLabelKeys")
    for i, key in enumerate(term.mismatch_label_keys):
        if key in term.match_label_keys:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(f"{field}.mismatchLabelKeys[{i}]", key, detail))
    if not term.topology_key:
        found.append(required(f"{field}.topologyKey", "can not be empty"))
        return found
    return found + each(f"{field}.topologyKey", term.topology_key, qualified_name(term.topology_key))


def _label_keys(keys: list[str], selector: LabelSelector | None, field: str, name: str) -> Errors:
    """Keys whose values are taken from the pod: they must not stand in the selector too."""
    if not keys:
        return []
    if selector is None:
        return [forbidden(f"{field}.{name}", "must not be specified when labelSelector is not set")]
    named = {*selector.match_labels, *(r.key for r in selector.match_expressions)}
    found: Errors = []
    for i, key in enumerate(keys):
        found += each(f"{field}.{name}[{i}]", key, qualified_name(key))
        if key in named:
            found.append(invalid(f"{field}.{name}[{i}]", key, f"exists in both {name} and labelSelector"))
    return found


def tolerations(values: Iterable[Toleration], field: str) -> Errors:
    """Source: ValidateTolerations."""
    found: Errors = []
    for i, one in enumerate(values):
        place = f"{field}[{i}]"
        if one.key:
            found += each(f"{place}.key", one.key, qualified_name(one.key))
        if not one.key and one.operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(invalid(f"{place}.operator", one.operator, detail))
        if one.toleration_seconds is not None and one.effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid(f"{place}.effect", one.effect, detail))
        if one.operator in ("", "Equal"):
            found += each(f"{place}.operator", one.value, label_value(one.value))
        elif one.operator == "Exists":
            if one.value:
                found.append(invalid(f"{place}.operator", one.value, "value must be empty when `operator` is 'Exists'"))
        else:
            found.append(not_supported(f"{place}.operator", one.operator, OPERATORS))
        if one.effect and one.effect not in EFFECTS:
            found.append(not_supported(f"{place}.effect", one.effect, EFFECTS))
    return found


def spread_constraints(values: list[TopologySpreadConstraint], field: str) -> Errors:
    """Source: validateTopologySpreadConstraints."""
    found: Errors = []
    for i, one in enumerate(values):
        place = f"{field}[{i}]"
        if one.max_skew <= 0:
            found.append(invalid(f"{place}.maxSkew", one.max_skew, _POSITIVE))
        if not one.topology_key:
            found.append(required(f"{place}.topologyKey", "can not be empty"))
        else:
            found += each(f"{place}.topologyKey", one.topology_key, qualified_name(one.topology_key))
        if one.when_unsatisfiable not in UNSATISFIABLE:
            found.append(not_supported(f"{place}.whenUnsatisfiable", one.when_unsatisfiable, UNSATISFIABLE))
        kind = (one.topology_key, one.when_unsatisfiable)
        if any(kind == (other.topology_key, other.when_unsatisfiable) for other in values[i + 1 :]):
            text = f"{{{one.topology_key}, {one.when_unsatisfiable}}}"
            found.append(duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", text))
        found += _min_domains(one, place)
        for name, policy in (
            ("nodeAffinityPolicy", one.node_affinity_policy),
            ("nodeTaintsPolicy", one.node_taints_policy),
        ):
            if policy is not None and policy not in POLICIES:
                found.append(not_supported(f"{place}.{name}", policy, POLICIES))
        found += _label_keys(one.match_label_keys, one.label_selector, place, "matchLabelKeys")
        found += label_selector(one.label_selector, f"{place}.labelSelector")
    return found


def _min_domains(one: TopologySpreadConstraint, field: str) -> Errors:
    """Source: validateMinDomains."""
    if one.min_domains is None:
        return []
    found: Errors = []
    if one.min_domains <= 0:
        found.append(invalid(f"{field}.minDomains", one.min_domains, _POSITIVE))
    if one.when_unsatisfiable != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {one.when_unsatisfiable}"
        found.append(invalid(f"{field}.minDomains", one.min_domains, detail))
    return found


def scheduling_gates(values: Iterable[PodSchedulingGate], field: str) -> Errors:
    """Source: validateSchedulingGates."""
    found: Errors = []
    seen: set[str] = set()
    for i, gate in enumerate(values):
        place = f"{field}[{i}]"
        found += each(place, gate.name, qualified_name(gate.name))
        if gate.name in seen:
            found.append(duplicate(place, gate.name))
        seen.add(gate.name)
    return found

"""Validation of scheduling fields: selectors, affinity, tolerations, spread constraints, gates.

Sources: pkg/apis/core/validation validateAffinity, ValidateNodeSelectorRequirement, ValidateTolerations,
validateTopologySpreadConstraints, validateSchedulingGates.
"""

from __future__ import annotations

import re
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
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kitlib.api.meta import LabelSelector
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name, is_valid_label_value
from kitlib.api.release import Release
from kitlib.api.selectors import is_decimal_integer
from kitlib.apiserver.validation.object_meta import validate_label_name, validate_label_selector

UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")
COMPARISONS = ("Lt", "Gt")
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(value: Affinity | None, field: str) -> Errors:
    """Source: validateAffinity."""
    if value is None:
        return []
    found: Errors = []
    if value.node_affinity is not None:
        place = f"{field}.nodeAffinity"
        if value.node_affinity.required is not None:
            found += validate_node_selector(value.node_affinity.required.node_selector_terms, f"{place}.{_REQUIRED}")
        for i, preferred in enumerate(value.node_affinity.preferred):
            one = f"{place}.{_PREFERRED}[{i}]"
            found += _weight(preferred.weight, one)
            found += validate_node_selector_term(preferred.preference, f"{one}.preference", preferred=True)
    for name, terms in (("podAffinity", value.pod_affinity), ("podAntiAffinity", value.pod_anti_affinity)):
        if terms is not None:
            found += _pod_affinity(terms, f"{field}.{name}")
    return found


def _weight(weight: int, field: str) -> Errors:
    return [] if 1 <= weight <= 100 else [invalid(f"{field}.weight", weight, "must be in the range 1-100")]


def validate_node_selector(terms: list[NodeSelectorTerm], field: str) -> Errors:
    """Source: ValidateNodeSelector."""
    if not terms:
        return [required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")]
    found: Errors = []
    for i, term in enumerate(terms):
        found += validate_node_selector_term(term, f"{field}.nodeSelectorTerms[{i}]")
    return found


def validate_node_selector_term(term: NodeSelectorTerm, field: str, *, preferred: bool = False) -> Errors:
    """Source: ValidateNodeSelectorTerm."""
    found: Errors = []
    for i, requirement in enumerate(term.match_expressions):
        found += validate_node_selector_requirement(requirement, f"{field}.matchExpressions[{i}]", preferred=preferred)
    for i, requirement in enumerate(term.match_fields):
        found += _field(requirement, f"{field}.matchFields[{i}]")
    return found


def validate_node_selector_requirement(
    requirement: NodeSelectorRequirement, field: str, *, preferred: bool = False
) -> Errors:
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
    found += validate_label_name(requirement.key, f"{field}.key")
    if not preferred:  # upstream does not check the values of preferences
        for i, value in enumerate(requirement.values):
            found += each(f"{field}.values[{i}]", value, is_valid_label_value(value))
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
        return [*found, invalid(f"{field}.key", requirement.key, "not a valid field selector key")]
    for i, name in enumerate(requirement.values):
        found += each(f"{field}.values[{i}]", name, is_dns1123_subdomain(name))
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
    found = validate_label_selector(term.label_selector, f"{field}.labelSelector")
    found += validate_label_selector(term.namespace_selector, f"{field}.namespaceSelector")
    for name in term.namespaces:
        found += each(f"{field}.namespace", name, is_dns1123_label(name))
    for name, keys in (("matchLabelKeys", term.match_label_keys), ("mismatchLabelKeys", term.mismatch_label_keys)):
        if keys and term.label_selector is None:
            found.append(forbidden(f"{field}.{name}", _NO_SELECTOR))
        elif keys:
            for i, key in enumerate(keys):
                found += validate_label_name(key, f"{field}.{name}[{i}]")
    found += _merged_twice(term.match_label_keys, term.label_selector, field)
    for i, key in enumerate(term.match_label_keys):
        if key in term.mismatch_label_keys:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(f"{field}.matchLabelKeys[{i}]", key, detail))
    if not term.topology_key:
        found.append(required(f"{field}.topologyKey", "can not be empty"))
    return found + validate_label_name(term.topology_key, f"{field}.topologyKey")


def _merged_twice(keys: list[str], selector: LabelSelector | None, field: str) -> Errors:
    """Check that the keys that the API server merges into the selector are not in the user's selector too."""
    found: Errors = []
    if keys and selector is not None:
        seen = set(selector.match_labels)
        for requirement in selector.match_expressions:
            if requirement.key in keys and requirement.key in seen:
                place = f"{field}[{keys.index(requirement.key)}]"
                found.append(invalid(place, requirement.key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(requirement.key)
    return found


def validate_tolerations(values: Iterable[Toleration], field: str) -> Errors:
    """Source: ValidateTolerations."""
    found: Errors = []
    for i, toleration in enumerate(values):
        place = f"{field}[{i}]"
        if toleration.key:
            found += validate_label_name(toleration.key, f"{place}.key")
        if not toleration.key and toleration.operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(invalid(f"{place}.operator", toleration.operator, detail))
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid(f"{place}.effect", toleration.effect, detail))
        if toleration.operator in ("", "Equal"):
            wrong = is_valid_label_value(toleration.value)
            found += [invalid(f"{place}.operator", toleration.value, ";".join(wrong))] if wrong else []
        elif toleration.operator == "Exists":
            if toleration.value:
                found.append(
                    invalid(f"{place}.operator", toleration.value, "value must be empty when `operator` is 'Exists'")
                )
        elif toleration.operator in COMPARISONS and Release.followed().enabled("TaintTolerationComparisonOperators"):
            found += _compared(toleration.value, f"{place}.value")
        else:
            listed = (*OPERATORS, *COMPARISONS) if toleration.operator in COMPARISONS else OPERATORS
            found.append(not_supported(f"{place}.operator", toleration.operator, listed))
        if toleration.effect and toleration.effect not in EFFECTS:
            found.append(not_supported(f"{place}.effect", toleration.effect, EFFECTS))
    return found


def _compared(value: str, field: str) -> Errors:
    """Return the errors of a number in a comparison with taints.

    Source: ValidateTolerations, content.IsDecimalInteger.
    """
    found: Errors = []
    if not value:
        found.append(invalid(field, value, "must be non-empty"))
    elif not is_decimal_integer(value):
        found.append(invalid(field, value, "must be a valid decimal integer in canonical form"))
    problem = ""
    if not re.fullmatch("[+-]?[0-9]+", value, re.ASCII):
        problem = "invalid syntax"
    elif not -(2**63) <= int(value) < 2**63:
        problem = "value out of range"
    if problem:
        found.append(invalid(field, value, f'strconv.ParseInt: parsing "{value}": {problem}'))
    return found


def validate_topology_spread_constraints(values: list[TopologySpreadConstraint], field: str) -> Errors:
    """Source: validateTopologySpreadConstraints."""
    found: Errors = []
    last = {(constraint.topology_key, constraint.when_unsatisfiable): i for i, constraint in enumerate(values)}
    for i, one in enumerate(values):
        place = f"{field}[{i}]"
        if one.max_skew <= 0:
            found.append(invalid(f"{place}.maxSkew", one.max_skew, NOT_POSITIVE))
        if not one.topology_key:
            found.append(required(f"{place}.topologyKey", "can not be empty"))
        if one.when_unsatisfiable not in UNSATISFIABLE:
            found.append(not_supported(f"{place}.whenUnsatisfiable", one.when_unsatisfiable, UNSATISFIABLE))
        if last[one.topology_key, one.when_unsatisfiable] > i:  # source: ValidateSpreadConstraintNotRepeat
            text = f"{{{one.topology_key}, {one.when_unsatisfiable}}}"
            found.append(duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", text))
        found += _min_domains(one, place)
        for name, policy in (
            ("nodeAffinityPolicy", one.node_affinity_policy),
            ("nodeTaintsPolicy", one.node_taints_policy),
        ):
            if policy is not None and policy not in POLICIES:
                found.append(not_supported(f"{place}.{name}", policy, POLICIES))
        found += _spread_label_keys(one, f"{place}.matchLabelKeys")
        found += validate_label_selector(one.label_selector, f"{place}.labelSelector")
    return found


def _spread_label_keys(constraint: TopologySpreadConstraint, field: str) -> Errors:
    """Source: validateMatchLabelKeysInTopologySpread."""
    found: Errors = []
    if constraint.match_label_keys and constraint.label_selector is None:
        found.append(forbidden(field, _NO_SELECTOR))
    for i, key in enumerate(constraint.match_label_keys):
        found += validate_label_name(key, f"{field}[{i}]")
    return found + _merged_twice(constraint.match_label_keys, constraint.label_selector, field)


def _min_domains(constraint: TopologySpreadConstraint, field: str) -> Errors:
    """Source: validateMinDomains."""
    if constraint.min_domains is None:
        return []
    found: Errors = []
    if constraint.min_domains <= 0:
        found.append(invalid(f"{field}.minDomains", constraint.min_domains, NOT_POSITIVE))
    if constraint.when_unsatisfiable != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {constraint.when_unsatisfiable}"
        found.append(invalid(f"{field}.minDomains", constraint.min_domains, detail))
    return found


def validate_scheduling_gates(values: Iterable[PodSchedulingGate], field: str) -> Errors:
    """Source: validateSchedulingGates."""
    found: Errors = []
    seen: set[str] = set()
    for i, gate in enumerate(values):
        place = f"{field}[{i}]"
        found += each(place, gate.name, is_qualified_name(gate.name))
        if gate.name in seen:
            found.append(duplicate(place, gate.name))
        seen.add(gate.name)
    return found

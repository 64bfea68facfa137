"""Validation of roles and bindings; their names must only be path segments.

Source: pkg/apis/rbac/validation.
"""

from __future__ import annotations

from kitlib.api.field_errors import Errors, each, invalid, not_supported, required
from kitlib.api.names import is_dns1123_subdomain, is_path_segment_name
from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)
from kitlib.apiserver.validation.rules import Rules

GROUP = "rbac.authorization.k8s.io"
SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def validate_role(role: Role | ClusterRole) -> Errors:
    """Source: ValidateRole, ValidateClusterRole."""
    namespaced = isinstance(role, Role)
    found = validate_object_meta(role.metadata, namespaced=namespaced, name_rule=validate_path_segment_name)
    for i, rule in enumerate(role.rules):
        found += validate_policy_rule(rule, namespaced, f"rules[{i}]")
    if isinstance(role, ClusterRole) and role.aggregation_rule is not None:
        selectors = role.aggregation_rule.cluster_role_selectors
        place = "aggregationRule.clusterRoleSelectors"
        if not selectors:
            found.append(required(place, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for i, selector in enumerate(selectors):
            found += validate_label_selector(selector, f"{place}[{i}]")
    return found


def validate_role_update(new: Role | ClusterRole, old: Role | ClusterRole) -> Errors:
    """Source: ValidateRoleUpdate."""
    return validate_role(new) + validate_object_meta_update(new.metadata, old.metadata)


def validate_policy_rule(rule: PolicyRule, namespaced: bool, field: str) -> Errors:
    """Source: ValidatePolicyRule."""
    found: Errors = []
    if not rule.verbs:
        found.append(required(f"{field}.verbs", "verbs must contain at least one value"))
    if rule.non_resource_urls:
        place = f"{field}.nonResourceURLs"
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            found.append(invalid(place, rule.non_resource_urls, detail))
        if rule.api_groups or rule.resources or rule.resource_names:
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(invalid(place, rule.non_resource_urls, detail))
        return found
    if not rule.api_groups:
        found.append(required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.resources:
        found.append(required(f"{field}.resources", "resource rules must supply at least one resource"))
    return found


def validate_role_binding(binding: RoleBinding | ClusterRoleBinding) -> Errors:
    """Source: ValidateRoleBinding, ValidateClusterRoleBinding."""
    namespaced = isinstance(binding, RoleBinding)
    found = validate_object_meta(binding.metadata, namespaced=namespaced, name_rule=validate_path_segment_name)
    reference = binding.role_ref
    if reference.api_group != GROUP:
        found.append(not_supported("roleRef.apiGroup", reference.api_group, (GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if reference.kind not in kinds:
        found.append(not_supported("roleRef.kind", reference.kind, kinds))
    if not reference.name:
        found.append(required("roleRef.name"))
    else:
        found += each("roleRef.name", reference.name, is_path_segment_name(reference.name))
    for i, subject in enumerate(binding.subjects):
        found += _subject(subject, namespaced, f"subjects[{i}]")
    return found


def _subject(subject: Subject, namespaced: bool, field: str) -> Errors:
    """Source: ValidateRoleBindingSubject."""
    found: Errors = []
    if not subject.name:
        found.append(required(f"{field}.name"))
    if subject.kind == "ServiceAccount":
        if subject.name:
            found += each(f"{field}.name", subject.name, is_dns1123_subdomain(subject.name))
        if subject.api_group:
            found.append(not_supported(f"{field}.apiGroup", subject.api_group, ("",)))
        if not namespaced and not subject.namespace:
            found.append(required(f"{field}.namespace"))
    elif subject.kind in SUBJECT_KINDS:
        if not subject.name:
            detail = f"{subject.kind.lower()} name cannot be empty"
            found.append(invalid(f"{field}.name", subject.name, detail))
        if subject.api_group != GROUP:
            found.append(not_supported(f"{field}.apiGroup", subject.api_group, (GROUP,)))
    else:
        found.append(not_supported(f"{field}.kind", subject.kind, SUBJECT_KINDS))
    return found


def validate_role_binding_update(
    new: RoleBinding | ClusterRoleBinding, old: RoleBinding | ClusterRoleBinding
) -> Errors:
    """Check that an update keeps the role. Source: ValidateRoleBindingUpdate."""
    found = validate_role_binding(new) + validate_object_meta_update(new.metadata, old.metadata)
    if new.role_ref != old.role_ref:
        found.append(invalid("roleRef", new.role_ref, "cannot change roleRef"))
    return found


KINDS: Rules = {
    Role: (validate_role, validate_role_update),
    ClusterRole: (validate_role, validate_role_update),
    RoleBinding: (validate_role_binding, validate_role_binding_update),
    ClusterRoleBinding: (validate_role_binding, validate_role_binding_update),
}

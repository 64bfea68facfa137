"""Validation of FlowSchemas and PriorityLevelConfigurations.

Source: pkg/apis/flowcontrol/validation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kitlib.api.field_errors import Errors, each, forbidden, invalid, lone_wildcard, not_supported, required
from kitlib.api.flowcontrol import (
    FlowSchema,
    FlowSubject,
    GroupSubject,
    LimitedPriorityLevelConfiguration,
    NonResourcePolicyRule,
    PriorityLevelConfiguration,
    QueuingConfiguration,
    ResourcePolicyRule,
    ServiceAccountSubject,
    UserSubject,
)
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules

METHODS = ("ByNamespace", "ByUser")
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
SUBJECTS = ("Group", "ServiceAccount", "User")
LEVEL_TYPES, RESPONSES = ("Exempt", "Limited"), ("Queue", "Reject")
MAX_PRECEDENCE, MAX_QUEUES, MAX_HASH_BITS = 10000, 10_000_000, 60
EXEMPT = "exempt"
_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def validate_flow_schema(obj: FlowSchema) -> Errors:
    """Source: ValidateFlowSchema, ValidateFlowSchemaSpec."""
    spec = obj.spec
    found = validate_object_meta(obj.metadata, namespaced=False)
    place, precedence = "spec.matchingPrecedence", spec.matching_precedence
    if precedence <= 0:
        found.append(invalid(place, precedence, "must be a positive value"))
    if precedence > MAX_PRECEDENCE:
        found.append(invalid(place, precedence, f"must not be greater than {MAX_PRECEDENCE}"))
    if precedence == 1 and obj.name != EXEMPT:
        found.append(invalid(place, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.distinguisher_method
    if method is not None and method.type not in METHODS:
        found.append(not_supported("spec.distinguisherMethod.type", method, METHODS))
    place, name = "spec.priorityLevelConfiguration.name", spec.priority_level_configuration.name
    if name:
        found += each(place, name, is_dns1123_subdomain(name))
    else:
        found.append(required(place, "must reference a priority level"))
    for i, rule in enumerate(spec.rules):
        place = f"spec.rules[{i}]"
        if not rule.subjects:
            found.append(required(f"{place}.subjects", "subjects must contain at least one value"))
        for j, subject in enumerate(rule.subjects):
            found += _subject(subject, f"{place}.subjects[{j}]")
        if not rule.resource_rules and not rule.non_resource_rules:
            found.append(required(place, "at least one of resourceRules and nonResourceRules has to be non-empty"))
        for j, resources in enumerate(rule.resource_rules):
            found += _resource_rule(resources, f"{place}.resourceRules[{j}]")
        for j, urls in enumerate(rule.non_resource_rules):
            found += _non_resource_rule(urls, f"{place}.nonResourceRules[{j}]")
    return found


def validate_flow_schema_update(new: FlowSchema, old: FlowSchema) -> Errors:
    """Source: ValidateFlowSchemaUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + validate_flow_schema(new)


def _subject(subject: FlowSubject, field: str) -> Errors:
    """Source: ValidateFlowSchemaSubject."""
    if subject.kind not in SUBJECTS:
        return [not_supported(f"{field}.kind", subject.kind, SUBJECTS)]
    parts: tuple[tuple[str, str, UserSubject | GroupSubject | ServiceAccountSubject | None], ...] = (
        ("ServiceAccount", "serviceAccount", subject.service_account),
        ("User", "user", subject.user),
        ("Group", "group", subject.group),
    )
    found: Errors = []
    for kind, name, part in sorted(parts, key=lambda one: one[0] != subject.kind):
        place = f"{field}.{name}"
        if kind != subject.kind:
            detail = f"{name} is forbidden when subject kind is not '{kind}'"
            found += [forbidden(place, detail)] if part is not None else []
        elif part is None:
            found.append(required(place, f"{name} is required when subject kind is '{kind}'"))
        else:
            found += _named(part, place)
    return found


def _named(part: UserSubject | GroupSubject | ServiceAccountSubject, field: str) -> Errors:
    """Source: ValidateServiceAccountSubject, ValidateUserSubject, ValidateGroupSubject."""
    found: Errors = [] if part.name else [required(f"{field}.name")]
    if isinstance(part, UserSubject | GroupSubject):
        return found
    if part.name not in ("", "*"):
        found += each(f"{field}.name", part.name, is_dns1123_subdomain(part.name))
    if not part.namespace:
        return [*found, required(f"{field}.namespace", "must specify namespace for service account")]
    return found + each(f"{field}.namespace", part.namespace, is_dns1123_label(part.namespace))


def _verbs(verbs: Sequence[str], field: str) -> Errors:
    if not verbs:
        return [required(field, "verbs must contain at least one value")]
    if "*" in verbs:
        return lone_wildcard(field, verbs, "verbs")
    return [] if set(verbs) <= set(VERBS) else [not_supported(field, verbs, VERBS)]


def _resource_rule(rule: ResourcePolicyRule, field: str) -> Errors:
    """Source: ValidateFlowSchemaResourcePolicyRule."""
    found = _verbs(rule.verbs, f"{field}.verbs")
    for name, values, one, others in (
        ("apiGroups", rule.api_groups, "api group", "api groups"),
        ("resources", rule.resources, "resource", "resources"),
    ):
        place = f"{field}.{name}"
        missing = required(place, f"resource rules must supply at least one {one}")
        found += lone_wildcard(place, values, others) if values else [missing]
    place = f"{field}.namespaces"
    if not rule.namespaces and not rule.cluster_scope:
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        found.append(required(place, detail))
    elif "*" in rule.namespaces:
        found += lone_wildcard(place, rule.namespaces, "namespaces")
    else:
        for i, name in enumerate(rule.namespaces):
            found += [invalid(f"{place}[{i}]", name, _NAMESPACE + wrong) for wrong in is_dns1123_label(name)]
    return found


def _non_resource_rule(rule: NonResourcePolicyRule, field: str) -> Errors:
    """Source: ValidateFlowSchemaNonResourcePolicyRule."""
    found = _verbs(rule.verbs, f"{field}.verbs")
    place, urls = f"{field}.nonResourceURLs", rule.non_resource_urls
    if not urls:
        return [*found, required(place, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return found + lone_wildcard(place, urls, "non-resource URLs")
    for i, url in enumerate(urls):
        wrong = _url_path(url)
        found += [invalid(f"{place}[{i}]", url, wrong)] if wrong else []
    return found


def _url_path(path: str) -> str:
    """Return the problem of a URL path; "" if it is valid. Source: ValidateNonResourceURLPath."""
    if not path:
        return "must not be empty"
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    wildcards = path.count("*")
    if wildcards > 1 or (wildcards == 1 and not path.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def validate_priority_level_configuration(obj: PriorityLevelConfiguration) -> Errors:
    """Source: ValidatePriorityLevelConfiguration, ValidatePriorityLevelConfigurationSpec."""
    spec = obj.spec
    found = validate_object_meta(obj.metadata, namespaced=False)
    if (obj.name == EXEMPT) != (spec.type == "Exempt"):
        found.append(invalid("spec.type", spec.type, "type must be 'Exempt' if and only if name is 'exempt'"))
    if spec.type == "Exempt":
        if spec.limited is not None:
            found.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        if spec.exempt is None:
            found.append(required("spec.exempt", "must not be empty if type is Exempt"))
        else:
            shares, lendable = spec.exempt.nominal_concurrency_shares, spec.exempt.lendable_percent
            found += _shares(shares, lendable, "spec.exempt")
    elif spec.type == "Limited":
        if spec.exempt is not None:
            found.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if spec.limited is None:
            found.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            found += _limited(spec.limited, "spec.limited")
    else:
        found.append(not_supported("spec.type", spec.type, LEVEL_TYPES))
    return found


def validate_priority_level_configuration_update(
    new: PriorityLevelConfiguration, old: PriorityLevelConfiguration
) -> Errors:
    """Source: ValidatePriorityLevelConfigurationUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + validate_priority_level_configuration(new)


def _shares(shares: int | None, lendable: int | None, field: str) -> Errors:
    found: Errors = []
    if shares is not None and shares < 0:
        found.append(invalid(f"{field}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    if lendable is not None and not 0 <= lendable <= 100:
        found.append(invalid(f"{field}.lendablePercent", lendable, "must be between 0 and 100, inclusive"))
    return found


def _limited(level: LimitedPriorityLevelConfiguration, field: str) -> Errors:
    """Source: ValidateLimitedPriorityLevelConfiguration, ValidateLimitResponse."""
    found = _shares(level.nominal_concurrency_shares, None, field)
    response, place = level.limit_response, f"{field}.limitResponse"
    if response.type == "Reject":
        if response.queuing is not None:
            detail = "must be nil if limited.limitResponse.type is not Limited"
            found.append(forbidden(f"{place}.queuing", detail))
    elif response.type == "Queue":
        if response.queuing is None:
            detail = "must not be empty if limited.limitResponse.type is Limited"
            found.append(required(f"{place}.queuing", detail))
        else:
            found += _queuing(response.queuing, f"{place}.queuing")
    else:
        found.append(not_supported(f"{place}.type", response.type, RESPONSES))
    found += _shares(None, level.lendable_percent, field)
    borrowed = level.borrowing_limit_percent
    if borrowed is not None and borrowed < 0:
        detail = "if specified, must be a non-negative integer"
        found.append(invalid(f"{field}.borrowingLimitPercent", borrowed, detail))
    return found


def _queuing(queuing: QueuingConfiguration, field: str) -> Errors:
    """Source: ValidatePriorityLevelQueuingConfiguration, shufflesharding.RequiredEntropyBits."""
    found: Errors = []
    queues, hand = queuing.queues, queuing.hand_size
    if queuing.queue_length_limit <= 0:
        found.append(invalid(f"{field}.queueLengthLimit", queuing.queue_length_limit, "must be positive"))
    if queues <= 0:
        found.append(invalid(f"{field}.queues", queues, "must be positive"))
    elif queues > MAX_QUEUES:
        found.append(invalid(f"{field}.queues", queues, f"must not be greater than {MAX_QUEUES}"))
    place = f"{field}.handSize"
    if hand <= 0:
        found.append(invalid(place, hand, "must be positive"))
    elif hand > queues:
        found.append(invalid(place, hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        detail = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        found.append(invalid(place, hand, f"{detail} {MAX_HASH_BITS}"))
    return found


KINDS: Rules = {
    FlowSchema: (validate_flow_schema, validate_flow_schema_update),
    PriorityLevelConfiguration: (validate_priority_level_configuration, validate_priority_level_configuration_update),
}

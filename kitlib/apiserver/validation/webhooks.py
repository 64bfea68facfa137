"""Validation of webhook configurations, and of the rules that webhooks and policies share.

Source: pkg/apis/admissionregistration/validation (ValidateValidatingWebhookConfiguration,
ValidateMutatingWebhookConfiguration, validateRuleWithOperations, validateMatchConditions).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.admissionregistration import (
    MatchCondition,
    MutatingWebhook,
    MutatingWebhookConfiguration,
    NamedRuleWithOperations,
    RuleWithOperations,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from kitlib.api.field_errors import (
    Errors,
    duplicate,
    each,
    invalid,
    lone_wildcard,
    not_supported,
    required,
    too_many,
)
from kitlib.api.names import is_dns1035_label, is_dns1123_subdomain, is_qualified_name
from kitlib.apiserver.validation.expressions import validate_expression
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.webhook_clients import validate_client_config
from kitlib.cel.admission_expressions import PolicyEnvironment
from kitlib.cel.library import BOOL

Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration
FAILURE_POLICIES, MATCH_POLICIES = ("Fail", "Ignore"), ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
REVIEWS = ("v1", "v1beta1")
MAX_CONDITIONS = 64


def validate_webhook_configuration(obj: Configuration) -> Errors:
    """Source: ValidateValidatingWebhookConfiguration, ValidateMutatingWebhookConfiguration."""
    return validate_object_meta(obj.metadata, namespaced=False, known_finalizers=False) + _webhooks(obj)


def validate_webhook_configuration_update(new: Configuration, old: Configuration) -> Errors:
    """Source: ValidateValidatingWebhookConfigurationUpdate, ValidateMutatingWebhookConfigurationUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False) + _webhooks(new)


def _webhooks(obj: Configuration) -> Errors:
    found: Errors = []
    names: set[str] = set()
    for i, hook in enumerate(obj.webhooks):
        place = f"webhooks[{i}]"
        found += _webhook(hook, place) + _reviews(hook.admission_review_versions, f"{place}.admissionReviewVersions")
        if hook.name in names:
            found.append(duplicate(f"{place}.name", hook.name))
        names |= {hook.name} - {""}
    return found


def _webhook(hook: ValidatingWebhook, field: str) -> Errors:
    """Source: validateValidatingWebhook, validateMutatingWebhook."""
    found = is_fully_qualified_name(hook.name, f"{field}.name")
    for i, rule in enumerate(hook.rules):
        found += validate_rule(rule, f"{field}.rules[{i}]")
    found += one_of(hook.failure_policy, FAILURE_POLICIES, f"{field}.failurePolicy")
    found += one_of(hook.match_policy, MATCH_POLICIES, f"{field}.matchPolicy")
    if hook.side_effects is None:
        found.append(required(f"{field}.sideEffects", f"must specify one of {', '.join(NO_SIDE_EFFECTS)}"))
    found += one_of(hook.side_effects, NO_SIDE_EFFECTS, f"{field}.sideEffects")
    seconds = hook.timeout_seconds
    if seconds is not None and not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid(f"{field}.timeoutSeconds", seconds, detail))
    found += validate_label_selector(hook.namespace_selector, f"{field}.namespaceSelector")
    found += validate_label_selector(hook.object_selector, f"{field}.objectSelector")
    if isinstance(hook, MutatingWebhook):
        found += one_of(hook.reinvocation_policy, REINVOCATION_POLICIES, f"{field}.reinvocationPolicy")
    found += validate_client_config(hook.client_config, f"{field}.clientConfig")
    return found + validate_match_conditions(hook.match_conditions, f"{field}.matchConditions", PolicyEnvironment())


def one_of(value: str | None, supported: Sequence[str], field: str) -> Errors:
    """Check that a value, if set, is one of the supported ones."""
    return [not_supported(field, value, supported)] if value is not None and value not in supported else []


def is_fully_qualified_name(name: str, field: str) -> Errors:
    """Source: utilvalidation.IsFullyQualifiedName."""
    if not name:
        return [required(field)]
    wrong = is_dns1123_subdomain(name)
    if wrong:
        return [invalid(field, name, ",".join(wrong))]
    if name.count(".") < 2:
        return [invalid(field, name, "should be a domain with at least three segments separated by dots")]
    return []


def _reviews(versions: Sequence[str], field: str) -> Errors:
    """Source: validateAdmissionReviewVersions."""
    if not versions:
        return [required(field, f"must specify one of {', '.join(REVIEWS)}")]
    found: Errors = []
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            found.append(invalid(f"{field}[{i}]", version, "duplicate version"))
        else:
            found += each(f"{field}[{i}]", version, is_dns1035_label(version))
        seen.add(version)
    if not set(versions) & set(REVIEWS):
        found.append(invalid(field, versions, f"must include at least one of {', '.join(REVIEWS)}"))
    return found


def validate_rule(rule: RuleWithOperations | NamedRuleWithOperations, field: str) -> Errors:
    """Source: validateRuleWithOperations, validateRule."""
    found = _with_wildcard(rule.operations, f"{field}.operations", "operations")
    for i, operation in enumerate(rule.operations):
        found += one_of(operation, OPERATIONS, f"{field}.operations[{i}]")
    found += _with_wildcard(rule.api_groups, f"{field}.apiGroups", "API groups")
    found += _with_wildcard(rule.api_versions, f"{field}.apiVersions", "API versions")
    found += [required(f"{field}.apiVersions[{i}]") for i, version in enumerate(rule.api_versions) if not version]
    found += _resources(rule.resources, f"{field}.resources")
    return found + one_of(rule.scope, SCOPES, f"{field}.scope")


def _with_wildcard(values: Sequence[str], field: str, others: str) -> Errors:
    return lone_wildcard(field, values, others) if values else [required(field)]


def _resources(resources: Sequence[str], field: str) -> Errors:
    """Source: validateResources."""
    found: Errors = [] if resources else [required(field)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    plain = False
    for i, name in enumerate(resources):
        place = f"{field}[{i}]"
        if not name:
            found.append(required(place))
            continue
        resource, slash, sub = name.partition("/")
        if not slash:
            plain = name != "*"
            continue
        if resource in whole:
            found.append(invalid(place, name, f"if '{resource}/*' is present, must not specify {name}"))
        if sub in everywhere:
            found.append(invalid(place, name, f"if '*/{sub}' is present, must not specify {name}"))
        whole |= {resource} if sub == "*" else set()
        everywhere |= {sub} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(field, resources, detail))
    return found


def validate_match_conditions(
    conditions: Sequence[MatchCondition], field: str, environment: PolicyEnvironment
) -> Errors:
    """Source: validateMatchConditions, validateMatchCondition."""
    found: Errors = []
    if len(conditions) > MAX_CONDITIONS:
        found.append(too_many(field, len(conditions), MAX_CONDITIONS))
    names: set[str] = set()
    for i, condition in enumerate(conditions):
        place, name = f"{field}[{i}]", condition.name
        text = condition.expression.strip()
        if not text:
            found.append(required(f"{place}.expression"))
        else:
            found += validate_expression(environment, text, f"{place}.expression", BOOL, variables=False)
        found += each(f"{place}.name", name, is_qualified_name(name)) if name else [required(f"{place}.name")]
        if name in names:
            found.append(duplicate(f"{place}.name", name))
        names |= {name} - {""}
    return found


KINDS: Rules = {
    ValidatingWebhookConfiguration: (validate_webhook_configuration, validate_webhook_configuration_update),
    MutatingWebhookConfiguration: (validate_webhook_configuration, validate_webhook_configuration_update),
}

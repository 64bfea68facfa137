"""Validation of admission policies and their bindings; their CEL expressions are compiled.

Source: pkg/apis/admissionregistration/validation (ValidateValidatingAdmissionPolicy, ValidateMutatingAdmissionPolicy,
validateValidatingAdmissionPolicyBindingSpec, validateMatchResources, validateParamRef).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kitlib.api.admissionregistration import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    Mutation,
    ParamKind,
    ParamRef,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Validation,
    Variable,
)
from kitlib.api.field_errors import Errors, duplicate, each, forbidden, invalid, not_supported, required
from kitlib.api.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_qualified_name,
)
from kitlib.apiserver.validation.expressions import validate_expression
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.webhooks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    one_of,
    validate_match_conditions,
    validate_rule,
)
from kitlib.cel import library as lib
from kitlib.cel.admission_expressions import PATCH_TYPES, PolicyEnvironment
from kitlib.cel.parser import CompileError

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding
ACTIONS = ("Audit", "Deny", "Warn")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
NOT_FOUND_ACTIONS = ("Deny", "Allow")
MAX_AUDIT_ANNOTATIONS, MAX_VALUE_EXPRESSION = 20, 5 * 1024
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_SOMETHING = "validations or auditAnnotations must contain at least one item"
_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def validate_admission_policy(obj: Policy) -> Errors:
    """Source: ValidateValidatingAdmissionPolicy, ValidateMutatingAdmissionPolicy."""
    return validate_object_meta(obj.metadata, namespaced=False, known_finalizers=False) + _policy(obj)


def validate_admission_policy_update(new: Policy, old: Policy) -> Errors:
    """Source: ValidateValidatingAdmissionPolicyUpdate, ValidateMutatingAdmissionPolicyUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False) + _policy(new)


def _policy(obj: Policy) -> Errors:
    """Source: validateValidatingAdmissionPolicySpec, validateMutatingAdmissionPolicySpec."""
    spec = obj.spec
    found: Errors = [required("spec.failurePolicy")] if spec.failure_policy is None else []
    found += one_of(spec.failure_policy, FAILURE_POLICIES, "spec.failurePolicy")
    if spec.param_kind is not None:
        found += _param_kind(spec.param_kind, "spec.paramKind")
    if spec.match_constraints is None:
        found.append(required("spec.matchConstraints"))
    else:
        found += _match_resources(spec.match_constraints, "spec.matchConstraints")
        if not spec.match_constraints.resource_rules:
            found.append(required("spec.matchConstraints.resourceRules"))
    environment = PolicyEnvironment(spec.param_kind is not None)
    found += validate_match_conditions(spec.match_conditions, "spec.matchConditions", environment)
    for i, variable in enumerate(spec.variables):
        found += _variable(variable, f"spec.variables[{i}]")
        if variable.expression.strip():
            place = f"spec.variables[{i}].expression"
            wrong = validate_expression(environment, variable.expression, place)
            found += wrong
            if not wrong:
                environment.declare(variable)
    if isinstance(obj, ValidatingAdmissionPolicy):
        return found + _validations(obj, environment)
    return found + _mutations(obj, environment)


def _validations(obj: ValidatingAdmissionPolicy, environment: PolicyEnvironment) -> Errors:
    spec = obj.spec
    if not spec.validations and not spec.audit_annotations:
        return [required("spec.validations", _SOMETHING), required("spec.auditAnnotations", _SOMETHING)]
    found: Errors = []
    for i, validation in enumerate(spec.validations):
        found += _validation(validation, f"spec.validations[{i}]", environment)
    if len(spec.audit_annotations) > MAX_AUDIT_ANNOTATIONS:
        detail = f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"
        found.append(invalid("spec.auditAnnotations", spec.audit_annotations, detail))
    keys: set[str] = set()
    for i, annotation in enumerate(spec.audit_annotations):
        place, text = f"spec.auditAnnotations[{i}]", annotation.value_expression.strip()
        if obj.name:
            qualified = f"{obj.name}/{annotation.key}"
            found += each(f"{place}.key", qualified, is_qualified_name(qualified))
        else:
            found.append(invalid(f"{place}.key", annotation.key, "requires metadata.name be non-empty"))
        if not text:
            found.append(required(f"{place}.valueExpression", "valueExpression is not specified"))
        elif len(text.encode()) > MAX_VALUE_EXPRESSION:
            detail = f"must not exceed {MAX_VALUE_EXPRESSION} bytes in length"
            found.append(required(f"{place}.valueExpression", detail))
        else:
            value = annotation.value_expression
            found += validate_expression(environment, value, f"{place}.valueExpression", lib.STRING, lib.NULL)
        if annotation.key in keys:
            found.append(duplicate(f"{place}.key", annotation.key))
        keys.add(annotation.key)
    return found


def _validation(validation: Validation, field: str, environment: PolicyEnvironment) -> Errors:
    """Source: validateValidation."""
    found: Errors = []
    if not validation.expression.strip():
        found.append(required(f"{field}.expression", "expression is not specified"))
    else:
        found += validate_expression(environment, validation.expression, f"{field}.expression", lib.BOOL)
    text, place = validation.message_expression, f"{field}.messageExpression"
    if text and not text.strip():
        found.append(invalid(place, text, "must be non-empty if specified"))
    elif text:
        found += validate_expression(environment, text, place, lib.STRING, authorizer=False)
    message = validation.message
    if message and not message.strip():
        found.append(invalid(f"{field}.message", message, "message must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        found.append(invalid(f"{field}.message", message, "message must not contain line breaks"))
    return found + one_of(validation.reason, REASONS, f"{field}.reason")


def _mutations(obj: MutatingAdmissionPolicy, environment: PolicyEnvironment) -> Errors:
    spec = obj.spec
    found: Errors = [] if spec.reinvocation_policy else [required("spec.reinvocationPolicy")]
    found += one_of(spec.reinvocation_policy or None, REINVOCATION_POLICIES, "spec.reinvocationPolicy")
    if not spec.mutations:
        found.append(required("spec.mutations", "mutations must contain at least one item"))
    for i, mutation in enumerate(spec.mutations):
        found += _mutation(mutation, f"spec.mutations[{i}]", environment)
    return found


def _mutation(mutation: Mutation, field: str, environment: PolicyEnvironment) -> Errors:
    """Source: validateMutation."""
    kind = mutation.patch_type
    if not kind:
        return [required(f"{field}.patchType")]
    if kind not in PATCH_TYPES:
        return [not_supported(f"{field}.patchType", kind, list(PATCH_TYPES))]
    found: Errors = []
    for name, patch, wanted in (
        ("applyConfiguration", mutation.apply_configuration, "ApplyConfiguration"),
        ("jsonPatch", mutation.json_patch, "JSONPatch"),
    ):
        place = f"{field}.{name}"
        if kind != wanted:
            found += [forbidden(place, f"must not be specified when patchType is {kind}")] if patch is not None else []
        elif patch is None:
            found.append(required(place, f"must be specified when patchType is {kind}"))
        elif not patch.expression.strip():
            found.append(required(f"{place}.expression", "expression is not specified"))
        else:
            try:
                environment.mutation(kind, patch.expression)
            except CompileError as error:
                found.append(invalid(f"{place}.expression", patch.expression, str(error)))
    return found


def _param_kind(kind: ParamKind, field: str) -> Errors:
    """Source: validateParamKind."""
    found: Errors = []
    place, text = f"{field}.apiVersion", kind.api_version
    group, _, version = text.rpartition("/")
    if not text:
        found.append(required(place))
    elif text.count("/") > 1:
        found.append(invalid(place, text, f"unexpected GroupVersion string: {text}"))
    else:
        wrong = is_dns1123_subdomain(group) if group else ()
        found += [invalid(place, group, ",".join(wrong))] if wrong else []
        wrong = is_dns1035_label(version)
        if not version:
            found.append(invalid(place, text, "version must be specified"))
        elif wrong:
            found.append(invalid(place, version, ",".join(wrong)))
    if not kind.kind:
        return [*found, required(f"{field}.kind")]
    wrong = is_dns1035_label(kind.kind.lower())
    if wrong:
        detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        found.append(invalid(f"{field}.kind", kind.kind, detail))
    return found


def _match_resources(given: MatchResources, field: str) -> Errors:
    """Source: validateMatchResources, validateNamedRuleWithOperations."""
    found: Errors = [required(f"{field}.matchPolicy")] if given.match_policy is None else []
    found += one_of(given.match_policy, MATCH_POLICIES, f"{field}.matchPolicy")
    for name, selector in (
        ("namespaceSelector", given.namespace_selector),
        ("objectSelector", given.object_selector),
    ):
        place = f"{field}.{name}"
        found += [required(place)] if selector is None else validate_label_selector(selector, place)
    for name, rules in (
        ("resourceRules", given.resource_rules),
        ("excludeResourceRules", given.exclude_resource_rules),
    ):
        for i, rule in enumerate(rules):
            place = f"{field}.{name}[{i}]"
            for j, one in enumerate(rule.resource_names):
                found += each(f"{place}.resourceNames[{j}]", one, is_path_segment_name(one))
                if one in rule.resource_names[:j]:
                    found.append(duplicate(f"{place}.resourceNames[{j}]", one))
            found += validate_rule(rule, place)
    return found


def _variable(variable: Variable, field: str) -> Errors:
    """Source: validateVariable, isCELIdentifier."""
    found: Errors = []
    if not variable.name.strip():
        found.append(required(f"{field}.name", "name is not specified"))
    elif not _IDENTIFIER.fullmatch(variable.name) or variable.name in _RESERVED:
        found.append(invalid(f"{field}.name", variable.name, "name is not a valid CEL identifier"))
    if not variable.expression.strip():
        found.append(required(f"{field}.expression", "expression is not specified"))
    return found


def validate_admission_policy_binding(obj: Binding) -> Errors:
    """Source: ValidateValidatingAdmissionPolicyBinding, ValidateMutatingAdmissionPolicyBinding."""
    return validate_object_meta(obj.metadata, namespaced=False, known_finalizers=False) + _binding(obj)


def validate_admission_policy_binding_update(new: Binding, old: Binding) -> Errors:
    """Source: ValidateValidatingAdmissionPolicyBindingUpdate, ValidateMutatingAdmissionPolicyBindingUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False) + _binding(new)


def _binding(obj: Binding) -> Errors:
    """Source: validateValidatingAdmissionPolicyBindingSpec, whose path of matchResources lacks an "r"."""
    spec = obj.spec
    place, name = "spec.policyName", spec.policy_name
    found = each(place, name, is_dns1123_subdomain(name)) if name else [required(place)]
    if spec.param_ref is not None:
        found += _param_ref(spec.param_ref, "spec.paramRef")
    if spec.match_resources is not None:
        found += _match_resources(spec.match_resources, "spec.matchResouces")
    if isinstance(obj, ValidatingAdmissionPolicyBinding):
        found += _actions(obj.spec.validation_actions, "spec.validationActions")
    return found


def _actions(actions: Sequence[str], field: str) -> Errors:
    """Source: validateValidationActions."""
    found: Errors = []
    seen: set[str] = set()
    for i, action in enumerate(actions):
        found += one_of(action, ACTIONS, f"{field}[{i}]")
        if action in seen:
            found.append(duplicate(f"{field}[{i}]", action))
        seen.add(action)
    if {"Deny", "Warn"} <= set(actions):
        found.append(invalid(field, actions, _TWICE))
    return found if actions else [*found, required(field, "at least one validation action is required")]


def _param_ref(reference: ParamRef, field: str) -> Errors:
    """Source: validateParamRef."""
    found: Errors = []
    name, selector, action = reference.name, reference.selector, reference.parameter_not_found_action
    both = "name and selector are mutually exclusive"
    if name:
        found += each(f"{field}.name", name, is_path_segment_name(name))
        found += [forbidden(f"{field}.name", both)] if selector is not None else []
    if selector is not None:
        found += validate_label_selector(selector, f"{field}.selector")
        found += [forbidden(f"{field}.selector", both)] if name else []
    if not name and selector is None:
        found.append(required(field, "one of name or selector must be specified"))
    if not action:
        return [*found, required(f"{field}.parameterNotFoundAction")]
    return found + one_of(action, NOT_FOUND_ACTIONS, f"{field}.parameterNotFoundAction")


KINDS: Rules = {
    ValidatingAdmissionPolicy: (validate_admission_policy, validate_admission_policy_update),
    MutatingAdmissionPolicy: (validate_admission_policy, validate_admission_policy_update),
    ValidatingAdmissionPolicyBinding: (validate_admission_policy_binding, validate_admission_policy_binding_update),
    MutatingAdmissionPolicyBinding: (validate_admission_policy_binding, validate_admission_policy_binding_update),
}

"""ValidatingAdmissionPolicy: every matching binding of every policy decides on a write.

Source: plugin/policy/validating (dispatcher.go Dispatch, validator.go Validate).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kitlib.api.admissionregistration import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpec,
    Validation,
)
from kitlib.api.core import Namespace
from kitlib.api.errors import PolicyDenied
from kitlib.api.serialize import from_dict, to_json
from kitlib.apiserver.admission.attributes import AdmissionAttributes, shown
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.apiserver.admission.policy.invocations import (
    EXEMPT,
    IGNORE,
    CompiledPolicy,
    ConditionError,
    ConfigurationError,
    UnknownParamKind,
    Variables,
    authorizer,
    conditions_met,
    is_about,
    params_of,
    problem,
)
from kitlib.apiserver.store.store import Store
from kitlib.cel import library as lib
from kitlib.cel.admission_expressions import MAX_COST
from kitlib.cel.expression import Expression
from kitlib.cel.library import EvaluationError
from kitlib.cel.parser import CompileError

DENY, WARN = "Deny", "Warn"
CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
"""Reason of a validation -> HTTP status code; others are 422. Source: reasonToCode."""
MAX_MESSAGE = 5 * 1024
"""The maximum size of a messageExpression's result in bytes.

Source: celconfig.MaxEvaluatedMessageExpressionSizeBytes.
"""


@dataclass(frozen=True)
class PolicyRefusal:
    """The denial of a write by a policy.

    Attributes:
        message: the message of the validation.
        reason: the reason of the Status; "" = Invalid.
        is_failure: whether the policy cannot be evaluated, which denies independent of the binding's actions.
        of_policy: whether the message names the policy without its binding.
    """

    message: str
    reason: str = ""
    is_failure: bool = False
    of_policy: bool = False


class CompiledValidatingPolicy(CompiledPolicy):
    """The expressions of a validating policy, with validations and audit annotations."""

    def __init__(self, spec: ValidatingAdmissionPolicySpec) -> None:
        super().__init__(spec)
        self.validations = [
            (
                validation,
                self.environment.compile(validation.expression, lib.BOOL),
                self.environment.compile(validation.message_expression, lib.STRING, authorizer=False)
                if validation.message_expression
                else None,
            )
            for validation in spec.validations
        ]
        self.annotations = [
            (annotation.value_expression, self.environment.compile(annotation.value_expression, lib.STRING, lib.NULL))
            for annotation in spec.audit_annotations
        ]

    def refusals(self, names: Mapping[str, Any], ignore_errors: bool) -> list[PolicyRefusal]:
        """Return the denials of a write; empty if it is allowed.

        Args:
            names: the values of the declared names.
            ignore_errors: whether an evaluation error counts as true (failurePolicy Ignore).
        """
        try:
            if not conditions_met(self.conditions, names):
                return []
        except ConditionError as error:
            return [] if ignore_errors else [PolicyRefusal(str(error))]
        names = {**names, "variables": Variables(self.variables, names)}
        found = []
        for validation, expression, message in self.validations:
            try:
                if expression.evaluate(names, MAX_COST) is not True:
                    found.append(PolicyRefusal(_message(validation, message, names), validation.reason or ""))
            except EvaluationError as error:
                if not ignore_errors:
                    found.append(PolicyRefusal(problem(validation.expression, error)))
        for text, annotation in self.annotations:
            try:
                annotation.evaluate(names, MAX_COST)
            except EvaluationError as error:
                if not ignore_errors:
                    found.append(PolicyRefusal(problem(text, error), is_failure=True))
        return found


def _message(validation: Validation, expression: Expression | None, names: Mapping[str, Any]) -> str:
    """Return the messageExpression's result if valid, else the message, else the expression.

    Source: validator.Validate.
    """
    if expression is not None:
        try:
            text = expression.evaluate(names, MAX_COST)
        except EvaluationError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text and len(text.encode()) <= MAX_MESSAGE:
            return text.strip()
    return validation.message.strip() or f"failed expression: {validation.expression.strip()}"


@lru_cache(maxsize=128)
def _compiled(text: str) -> CompiledValidatingPolicy:
    """Compile the expressions of a spec, given as JSON so that the result can be cached."""
    return CompiledValidatingPolicy(from_dict(json.loads(text), ValidatingAdmissionPolicySpec))


def ask(store: Store, about: AdmissionAttributes) -> list[str]:
    """Evaluate all matching policies.

    Returns:
        The warnings of bindings with the action Warn.

    Raises:
        PolicyDenied: a binding denies the write.
    """
    bindings = store.list(ValidatingAdmissionPolicyBinding, copy=False)
    if not bindings or about.resource.plural in EXEMPT:
        return []
    namespace = store.find(Namespace, about.named.namespace, copy=False) if about.named.namespace else None
    names = None
    warnings: list[str] = []
    denied: list[str] = []
    first = PolicyRefusal("")
    for binding in sorted(bindings, key=lambda one: one.name):
        policy = store.find(ValidatingAdmissionPolicy, binding.spec.policy_name, copy=False)
        if policy is None or not is_about(policy, binding, about, namespace):
            continue
        if names is None:
            names = {**about.names, "namespaceObject": shown(namespace), "authorizer": authorizer(store, about)}
        for refusal in _asked(store, policy, binding, about, names):
            said = f"'{policy.name}'" if refusal.of_policy else f"'{policy.name}' with binding '{binding.name}'"
            if refusal.is_failure or DENY in binding.spec.validation_actions:
                first = first if denied else refusal
                denied.append(f"{said} denied request: {refusal.message}")
            elif WARN in binding.spec.validation_actions:
                warnings.append(f"Validation failed for ValidatingAdmissionPolicy {said}: {refusal.message}")
    if denied:
        reason = first.reason or "Invalid"
        why = f"ValidatingAdmissionPolicy {denied[0]}"
        raise PolicyDenied(about.resource.qualified, about.name or "Unknown", why, CODES.get(reason, 422), reason)
    return warnings


def _asked(
    store: Store,
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    about: AdmissionAttributes,
    names: Mapping[str, Any],
) -> list[PolicyRefusal]:
    """Return a policy's denials for all parameters; a misconfigured policy denies unless it ignores failures."""
    ignore = policy.spec.failure_policy == IGNORE
    try:
        compiled = _compiled(to_json(policy.spec))
        found = []
        for params in params_of(store, policy, binding, about):
            seen = {**names, "params": shown(params)} if policy.spec.param_kind else names
            found += compiled.refusals(seen, ignore)
        return found
    except UnknownParamKind as error:
        return (
            [] if ignore else [PolicyRefusal(f"failed to configure policy: {error}", is_failure=True, of_policy=True)]
        )
    except (ConfigurationError, CompileError) as error:
        return [] if ignore else [PolicyRefusal(f"failed to configure binding: {error}", is_failure=True)]


class ValidatingAdmissionPolicyPlugin(AdmissionPlugin):
    """A plugin for every write, used if a policy has a binding."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        around.warnings += ask(around.store, about)

"""ValidatingAdmissionPolicy: every binding of every policy that is about a write decides on it.

Source: plugin/policy/validating (dispatcher.go Dispatch, validator.go Validate); plugin/policy/generic
(policy_dispatcher.go, CollectParams); plugin/webhook/matchconditions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kitlib.api import cel_library as lib
from kitlib.api.admission_expressions import MAX_COST, Environment
from kitlib.api.admissionregistration import (
    ParamKind,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpec,
    Validation,
)
from kitlib.api.cel_expression import Expression
from kitlib.api.cel_library import EvaluationError
from kitlib.api.cel_parser import CompileError
from kitlib.api.core import Namespace
from kitlib.api.errors import PolicyDenied
from kitlib.api.meta import KubeObject
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import from_dict, to_dict, to_json
from kitlib.cluster.admission.policy.attributes import Attributes
from kitlib.cluster.admission.policy.matching import matches
from kitlib.cluster.store.kinds import UnknownKind, resource
from kitlib.cluster.store.store import Store

DENY, WARN = "Deny", "Warn"
IGNORE, ALLOW = "Ignore", "Allow"
CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
"""Status codes of a validation's reasons; of every other 422. Source: reasonToCode."""
MAX_MESSAGE = 5 * 1024
"""Bytes of what a messageExpression may give. Source: celconfig.MaxEvaluatedMessageExpressionSizeBytes."""
EXEMPT = (
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
)
"""No policy is about policies, or one could no longer be removed. Source: generic isPolicyResource."""


@dataclass(frozen=True)
class Refusal:
    """Why a policy refuses a write.

    Attributes:
        message: what it says.
        reason: of the Status; "" = Invalid.
    """

    message: str
    reason: str = ""


class _Variables(Mapping[str, Any]):
    """A policy's variables, each computed when it is asked for, once.

    Args:
        expressions: by name.
        names: that they are computed from.
    """

    def __init__(self, expressions: Mapping[str, Expression], names: Mapping[str, Any]) -> None:
        self._expressions, self._names = expressions, names
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            expression = self._expressions[name]
            try:
                self._known[name] = expression.evaluate({**self._names, "variables": self}, MAX_COST)
            except EvaluationError as error:
                raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


class Compiled:
    """The expressions of a policy.

    Args:
        spec: of the policy.

    Raises:
        CompileError: one of them is none; validation has refused such a policy.
    """

    def __init__(self, spec: ValidatingAdmissionPolicySpec) -> None:
        environment = Environment(spec.param_kind is not None)
        self.conditions = [
            (one.expression, environment.compile(one.expression, lib.BOOL, variables=False))
            for one in spec.match_conditions
        ]
        self.variables = {one.name: environment.declare(one) for one in spec.variables}
        self.validations = [
            (
                one,
                environment.compile(one.expression, lib.BOOL),
                environment.compile(one.message_expression, lib.STRING) if one.message_expression else None,
            )
            for one in spec.validations
        ]

    def refusals(self, names: Mapping[str, Any], ignore_errors: bool) -> list[Refusal]:
        """Why the write is refused; empty where it may be done.

        Args:
            names: what the expressions see.
            ignore_errors: whether what cannot be evaluated counts as fulfilled.
        """
        problems = []
        for text, condition in self.conditions:
            try:
                if condition.evaluate(names, MAX_COST) is not True:
                    return []
            except EvaluationError as error:
                problems.append(_problem(text, error))
        if problems:
            return [] if ignore_errors else [Refusal(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")]
        names = {**names, "variables": _Variables(self.variables, names)}
        found = []
        for validation, expression, message in self.validations:
            try:
                if expression.evaluate(names, MAX_COST) is not True:
                    found.append(Refusal(_message(validation, message, names), validation.reason or ""))
            except EvaluationError as error:
                if not ignore_errors:
                    found.append(Refusal(_problem(validation.expression, error)))
        return found


def _problem(text: str, error: EvaluationError) -> str:
    """Source: plugin/cel condition.go."""
    return f"expression '{text}' resulted in error: {error}"


def _message(validation: Validation, expression: Expression | None, names: Mapping[str, Any]) -> str:
    """A message of its own if it can be had, else the fixed one, else the expression. Source: validator.Validate."""
    if expression is not None:
        try:
            text = expression.evaluate(names, MAX_COST)
        except EvaluationError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text and len(text.encode()) <= MAX_MESSAGE:
            return text.strip()
    return validation.message.strip() or f"failed expression: {validation.expression.strip()}"


@lru_cache(maxsize=128)
def _compiled(text: str) -> Compiled:
    """The expressions of a specification, given as JSON."""
    return Compiled(from_dict(json.loads(text), ValidatingAdmissionPolicySpec))


class _ConfigurationError(Exception):
    """A policy or a binding that cannot be asked."""


def admit(store: Store, about: Attributes) -> list[str]:
    """Ask every policy that is bound.

    Returns:
        Warnings of bindings that warn.

    Raises:
        PolicyDenied: a binding denies it.
    """
    bindings = store.list(ValidatingAdmissionPolicyBinding, copy=False)
    if not bindings or about.resource.plural in EXEMPT:
        return []
    namespace = store.find(Namespace, about.object.namespace, copy=False) if about.object.namespace else None
    names = None
    warnings: list[str] = []
    denied: list[str] = []
    first = Refusal("")
    for binding in sorted(bindings, key=lambda one: one.name):
        policy = store.find(ValidatingAdmissionPolicy, binding.spec.policy_name, copy=False)
        if policy is None or not _is_about(policy, binding, about, namespace):
            continue
        if names is None:
            names = {**about.names, "namespaceObject": to_dict(namespace) if namespace is not None else None}
        for refusal in _asked(store, policy, binding, about, names):
            if DENY in binding.spec.validation_actions:
                first = first if denied else refusal
                denied.append(f"'{policy.name}' with binding '{binding.name}' denied request: {refusal.message}")
            if WARN in binding.spec.validation_actions:
                text = f"'{policy.name}' with binding '{binding.name}': {refusal.message}"
                warnings.append(f"Validation failed for ValidatingAdmissionPolicy {text}")
    if denied:
        reason = first.reason or "Invalid"
        why = f"ValidatingAdmissionPolicy {denied[0]}"
        raise PolicyDenied(about.resource.qualified, about.object.name, why, CODES.get(reason, 422), reason)
    return warnings


def _is_about(
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    about: Attributes,
    namespace: Namespace | None,
) -> bool:
    constraints, more = policy.spec.match_constraints, binding.spec.match_resources
    return (
        constraints is not None
        and matches(constraints, about, namespace)
        and (more is None or matches(more, about, namespace))
    )


def _asked(
    store: Store,
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    about: Attributes,
    names: Mapping[str, Any],
) -> list[Refusal]:
    """What a policy says, with each of its parameters; one that cannot be asked denies unless it ignores failures."""
    ignore = policy.spec.failure_policy == IGNORE
    try:
        compiled = _compiled(to_json(policy.spec))
        found = []
        for params in _params(store, policy, binding, about):
            found += compiled.refusals({**names, "params": params} if policy.spec.param_kind else names, ignore)
        return found
    except (_ConfigurationError, CompileError) as error:
        return [] if ignore else [Refusal(f"failed to configure binding: {error}")]


def _params(
    store: Store, policy: ValidatingAdmissionPolicy, binding: ValidatingAdmissionPolicyBinding, about: Attributes
) -> list[Any]:
    """The objects that a binding names as parameters; one None where the policy takes none. Source: CollectParams."""
    kind, reference = policy.spec.param_kind, binding.spec.param_ref
    if kind is None or reference is None:
        return [None]
    try:
        resource_kind = resource(kind.kind)
    except UnknownKind:
        found = store.list(kind.kind, copy=False)
        if not found:
            raise _ConfigurationError(_no_kind(kind)) from None
        namespaced = bool(found[0].metadata.namespace)
    else:
        namespaced = resource_kind.namespaced
    place = (reference.namespace or about.object.namespace) if namespaced else ""
    if namespaced and not place:
        raise _ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    objects: list[KubeObject] = store.list(kind.kind, place or None, copy=False)
    if reference.name:
        objects = [one for one in objects if one.name == reference.name]
    elif reference.selector is not None:
        matcher = LabelSelectorMatcher(reference.selector)
        objects = [one for one in objects if matcher.matches(one.metadata.labels)]
    if not objects and reference.parameter_not_found_action != ALLOW:
        raise _ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [to_dict(one) for one in sorted(objects, key=lambda one: one.name)]


def _no_kind(kind: ParamKind) -> str:
    group, _, version = kind.api_version.rpartition("/")
    place = f"{group}/{version}" if group else version
    return f"failed to find resource referenced by paramKind: '{place}, Kind={kind.kind}'"

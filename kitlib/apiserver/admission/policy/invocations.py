"""The common part of validating and mutating policies: matching, parameters, variables and match conditions.

Source: plugin/policy/generic (policy_dispatcher.go Dispatch, CollectParams); plugin/webhook/matchconditions; plugin/cel
composition.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kitlib.api import authorization
from kitlib.api.admissionregistration import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicySpec,
    ParamKind,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpec,
)
from kitlib.api.core import Namespace
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.authorization import RBACAuthorizer as RBAC
from kitlib.apiserver.admission.policy.matching import matches
from kitlib.apiserver.admission.requester import requester, service_account
from kitlib.apiserver.store.kinds import Resource
from kitlib.apiserver.store.store import Store
from kitlib.cel import library as lib
from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from kitlib.cel.authorizer import AuthorizerValue, ServiceAccount
from kitlib.cel.expression import Expression
from kitlib.cel.library import EvaluationError

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding
IGNORE, ALLOW = "Ignore", "Allow"
EXEMPT = (
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
)
"""Resources that policies never match; otherwise a policy could prevent its own removal.

Source: generic isPolicyResource.
"""


class ConfigurationError(KitError):
    """A policy or a binding that cannot be evaluated because of its configuration."""


class UnknownParamKind(ConfigurationError):
    """A paramKind that is not served."""


class ConditionError(KitError):
    """A match condition that cannot be evaluated."""


class CompiledPolicy:
    """The expressions that both kinds of policies have; `environment` compiles them.

    Args:
        spec: the policy's spec.

    Raises:
        CompileError: an expression is invalid; validation rejects such a policy.
    """

    def __init__(self, spec: ValidatingAdmissionPolicySpec | MutatingAdmissionPolicySpec) -> None:
        self.environment = PolicyEnvironment(spec.param_kind is not None)
        self.conditions = [
            (condition.expression, self.environment.compile(condition.expression, lib.BOOL, variables=False))
            for condition in spec.match_conditions
        ]
        self.variables = {variable.name: self.environment.declare(variable) for variable in spec.variables}


class Variables(Mapping[str, Any]):
    """The variables of a policy, each evaluated on first use.

    Args:
        expressions: name -> expression.
        names: the values of the declared names.
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


def authorizer(store: Store, about: AdmissionAttributes) -> AuthorizerValue:
    """Return the value of `authorizer`, which checks the requesting user by default.

    Source: plugin/cel condition.go.
    """
    rbac, who = RBAC(store), requester()

    def decide(asked: authorization.Attributes, account: ServiceAccount | None) -> authorization.AuthorizationDecision:
        return rbac.decide(who if account is None else service_account(*account), asked)

    named = about.resource
    request = authorization.Attributes(
        group=named.group,
        resource=named.plural,
        subresource=about.subresource,
        namespace=about.named.namespace,
        name=about.name,
    )
    return AuthorizerValue(decide, request)


def problem(text: str, error: EvaluationError) -> str:
    """Return the message of an expression's evaluation error. Source: plugin/cel condition.go."""
    return f"expression '{text}' resulted in error: {error}"


def conditions_met(conditions: Sequence[tuple[str, Expression]], names: Mapping[str, Any]) -> bool:
    """Return whether all match conditions are true: a false one takes precedence over the error of another.

    Args:
        conditions: (text, compiled expression) pairs.
        names: the values of the declared names.

    Raises:
        ConditionError: with all errors.

    Source: matchconditions matcher.Match.
    """
    problems = []
    for text, condition in conditions:
        try:
            if condition.evaluate(names, MAX_COST) is not True:
                return False
        except EvaluationError as error:
            problems.append(problem(text, error))
    if problems:
        raise ConditionError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return True


def is_about(policy: Policy, binding: Binding, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    """Return whether a write matches both the policy and the binding."""
    constraints, more = policy.spec.match_constraints, binding.spec.match_resources
    return (
        constraints is not None
        and matches(constraints, about, namespace)
        and (more is None or matches(more, about, namespace))
    )


def params_of(store: Store, policy: Policy, binding: Binding, about: AdmissionAttributes) -> list[Any]:
    """Return the parameter objects of a binding, sorted by name; [None] if the policy has no paramKind.

    Raises:
        ConfigurationError: there are none, and parameterNotFoundAction is Deny.
    """
    kind, reference = policy.spec.param_kind, binding.spec.param_ref
    if kind is None or reference is None:
        return [None]
    found = _resource_of_params(store, kind)
    namespaced = found.namespaced
    place = (reference.namespace or about.named.namespace) if namespaced else ""
    if namespaced and not place:
        raise ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    objects: list[KubeObject] = store.list(found, place or None, copy=False)
    if reference.name:
        objects = [item for item in objects if item.name == reference.name]
    elif reference.selector is not None:
        matcher = LabelSelectorMatcher(reference.selector)
        objects = [item for item in objects if matcher.matches(item.metadata.labels)]
    if not objects and reference.parameter_not_found_action != ALLOW:
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return sorted(objects, key=lambda one: one.name)


def _resource_of_params(store: Store, kind: ParamKind) -> Resource:
    """Return the resource of a paramKind, built in or custom. Source: ensureParamsForPolicyLocked."""
    found = store.kinds.find(kind.api_version, kind.kind)
    if found is None:
        place = kind.api_version
        raise UnknownParamKind(f"failed to find resource referenced by paramKind: '{place}, Kind={kind.kind}'")
    return found

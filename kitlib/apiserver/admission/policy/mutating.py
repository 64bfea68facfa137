"""MutatingAdmissionPolicy: every matching binding of every policy changes the object of a write.

Policies and bindings run in the order of their names; Kubernetes guarantees no order. If one has changed the object,
those with `reinvocationPolicy: IfNeeded` run a second time, after all others.

Source: plugin/policy/mutating (dispatcher.go dispatchInvocations, reinvocationcontext.go, compilation.go);
plugin/policy/generic policy_dispatcher.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from kitlib.api.admissionregistration import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicySpec,
)
from kitlib.api.core import Namespace
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import MutationDenied
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict, to_dict, to_json
from kitlib.apiserver.admission.attributes import AdmissionAttributes, shown
from kitlib.apiserver.admission.custom.objects import schema_of
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin, before_it_is_named
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
from kitlib.apiserver.admission.policy.patching import PATCHES, MutationError, Schema
from kitlib.apiserver.store.store import Store
from kitlib.cel.admission_expressions import MAX_COST
from kitlib.cel.library import EvaluationError
from kitlib.cel.parser import CompileError

IF_NEEDED = "IfNeeded"
FORBIDDEN, INVALID = "Forbidden", "Invalid"


class CompiledMutatingPolicy(CompiledPolicy):
    """The expressions of a mutating policy."""

    def __init__(self, spec: MutatingAdmissionPolicySpec) -> None:
        super().__init__(spec)
        self.mutations = []
        for mutation in spec.mutations:
            patch = mutation.apply_configuration or mutation.json_patch
            text = patch.expression if patch is not None else ""
            self.mutations.append((mutation.patch_type, text, self.environment.mutation(mutation.patch_type, text)))


@lru_cache(maxsize=128)
def _compiled(text: str) -> CompiledMutatingPolicy:
    """Compile the expressions of a spec, given as JSON so that the result can be cached."""
    return CompiledMutatingPolicy(from_dict(json.loads(text), MutatingAdmissionPolicySpec))


class _Key(NamedTuple):
    """The key of an invocation: a policy with a binding and a parameter."""

    policy: str
    binding: str
    params: tuple[str, str]


def _denied(policy: MutatingAdmissionPolicy, binding: MutatingAdmissionPolicyBinding) -> str:
    """Return the start of a policy's error message."""
    return f"policy '{policy.name}' with binding '{binding.name}' denied request: "


@dataclass(frozen=True)
class _Invocation:
    policy: MutatingAdmissionPolicy
    binding: MutatingAdmissionPolicyBinding
    compiled: CompiledMutatingPolicy
    params: KubeObject | None

    @property
    def key(self) -> _Key:
        params = (self.params.namespace, self.params.name) if self.params is not None else ("", "")
        return _Key(self.policy.name, self.binding.name, params)

    @property
    def said(self) -> str:
        return _denied(self.policy, self.binding)


class MutationRequest:
    """One write, which runs through the policies once or twice.

    Attributes:
        again: whether a second round is due.

    Args:
        store: the object store with policies and parameters.
        about: the write.
    """

    def __init__(self, store: Store, about: AdmissionAttributes) -> None:
        self.again = False
        self._store, self._about = store, about
        self._asked: set[_Key] = set()  # invocations with reinvocationPolicy IfNeeded
        self._due: set[_Key] = set()  # those to run in the second round
        self._output: dict[str, Any] | None = None

    def mutated(self, obj: KubeObject, *, second: bool = False) -> KubeObject:
        """Return the object after all matching policies.

        Args:
            obj: the object, which is not changed.
            second: whether this is the second round.

        Raises:
            MutationDenied: a mutation cannot be applied, and its policy does not ignore failures.
            InternalError: a JSON patch results in an invalid object, independent of the failure policy.
        """
        bound = self._store.list(MutatingAdmissionPolicyBinding, copy=False)
        if not bound or self._about.resource.plural in EXEMPT:
            return obj
        about = replace(self._about, new=obj)
        failures: list[tuple[str, str]] = []
        invocations = list(self._invocations(bound, about, failures))
        # Another plugin has changed the object since the first round, so all eligible policies are due.
        if second and to_dict(obj) != self._output:
            self._ask_again()
        schema = self._schema(obj)
        changed = False
        for invocation in invocations:
            names = {**self._names(obj), **self._params(invocation)}
            try:
                if not conditions_met(invocation.compiled.conditions, names):
                    continue
            except ConditionError as error:
                self._fail(invocation.policy, f"{invocation.said}{error}", INVALID, failures)
                continue
            if second and invocation.key not in self._due:
                continue
            before = obj
            for patch_type, text, expression in invocation.compiled.mutations:
                names = {**self._names(obj), **self._params(invocation)}
                # Each mutation sees the object after the previous one, so variables are evaluated anew.
                names["variables"] = Variables(invocation.compiled.variables, names)
                try:
                    obj = set_defaults(PATCHES[patch_type](obj, expression.evaluate(names, MAX_COST), schema))
                    changed = True
                except EvaluationError as error:
                    self._fail(invocation.policy, invocation.said + problem(text, error), INVALID, failures)
                except MutationError as error:
                    self._fail(invocation.policy, f"{invocation.said}{error}", INVALID, failures)
            if to_dict(before) != to_dict(obj):
                self._ask_again()
            if invocation.policy.spec.reinvocation_policy == IF_NEEDED:
                self._asked.add(invocation.key)
        if changed:
            self._ask_again()
            self.again = True
        self._output = to_dict(obj)
        if failures:
            resource = self._about.resource.qualified
            name = (self._about.parent or obj).name
            raise MutationDenied(resource, name, [message for message, _ in failures], failures[0][1])
        return obj

    def _ask_again(self) -> None:
        """Mark the policies that ran so far for reinvocation. Source: RequireReinvokingPreviouslyInvokedPlugins."""
        self._due |= self._asked
        self._asked = set()

    def _invocations(
        self,
        bound: Sequence[MutatingAdmissionPolicyBinding],
        about: AdmissionAttributes,
        failures: list[tuple[str, str]],
    ) -> Iterator[_Invocation]:
        """Yield the matching policies with every binding and parameter."""
        name = about.named.namespace
        namespace = self._store.find(Namespace, name, copy=False) if name else None
        for binding in sorted(bound, key=lambda one: (one.spec.policy_name, one.name)):
            policy = self._store.find(MutatingAdmissionPolicy, binding.spec.policy_name, copy=False)
            if policy is None or not is_about(policy, binding, about, namespace):
                continue
            try:
                compiled = _compiled(to_json(policy.spec))
                for params in params_of(self._store, policy, binding, about):
                    yield _Invocation(policy, binding, compiled, params)
            except UnknownParamKind as error:
                said = f'policy "{policy.name}" denied request: failed to configure policy: {error}'
                self._fail(policy, said, FORBIDDEN, failures)
            except (ConfigurationError, CompileError) as error:
                said = _denied(policy, binding)
                self._fail(policy, f"{said}failed to configure binding: {error}", FORBIDDEN, failures)

    def _fail(
        self, policy: MutatingAdmissionPolicy, message: str, reason: str, failures: list[tuple[str, str]]
    ) -> None:
        if policy.spec.failure_policy != IGNORE:
            failures.append((message, reason))

    def _names(self, obj: KubeObject) -> dict[str, Any]:
        seen = replace(self._about, new=obj)
        name = seen.named.namespace
        namespace = self._store.find(Namespace, name, copy=False) if name else None
        return {**seen.names, "namespaceObject": shown(namespace), "authorizer": authorizer(self._store, self._about)}

    def _params(self, invocation: _Invocation) -> Mapping[str, Any]:
        if invocation.policy.spec.param_kind is None:
            return {}
        return {"params": shown(invocation.params)}

    def _schema(self, obj: KubeObject) -> Schema:
        """Return the schema of a custom object; None for a built-in kind."""
        return schema_of(self._store, obj) or None


class MutatingAdmissionPolicyPlugin(AdmissionPlugin):
    """A plugin for every write except deletions, used if a policy has a binding."""

    def __init__(self) -> None:
        self._request: MutationRequest | None = None

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        self._request = MutationRequest(around.store, about)
        return self._mutated(about.object, around)

    def admit_again(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        if self._request is None:
            return self.admit(about, around)
        return self._mutated(about.object, around, second=True)

    def asks_again(self) -> bool:
        return self._request is not None and self._request.again

    def _mutated(self, obj: KubeObject, around: AdmissionContext, *, second: bool = False) -> KubeObject | None:
        assert self._request is not None
        return before_it_is_named(obj, around.given, partial(self._request.mutated, second=second))

"""The parts that both kinds of policies share: conditions, variables, parameters and matching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kitlib.api.admissionregistration import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpec,
    Variable,
)
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.attributes import attributes_of
from kitlib.apiserver.admission.policy import invocations
from kitlib.apiserver.admission.policy.invocations import (
    CompiledPolicy,
    ConditionError,
    ConfigurationError,
    UnknownParamKind,
    Variables,
    conditions_met,
    is_about,
    params_of,
)
from kitlib.cel.admission_expressions import PolicyEnvironment
from kitlib.cel.expression import Expression
from kitlib.cel.library import EvaluationError
from kitlib.cel.parser import CompileError
from tests.apiserver.admission.writes import made, pod

NAMES: dict[str, Any] = {"object": {"n": 1}, "variables": {}}
ERROR = "object.none == 1"


def conditions(*texts: str) -> list[tuple[str, Expression]]:
    environment = PolicyEnvironment(False)
    return [(text, environment.compile(text, "bool", variables=False)) for text in texts]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), True),
        (("true", "object.n == 1"), True),
        (("true", "object.n == 2"), False),
        # A false condition takes precedence over the error of another one, before or after it.
        ((ERROR, "false"), False),
        (("false", ERROR), False),
    ],
)
def test_match_conditions(texts: tuple[str, ...], expected: bool) -> None:
    """Source: matchconditions matcher.Match."""
    assert conditions_met(conditions(*texts), NAMES) is expected


def test_the_errors_of_conditions_are_all_reported() -> None:
    one = f"expression '{ERROR}' resulted in error: "
    with pytest.raises(ConditionError) as raised:
        conditions_met(conditions(ERROR, "true"), NAMES)
    assert str(raised.value).startswith(one)
    with pytest.raises(ConditionError) as raised:
        conditions_met(conditions(ERROR, "true", ERROR), NAMES)
    text = str(raised.value)
    assert text.startswith(f"[{one}") and text.endswith("]") and text.count(one) == 2


def variables(names: dict[str, Any], **texts: str) -> Variables:
    environment = PolicyEnvironment(False)
    made = {name: environment.declare(Variable(name=name, expression=text)) for name, text in texts.items()}
    return Variables(made, names)


def test_a_variable_is_evaluated_once_and_sees_those_before_it() -> None:
    names = dict(NAMES)
    found = variables(names, a="object.n + 1", b="variables.a * 10")
    assert isinstance(found, Mapping)
    assert (found["b"], list(found), len(found)) == (20, ["a", "b"], 2)
    names["object"] = {"n": 5}
    assert (found["a"], found["b"]) == (2, 20)


def test_the_error_of_a_variable_names_it() -> None:
    found = variables(NAMES, a="object.none", b="variables.a")
    with pytest.raises(EvaluationError) as raised:
        found["b"]
    text = 'composited variable "b" fails to evaluate: composited variable "a" fails to evaluate: '
    assert str(raised.value).startswith(text)


def test_a_policy_is_compiled_with_its_conditions_and_variables() -> None:
    spec = {
        "matchConditions": [{"name": "c", "expression": "object.n == 1"}],
        "variables": [{"name": "v", "expression": "1"}],
    }
    compiled = CompiledPolicy(from_dict(spec, ValidatingAdmissionPolicySpec))
    assert [text for text, _ in compiled.conditions] == ["object.n == 1"]
    assert list(compiled.variables) == ["v"]
    for wrong in ("1", "variables.v == 1", "params.x == 1"):
        spec["matchConditions"] = [{"name": "c", "expression": wrong}]
        with pytest.raises(CompileError):
            CompiledPolicy(from_dict(spec, ValidatingAdmissionPolicySpec))
    with_params = {**spec, "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    assert CompiledPolicy(from_dict(with_params, ValidatingAdmissionPolicySpec)).conditions


RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def policy(**spec: Any) -> ValidatingAdmissionPolicy:
    return from_dict({"metadata": {"name": "p"}, "spec": spec}, ValidatingAdmissionPolicy)


def binding(**spec: Any) -> ValidatingAdmissionPolicyBinding:
    return from_dict({"metadata": {"name": "b"}, "spec": spec}, ValidatingAdmissionPolicyBinding)


PODS, SERVICES = {"resourceRules": [RULE]}, {"resourceRules": [{**RULE, "resources": ["services"]}]}


@pytest.mark.parametrize(
    ("of_policy", "of_binding", "expected"),
    [
        (PODS, None, True),
        (PODS, PODS, True),
        (PODS, SERVICES, False),
        (SERVICES, PODS, False),
        (None, None, False),
        (None, PODS, False),
    ],
)
def test_policy_and_binding_both_match(of_policy: Any, of_binding: Any, expected: bool) -> None:
    api = APIServer()
    about = attributes_of(api.store, pod(), None)
    namespace = api.store.get("Namespace", "default")
    found = is_about(policy(matchConstraints=of_policy), binding(matchResources=of_binding), about, namespace)
    assert found is expected


MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}


def server() -> APIServer:
    api = APIServer()
    api.store.create(made("Namespace", "other"))
    for namespace, name, tier in (("default", "z", "gold"), ("default", "a", "gold"), ("other", "o", "gold")):
        api.store.create(made("ConfigMap", name, namespace=namespace, metadata={"labels": {"tier": tier}}))
    api.store.create(made("ConfigMap", "m", namespace="default"))
    return api


def params(reference: dict[str, Any] | None, kind: dict[str, str] | None = MAPS, about: Any = None) -> list[str | None]:
    api = server()
    write = attributes_of(api.store, about or pod(), None)
    found = params_of(api.store, policy(paramKind=kind), binding(paramRef=reference), write)
    return [None if one is None else one.name for one in found]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, [None]),
        ({"name": "z"}, ["z"]),
        ({"name": "o", "namespace": "other"}, ["o"]),
        ({"selector": {"matchLabels": {"tier": "gold"}}}, ["a", "z"]),
        ({"selector": {}}, ["a", "m", "z"]),
        ({"selector": {"matchLabels": {"tier": "none"}}, "parameterNotFoundAction": "Allow"}, []),
        ({"name": "o", "parameterNotFoundAction": "Allow"}, []),
    ],
)
def test_the_parameters_of_a_binding(reference: dict[str, Any] | None, expected: list[str | None]) -> None:
    """Source: CollectParams."""
    assert params(reference) == expected


def test_a_policy_without_a_kind_has_no_parameters() -> None:
    assert params({"name": "z"}, None) == [None]


@pytest.mark.parametrize("action", ["Deny", ""])
def test_missing_parameters(action: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        params({"name": "none", "parameterNotFoundAction": action})
    assert str(raised.value) == "no params found for policy binding with `Deny` parameterNotFoundAction"


def test_a_kind_that_is_not_served() -> None:
    with pytest.raises(UnknownParamKind) as raised:
        params({"name": "z"}, {"apiVersion": "a.example/v1", "kind": "Thing"})
    assert str(raised.value) == "failed to find resource referenced by paramKind: 'a.example/v1, Kind=Thing'"


def test_namespaced_parameters_of_an_object_without_a_namespace() -> None:
    with pytest.raises(ConfigurationError, match="cannot use namespaced paramRef in policy binding that matches"):
        params({"name": "z"}, about=made("Node", "n"))
    assert params({"name": "z", "namespace": "default"}, about=made("Node", "n")) == ["z"]
    assert params({"name": "default"}, {"apiVersion": "v1", "kind": "Namespace"}, made("Node", "n")) == ["default"]


def test_policies_cannot_be_about_policies() -> None:
    """Source: isPolicyResource."""
    kinds = ("validatingadmissionpolicies", "mutatingadmissionpolicies")
    assert set(invocations.EXEMPT) == {*kinds, *(f"{kind.removesuffix('ies')}ybindings" for kind in kinds)}

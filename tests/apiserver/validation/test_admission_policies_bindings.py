"""Bindings of admission policies: the policy, its parameters, what they match, and the actions."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.admissionregistration import MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBinding
from kitlib.api.names import SUBDOMAIN_TEXT
from kitlib.apiserver.validation import admission_policies as rules
from tests.apiserver.validation.told import T, named, told

MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
REFERENCE = {"name": "r", "parameterNotFoundAction": "Deny"}


def bound(**spec: Any) -> list[str]:
    """Return the errors of a validating policy's binding without `spec.`; those of a mutating one's are the same."""
    made = named(ValidatingAdmissionPolicyBinding, spec={"policyName": "p", "validationActions": ["Deny"], **spec})
    errors = told(rules.validate_admission_policy_binding(made))
    other = named(MutatingAdmissionPolicyBinding, spec={"policyName": "p", **spec})
    assert told(rules.validate_admission_policy_binding(other)) == errors
    return [text.removeprefix("spec.") for text in errors]


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a.b", []),
        ("", ["policyName Required"]),
        ("A", [f"policyName Invalid {SUBDOMAIN_TEXT}"]),
    ],
)
def test_the_policy_of_a_binding(name: str, errors: list[str]) -> None:
    """Source: validateValidatingAdmissionPolicyBindingSpec, validateMutatingAdmissionPolicyBindingSpec."""
    assert bound(policyName=name) == errors


EXCLUSIVE = "Forbidden name and selector are mutually exclusive"


@pytest.mark.parametrize(
    ("reference", "errors"),
    [
        (REFERENCE, []),
        ({"selector": {}, "parameterNotFoundAction": "Allow"}, []),
        ({"parameterNotFoundAction": "Deny"}, [" Required one of name or selector must be specified"]),
        ({"name": "a/b%", "parameterNotFoundAction": "Deny"},
         [".name Invalid may not contain '/'", ".name Invalid may not contain '%'"]),
        ({**REFERENCE, "selector": {}}, [f".name {EXCLUSIVE}", f".selector {EXCLUSIVE}"]),
        ({**REFERENCE, "name": "..", "selector": {"matchExpressions": [{"key": "a", "operator": "x"}]}},
         [".name Invalid may not be '..'", f".name {EXCLUSIVE}",
          ".selector.matchExpressions[0].operator Invalid not a valid selector operator", f".selector {EXCLUSIVE}"]),
        ({"name": "r"}, [".parameterNotFoundAction Required"]),
        ({"name": "r", "parameterNotFoundAction": ""}, [".parameterNotFoundAction Required"]),
        ({"name": "r", "parameterNotFoundAction": "x"},
         ['.parameterNotFoundAction NotSupported supported values: "Deny", "Allow"']),
        ({},
         [" Required one of name or selector must be specified", ".parameterNotFoundAction Required"]),
    ],
)  # fmt: skip
def test_the_parameters_of_a_binding(reference: dict[str, Any], errors: list[str]) -> None:
    """Source: validateParamRef."""
    assert bound(paramRef=reference) == [f"paramRef{text}" for text in errors]


def test_what_a_binding_matches() -> None:
    """A binding may match without rules, and needs the defaults of the other fields."""
    assert bound(matchResources=MATCH) == []
    assert [text.partition(".")[2] for text in bound(matchResources={})] == [
        "matchPolicy Required",
        "namespaceSelector Required",
        "objectSelector Required",
    ]


ACTIONS = 'NotSupported supported values: "Audit", "Deny", "Warn"'
TWICE = (
    " Invalid must not contain both Deny and Warn (repeating the same validation failure information in the API "
    "response and headers serves no purpose)"
)


@pytest.mark.parametrize(
    ("actions", "errors"),
    [
        (["Deny"], []),
        (["Warn", "Audit"], []),
        (["Deny", "Audit"], []),
        ([], [" Required at least one validation action is required"]),
        (["x"], [f"[0] {ACTIONS}"]),
        (["Audit", "Audit", "Audit"], ["[1] Duplicate", "[2] Duplicate"]),
        (["x", "x"], [f"[0] {ACTIONS}", f"[1] {ACTIONS}", "[1] Duplicate"]),
        (["Warn", "Deny"], [TWICE]),
        (["Deny", "x", "Warn", "Deny"], [f"[1] {ACTIONS}", "[3] Duplicate", TWICE]),
    ],
)
def test_the_actions_of_a_binding(actions: list[str], errors: list[str]) -> None:
    """Source: validateValidationActions."""
    made = named(ValidatingAdmissionPolicyBinding, spec={"policyName": "p", "validationActions": actions})
    found = told(rules.validate_admission_policy_binding(made))
    assert found == [f"spec.validationActions{text}" for text in errors]


def test_a_binding_as_a_whole() -> None:
    wrong = {"policyName": "", "paramRef": {"name": "r"}, "matchResources": {**MATCH, "matchPolicy": None}}
    made = named(ValidatingAdmissionPolicyBinding, "b", "n", spec=wrong)
    fields = [error.field for error in rules.validate_admission_policy_binding(made)]
    assert fields[:3] == ["metadata.namespace", "spec.policyName", "spec.paramRef.parameterNotFoundAction"]
    assert fields[3].endswith(".matchPolicy")
    assert fields[4:] == ["spec.validationActions"]


def test_an_update_checks_the_new_binding() -> None:
    """Source: ValidateValidatingAdmissionPolicyBindingUpdate, ValidateMutatingAdmissionPolicyBindingUpdate."""

    def made(type_: type[T], name: str, policy_name: str) -> T:
        return named(type_, name, spec={"policyName": policy_name, "validationActions": ["Deny"]})

    for old, new in (
        (made(ValidatingAdmissionPolicyBinding, "a", "p"), made(ValidatingAdmissionPolicyBinding, "a", "")),
        (made(MutatingAdmissionPolicyBinding, "a", "p"), made(MutatingAdmissionPolicyBinding, "a", "")),
    ):
        assert rules.validate_admission_policy_binding_update(old, new) == []
        new.metadata.name = "b"
        fields = [error.field for error in rules.validate_admission_policy_binding_update(new, old)]
        assert fields == ["metadata.name", "spec.policyName"]


def test_finalizers_of_a_binding_need_no_domain() -> None:
    """The metadata is checked by apimachinery's ValidateObjectMeta, which knows no list of finalizers."""
    spec = {"policyName": "p", "validationActions": ["Deny"]}
    made = named(ValidatingAdmissionPolicyBinding, metadata={"finalizers": ["x"]}, spec=spec)
    assert rules.validate_admission_policy_binding(made) == []
    assert rules.validate_admission_policy_binding_update(made, made) == []

"""Admission policies: what they match, parameters, conditions, variables, validations, audit annotations, mutations."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.admissionregistration import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from kitlib.api.names import LABEL_1035_TEXT, QUALIFIED_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import admission_policies as rules
from tests.apiserver.validation.told import named, told

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}
COMMON: dict[str, Any] = {"failurePolicy": "Fail", "matchConstraints": MATCH}
PATCH = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}}


def policy(name: str = "p", **spec: Any) -> ValidatingAdmissionPolicy:
    return named(ValidatingAdmissionPolicy, name, spec={**COMMON, "validations": [{"expression": "true"}], **spec})


def mutating(**spec: Any) -> MutatingAdmissionPolicy:
    return named(MutatingAdmissionPolicy, spec={**COMMON, "reinvocationPolicy": "Never", "mutations": [PATCH], **spec})


def found(**spec: Any) -> list[str]:
    """Return the errors of a validating policy without `spec.`; those of a mutating one are the same."""
    errors = told(rules.validate_admission_policy(policy(**spec)))
    assert told(rules.validate_admission_policy(mutating(**spec))) == errors
    return [text.removeprefix("spec.") for text in errors]


def validated(**spec: Any) -> list[str]:
    return [text.removeprefix("spec.") for text in told(rules.validate_admission_policy(policy(**spec)))]


def mutated(**spec: Any) -> list[str]:
    return [text.removeprefix("spec.") for text in told(rules.validate_admission_policy(mutating(**spec)))]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"failurePolicy": "Ignore"}, []),
        ({"failurePolicy": None}, ["failurePolicy Required"]),
        ({"failurePolicy": "x"}, ['failurePolicy NotSupported supported values: "Fail", "Ignore"']),
        ({"failurePolicy": ""}, ['failurePolicy NotSupported supported values: "Fail", "Ignore"']),
        ({"matchConstraints": None}, ["matchConstraints Required"]),
        ({"matchConstraints": {**MATCH, "resourceRules": []}}, ["matchConstraints.resourceRules Required"]),
        ({"matchConstraints": {}},
         ["matchConstraints.matchPolicy Required", "matchConstraints.namespaceSelector Required",
          "matchConstraints.objectSelector Required", "matchConstraints.resourceRules Required"]),
        ({"matchConditions": [{"name": "a", "expression": "true"}]}, []),
        ({"matchConditions": [{"name": "a", "expression": " "}]}, ["matchConditions[0].expression Required"]),
    ],
)  # fmt: skip
def test_what_both_kinds_of_policies_have(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateValidatingAdmissionPolicySpec, validateMutatingAdmissionPolicySpec."""
    assert found(**spec) == errors


@pytest.mark.parametrize(
    ("match", "errors"),
    [
        ({}, []),
        ({"matchPolicy": "Exact"}, []),
        ({"matchPolicy": "x"}, ['matchPolicy NotSupported supported values: "Equivalent", "Exact"']),
        ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]}},
         ["namespaceSelector.matchExpressions[0].operator Invalid not a valid selector operator"]),
        ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]}},
         ["objectSelector.matchExpressions[0].operator Invalid not a valid selector operator"]),
        ({"resourceRules": [RULE, {**RULE, "operations": []}]}, ["resourceRules[1].operations Required"]),
        ({"excludeResourceRules": [RULE, {**RULE, "operations": []}]},
         ["excludeResourceRules[1].operations Required"]),
        ({"resourceRules": [{**RULE, "resourceNames": ["a", "b"]}]}, []),
        ({"resourceRules": [{**RULE, "resourceNames": ["a", "b/c", "a", "..", "a"], "apiVersions": []}]},
         ["resourceRules[0].resourceNames[1] Invalid may not contain '/'",
          "resourceRules[0].resourceNames[2] Duplicate",
          "resourceRules[0].resourceNames[3] Invalid may not be '..'",
          "resourceRules[0].resourceNames[4] Duplicate",
          "resourceRules[0].apiVersions Required"]),
        ({"excludeResourceRules": [{**RULE, "resourceNames": ["a", "a"]}]},
         ["excludeResourceRules[0].resourceNames[1] Duplicate"]),
        ({"excludeResourceRules": [{}], "resourceRules": [{**RULE, "scope": "x"}], "matchPolicy": None},
         ["matchPolicy Required",
          'resourceRules[0].scope NotSupported supported values: "*", "Cluster", "Namespaced"',
          "excludeResourceRules[0].operations Required", "excludeResourceRules[0].apiGroups Required",
          "excludeResourceRules[0].apiVersions Required", "excludeResourceRules[0].resources Required"]),
    ],
)  # fmt: skip
def test_what_a_policy_matches(match: dict[str, Any], errors: list[str]) -> None:
    """Source: validateMatchResources, validateNamedRuleWithOperations."""
    assert found(matchConstraints={**MATCH, **match}) == [f"matchConstraints.{text}" for text in errors]


@pytest.mark.parametrize(
    ("version", "errors"),
    [
        ("v1", []),
        ("a.b/v1", []),
        ("", [" Required"]),
        ("/", [" Invalid version must be specified"]),
        ("a/", [" Invalid version must be specified"]),
        ("/v1", []),
        ("a/b/v1", [" Invalid unexpected GroupVersion string: a/b/v1"]),
        ("A/v1", [f" Invalid {SUBDOMAIN_TEXT}"]),
        ("a/1", [f" Invalid {LABEL_1035_TEXT}"]),
        ("A/1", [f" Invalid {SUBDOMAIN_TEXT}", f" Invalid {LABEL_1035_TEXT}"]),
        ("A/", [f" Invalid {SUBDOMAIN_TEXT}", " Invalid version must be specified"]),
    ],
)
def test_the_version_of_parameters(version: str, errors: list[str]) -> None:
    """Source: validateParamKind, parseGroupVersion."""
    assert found(paramKind={"apiVersion": version, "kind": "K"}) == [f"paramKind.apiVersion{text}" for text in errors]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("ConfigMap", ""),
        ("", "Required"),
        ("1A", f"Invalid may have mixed case, but should otherwise match: {LABEL_1035_TEXT}"),
    ],
)
def test_the_kind_of_parameters(kind: str, error: str) -> None:
    expected = [f"paramKind.kind {error}"] if error else []
    assert found(paramKind={"apiVersion": "v1", "kind": kind}) == expected
    assert found(paramKind={"apiVersion": "", "kind": kind}) == ["paramKind.apiVersion Required", *expected]


def test_the_wrong_half_of_a_version_is_shown() -> None:
    errors = rules.validate_admission_policy(policy(paramKind={"apiVersion": "A/1", "kind": "1"}))
    assert [error.value for error in errors] == ["A", "1", "1"]


def test_only_a_policy_with_parameters_uses_them() -> None:
    """Source: OptionalVariableDeclarations.HasParams."""
    uses: dict[str, Any] = {
        "matchConditions": [{"name": "a", "expression": "params.a == 1"}],
        "variables": [{"name": "b", "expression": "params.b"}],
    }
    errors = told(rules.validate_admission_policy(policy(**uses)))
    assert [text.split()[:2] for text in errors] == [
        ["spec.matchConditions[0].expression", "Invalid"],
        ["spec.variables[0].expression", "Invalid"],
    ]
    assert found(**uses, paramKind={"apiVersion": "v1", "kind": "K"}) == []


@pytest.mark.parametrize(
    ("variable", "errors"),
    [
        ({"name": "_a1", "expression": "1"}, []),
        ({"name": "", "expression": "1"}, ["name Required name is not specified"]),
        ({"name": " ", "expression": "1"}, ["name Required name is not specified"]),
        ({"name": "a", "expression": ""}, ["expression Required expression is not specified"]),
        ({"name": "", "expression": " \n"},
         ["name Required name is not specified", "expression Required expression is not specified"]),
    ],
)  # fmt: skip
def test_a_variable(variable: dict[str, str], errors: list[str]) -> None:
    """Source: validateVariable."""
    assert found(variables=[variable]) == [f"variables[0].{text}" for text in errors]


RESERVED = (
    *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
    *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
)


def test_the_name_of_a_variable_is_an_identifier() -> None:
    """Source: isCELIdentifier."""
    wrong = ["1a", "a-b", "a.b", "é", " a", "a\n", *RESERVED]
    errors = rules.validate_admission_policy(policy(variables=[{"name": name, "expression": "1"} for name in wrong]))
    assert [(error.type, error.field, error.value) for error in errors] == [
        ("FieldValueInvalid", f"spec.variables[{i}].name", name) for i, name in enumerate(wrong)
    ]
    right = ["True", "IF", "as_", "in1", "_", "A"]
    assert validated(variables=[{"name": name, "expression": "1"} for name in right]) == []


def test_a_variable_is_used_after_its_declaration() -> None:
    """Source: CompositedCompiler.CompileAndStoreVariable."""
    one, two = {"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}
    assert found(variables=[one, two]) == []
    assert [text.split()[:2] for text in found(variables=[two, one])] == [["variables[0].expression", "Invalid"]]
    broken = {"name": "b", "expression": "1 +"}
    assert [text.split()[:2] for text in found(variables=[one, broken])] == [["variables[1].expression", "Invalid"]]
    assert validated(variables=[one], validations=[{"expression": "variables.a == 1"}]) == []
    assert validated(variables=[one], validations=[{"expression": "variables.a"}]) == [
        "validations[0].expression Invalid must evaluate to bool but got int"
    ]


def test_a_condition_does_not_use_variables() -> None:
    condition = {"name": "c", "expression": "variables.a == 1"}
    errors = found(variables=[{"name": "a", "expression": "1"}], matchConditions=[condition])
    assert [text.split()[:2] for text in errors] == [["matchConditions[0].expression", "Invalid"]]


NOTHING = "Required validations or auditAnnotations must contain at least one item"
AUDIT = {"key": "k", "valueExpression": "'v'"}


def test_a_policy_validates_or_records() -> None:
    assert validated(validations=[]) == [f"validations {NOTHING}", f"auditAnnotations {NOTHING}"]
    assert validated(validations=[], auditAnnotations=[AUDIT]) == []
    assert validated(auditAnnotations=[]) == []


@pytest.mark.parametrize(
    ("validation", "errors"),
    [
        ({"expression": "object.a == 1"}, []),
        ({"expression": ""}, ["expression Required expression is not specified"]),
        ({"expression": " \n"}, ["expression Required expression is not specified"]),
        ({"expression": "1"}, ["expression Invalid must evaluate to bool but got int"]),
        ({"expression": "true", "messageExpression": "'a'"}, []),
        ({"expression": "true", "messageExpression": " "},
         ["messageExpression Invalid must be non-empty if specified"]),
        ({"expression": "true", "messageExpression": "1"},
         ["messageExpression Invalid must evaluate to string but got int"]),
        ({"expression": "true", "message": "a"}, []),
        ({"expression": "true", "message": "\na\n"}, []),
        ({"expression": "true &&\ntrue"}, []),
        ({"expression": "true", "reason": "x"},
         ['reason NotSupported supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"']),
        ({"expression": "true", "reason": "Unauthorized"},
         ['reason NotSupported supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"']),
        *(({"expression": "true", "reason": reason}, [])
          for reason in ("Forbidden", "Invalid", "RequestEntityTooLarge")),
        ({"expression": "", "messageExpression": " ", "reason": "x"},
         ["expression Required expression is not specified",
          "messageExpression Invalid must be non-empty if specified",
          'reason NotSupported supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"']),
    ],
)  # fmt: skip
def test_a_validation(validation: dict[str, str], errors: list[str]) -> None:
    """Source: validateValidation."""
    found = validated(validations=[{"expression": "true"}, validation])
    assert found == [f"validations[1].{text}" for text in errors]


@pytest.mark.parametrize("message", [" ", "\n", "a\nb", "a\rb"])
def test_a_message_is_one_line_with_text(message: str) -> None:
    [error] = rules.validate_admission_policy(policy(validations=[{"expression": "true", "message": message}]))
    assert error.type == "FieldValueInvalid"
    assert (error.field, error.value) == ("spec.validations[0].message", message)


def test_a_message_expression_lacks_the_authorizer() -> None:
    """Source: validateMessageExpression."""
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    assert validated(validations=[{"expression": check}]) == []
    errors = validated(validations=[{"expression": "true", "messageExpression": f"string({check})"}])
    assert [text.split()[:2] for text in errors] == [["validations[0].messageExpression", "Invalid"]]


MAX = 5 * 1024


def text_of(length: int, letter: str = "x") -> str:
    return f"'{letter * (length - 2)}'"


@pytest.mark.parametrize(
    ("annotation", "errors"),
    [
        (AUDIT, []),
        ({"key": "k", "valueExpression": "null"}, []),
        ({"key": "k", "valueExpression": "true"},
         ["valueExpression Invalid must evaluate to one of [string null_type] but got bool"]),
        ({"key": "k", "valueExpression": " "}, ["valueExpression Required valueExpression is not specified"]),
        ({"key": "", "valueExpression": "'v'"},
         ["key Invalid name part must be non-empty", f"key Invalid name part {QUALIFIED_TEXT}"]),
        ({"key": "a b", "valueExpression": ""},
         [f"key Invalid name part {QUALIFIED_TEXT}", "valueExpression Required valueExpression is not specified"]),
        ({"key": "k", "valueExpression": f" {text_of(MAX)}\n"}, []),
        ({"key": "k", "valueExpression": text_of(MAX + 1)},
         ["valueExpression Required must not exceed 5120 bytes in length"]),
        ({"key": "k", "valueExpression": text_of(MAX // 2 + 2, "é")},
         ["valueExpression Required must not exceed 5120 bytes in length"]),
    ],
)  # fmt: skip
def test_an_audit_annotation(annotation: dict[str, str], errors: list[str]) -> None:
    """Source: validateAuditAnnotation."""
    assert validated(auditAnnotations=[annotation]) == [f"auditAnnotations[0].{text}" for text in errors]


def test_the_keys_of_audit_annotations() -> None:
    """The key is the name part of a qualified name that begins with the policy's name."""
    keys = ["a", "b", "a", "a"]
    annotations = [{"key": key, "valueExpression": "'v'"} for key in keys]
    assert validated(auditAnnotations=annotations) == [f"auditAnnotations[{i}].key Duplicate" for i in (2, 3)]
    errors = rules.validate_admission_policy(policy(auditAnnotations=[{**AUDIT, "key": "a/b"}]))
    assert [(error.field, error.value) for error in errors] == [("spec.auditAnnotations[0].key", "p/a/b")]
    nameless = told(rules.validate_admission_policy(policy("", auditAnnotations=[AUDIT])))
    assert nameless[-1:] == ["spec.auditAnnotations[0].key Invalid requires metadata.name be non-empty"]


def test_a_policy_has_few_audit_annotations() -> None:
    annotations = [{"key": f"k{i}", "valueExpression": "'v'"} for i in range(21)]
    assert validated(auditAnnotations=annotations[:20]) == []
    assert validated(auditAnnotations=annotations) == [
        "auditAnnotations Invalid must not have more than 20 auditAnnotations"
    ]


APPLY = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}


@pytest.mark.parametrize(
    ("mutation", "errors"),
    [
        (PATCH, []),
        (APPLY, []),
        ({}, ["patchType Required"]),
        ({"patchType": "x"}, ['patchType NotSupported supported values: "ApplyConfiguration", "JSONPatch"']),
        ({"patchType": "JSONPatch"}, ["jsonPatch Required must be specified when patchType is JSONPatch"]),
        ({"patchType": "ApplyConfiguration"},
         ["applyConfiguration Required must be specified when patchType is ApplyConfiguration"]),
        ({**PATCH, "jsonPatch": {"expression": "1"}},
         ["jsonPatch.expression Invalid must evaluate to list(JSONPatch) but got int"]),
    ],
)  # fmt: skip
def test_a_mutation(mutation: dict[str, Any], errors: list[str]) -> None:
    """Source: validateMutation."""
    assert mutated(mutations=[PATCH, mutation]) == [f"mutations[1].{text}" for text in errors]


def test_a_mutation_without_an_expression() -> None:
    """Source: validateApplyConfiguration, validateJSONPatch."""
    for name, mutation in (("jsonPatch", PATCH), ("applyConfiguration", APPLY)):
        [error] = rules.validate_admission_policy(mutating(mutations=[{**mutation, name: {"expression": " "}}]))
        assert (error.type, error.field) == ("FieldValueRequired", f"spec.mutations[0].{name}.expression")


def test_a_mutation_evaluates_to_the_type_of_its_patch() -> None:
    crossed = [
        {**PATCH, "jsonPatch": APPLY["applyConfiguration"]},
        {**APPLY, "applyConfiguration": PATCH["jsonPatch"]},
    ]
    assert [text.split()[:2] for text in mutated(mutations=crossed)] == [
        ["mutations[0].jsonPatch.expression", "Invalid"],
        ["mutations[1].applyConfiguration.expression", "Invalid"],
    ]


def test_a_mutation_has_no_patch_of_another_type() -> None:
    both = {"jsonPatch": PATCH["jsonPatch"], "applyConfiguration": APPLY["applyConfiguration"]}
    errors = mutated(mutations=[{**both, "patchType": "JSONPatch"}, {**both, "patchType": "ApplyConfiguration"}])
    assert [text.split()[0] for text in errors] == ["mutations[0].applyConfiguration", "mutations[1].jsonPatch"]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"reinvocationPolicy": "IfNeeded"}, []),
        ({"reinvocationPolicy": ""}, ["reinvocationPolicy Required"]),
        ({"reinvocationPolicy": "x"}, ['reinvocationPolicy NotSupported supported values: "IfNeeded", "Never"']),
        ({"mutations": []}, ["mutations Required mutations must contain at least one item"]),
        ({"variables": [{"name": "a", "expression": "'/a'"}],
          "mutations": [{**PATCH, "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: variables.a}]"}}]}, []),
    ],
)  # fmt: skip
def test_a_mutating_policy(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateMutatingAdmissionPolicySpec."""
    assert mutated(**spec) == errors


def test_the_parts_of_a_policy_are_checked_in_order() -> None:
    wrong: dict[str, Any] = {
        "failurePolicy": None,
        "paramKind": {"apiVersion": "", "kind": "K"},
        "matchConstraints": None,
        "matchConditions": [{"name": "", "expression": "true"}],
        "variables": [{"name": "", "expression": "1"}],
    }
    fields = [
        "metadata.namespace",
        "spec.failurePolicy",
        "spec.paramKind.apiVersion",
        "spec.matchConstraints",
        "spec.matchConditions[0].name",
        "spec.variables[0].name",
    ]
    audit = {"key": "k", "valueExpression": ""}
    made = policy(**wrong, validations=[{"expression": ""}], auditAnnotations=[audit])
    other = mutating(**wrong, mutations=[])
    made.metadata.namespace = other.metadata.namespace = "n"
    assert [error.field for error in rules.validate_admission_policy(made)] == [
        *fields,
        "spec.validations[0].expression",
        "spec.auditAnnotations[0].valueExpression",
    ]
    assert [error.field for error in rules.validate_admission_policy(other)] == [*fields, "spec.mutations"]


def test_an_update_checks_the_new_policy() -> None:
    """Source: ValidateValidatingAdmissionPolicyUpdate, ValidateMutatingAdmissionPolicyUpdate."""
    for old, new in ((policy(), policy(failurePolicy="x")), (mutating(), mutating(failurePolicy="x"))):
        assert rules.validate_admission_policy_update(old, new) == []
        new.metadata.name = "b"
        fields = [error.field for error in rules.validate_admission_policy_update(new, old)]
        assert fields == ["metadata.name", "spec.failurePolicy"]


def test_finalizers_of_a_policy_need_no_domain() -> None:
    """The metadata is checked by apimachinery's ValidateObjectMeta, which knows no list of finalizers."""
    for made in (policy(), mutating()):
        made.metadata.finalizers = ["x"]
        assert rules.validate_admission_policy(made) == []
        assert rules.validate_admission_policy_update(made, made) == []

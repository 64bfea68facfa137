"""Single mutations of objects that the kit stores for others: what the API server says to each."""

from __future__ import annotations

import base64
import copy
import functools
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import registry, validate

GONE = object()
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK = {
    "name": "a.b.example",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
LIMITED = {"limitResponse": {"type": "Queue", "queuing": {}}}
SUBJECT = {"kind": "User", "user": {"name": "u"}}
RESOURCES = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["n"]}
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n").decode()
BASES: dict[str, dict[str, Any]] = {
    "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": {"webhooks": [HOOK]},
    "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": {"webhooks": [HOOK]},
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy": {
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "validations": [{"expression": "object.spec.replicas <= 5"}],
        }
    },
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": {
        "spec": {"policyName": "p", "validationActions": ["Deny"]}
    },
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy": {
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{}]"}}],
        }
    },
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding": {"spec": {"policyName": "p"}},
    "flowcontrol.apiserver.k8s.io/v1 FlowSchema": {
        "spec": {
            "priorityLevelConfiguration": {"name": "l"},
            "rules": [{"subjects": [SUBJECT], "resourceRules": [RESOURCES]}],
        }
    },
    "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration": {"spec": {"type": "Limited", "limited": LIMITED}},
    "certificates.k8s.io/v1 CertificateSigningRequest": {
        "spec": {"request": PEM, "signerName": "example.com/s", "usages": ["client auth"]}
    },
    "apiregistration.k8s.io/v1 APIService": {
        "metadata": {"name": "v1.a.example"},
        "spec": {
            "group": "a.example",
            "version": "v1",
            "service": {"namespace": "n", "name": "s"},
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    },
}
VALIDATING, MUTATING = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
POLICY, BINDING, MUTATION = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"
FLOW, LEVEL, REQUEST, SERVICE = "FlowSchema", "PriorityLevelConfiguration", "CertificateSigningRequest", "APIService"
IF_STAR = "if '*' is present, must not specify other"
CASES: list[tuple[str, str, Any, list[str]]] = [
    # kind, path of what is changed, its new value, what is said
    (VALIDATING, "webhooks.0.name", "a.example", [
        'webhooks[0].name: Invalid value: "a.example": should be a domain with at least three segments '
        'separated by dots'
    ]),
    (VALIDATING, "webhooks.0.name", GONE, ["webhooks[0].name: Required value"]),
    (VALIDATING, "webhooks", [HOOK, HOOK], ['webhooks[1].name: Duplicate value: "a.b.example"']),
    (VALIDATING, "webhooks", [], []),
    (VALIDATING, "webhooks.0.sideEffects", GONE, [
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"
    ]),
    (VALIDATING, "webhooks.0.sideEffects", "Some", [
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'
    ]),
    (VALIDATING, "webhooks.0.timeoutSeconds", 31, [
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"
    ]),
    (VALIDATING, "webhooks.0.failurePolicy", "Retry", [
        'webhooks[0].failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"'
    ]),
    (VALIDATING, "webhooks.0.matchPolicy", "", [
        'webhooks[0].matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact"'
    ]),
    (VALIDATING, "webhooks.0.admissionReviewVersions", [], [
        "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"
    ]),
    (VALIDATING, "webhooks.0.admissionReviewVersions", ["v2"], [
        'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'
    ]),
    (VALIDATING, "webhooks.0.admissionReviewVersions", ["v1", "v1"], [
        'webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version'
    ]),
    (VALIDATING, "webhooks.0.clientConfig", {}, [
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required"
    ]),
    (VALIDATING, "webhooks.0.clientConfig", {"url": "http://h"}, [
        'webhooks[0].clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; '
        'desired format: '
        "https://host[/path]"
    ]),
    (VALIDATING, "webhooks.0.clientConfig.service.path", "/a//b", [
        'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ]),
    (VALIDATING, "webhooks.0.clientConfig.service.name", "", [
        "webhooks[0].clientConfig.service.name: Required value: service name is required"
    ]),
    (VALIDATING, "webhooks.0.clientConfig.service.port", 0, [
        "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, "
        "inclusive"
    ]),
    (VALIDATING, "webhooks.0.rules.0.operations", [], ["webhooks[0].rules[0].operations: Required value"]),
    (VALIDATING, "webhooks.0.rules.0.operations", ["READ"], [
        'webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", '
        '"DELETE", "UPDATE"'
    ]),
    (VALIDATING, "webhooks.0.rules.0.operations", ["*", "CREATE"], [
        f'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: {IF_STAR} operations'
    ]),
    (VALIDATING, "webhooks.0.rules.0.apiGroups", ["*", "a"], [
        f'webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: {IF_STAR} API groups'
    ]),
    (VALIDATING, "webhooks.0.rules.0.apiVersions", [""], ["webhooks[0].rules[0].apiVersions[0]: Required value"]),
    (VALIDATING, "webhooks.0.rules.0.resources", ["*", "pods"], [
        f'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: {IF_STAR} resources without subresources'
    ]),
    (VALIDATING, "webhooks.0.rules.0.resources", ["pods/*", "pods/log"], [
        'webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": if \'pods/*\' is present, must not '
        'specify pods/log'
    ]),
    (VALIDATING, "webhooks.0.rules.0.resources", ["*/*", "pods"], [
        "webhooks[0].rules[0].resources: Invalid value: [\"*/*\",\"pods\"]: if '*/*' is present, must not "
        "specify other "
        "resources"
    ]),
    (VALIDATING, "webhooks.0.rules.0.scope", "World", [
        'webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"'
    ]),
    (VALIDATING, "webhooks.0.matchConditions", [{"name": "a", "expression": " "}, {"expression": "true"}], [
        "webhooks[0].matchConditions[0].expression: Required value",
        "webhooks[0].matchConditions[1].name: Required value",
    ]),
    (MUTATING, "webhooks.0.reinvocationPolicy", "Always", [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'
    ]),
    (MUTATING, "webhooks.0.namespaceSelector", {"matchExpressions": [{"key": "a", "operator": "In"}]}, [
        "webhooks[0].namespaceSelector.matchExpressions[0].values: Required value: must be specified when "
        "`operator` is "
        "'In' or 'NotIn'"
    ]),
    (POLICY, "spec.matchConstraints", GONE, ["spec.matchConstraints: Required value"]),
    (POLICY, "spec.matchConstraints.resourceRules", [], ["spec.matchConstraints.resourceRules: Required value"]),
    (POLICY, "spec.matchConstraints.resourceRules.0.resourceNames", ["a", "a"], [
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"'
    ]),
    (POLICY, "spec.validations", [], [
        "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ]),
    (POLICY, "spec.validations.0.expression", " ", [
        "spec.validations[0].expression: Required value: expression is not specified"
    ]),
    (POLICY, "spec.validations.0.message", "a\nb", [
        'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks'
    ]),
    (POLICY, "spec.validations.0.reason", "Gone", [
        'spec.validations[0].reason: Unsupported value: "Gone": supported values: "Forbidden", "Invalid", '
        '"RequestEntityTooLarge"'
    ]),
    (POLICY, "spec.variables", [{"name": "in", "expression": "1"}], [
        'spec.variables[0].name: Invalid value: "in": name is not a valid CEL identifier'
    ]),
    (POLICY, "spec.auditAnnotations", [{"key": "k"}], [
        "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified"
    ]),
    (POLICY, "spec.paramKind", {"apiVersion": "a/b/c", "kind": "K"}, [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'
    ]),
    (POLICY, "spec.failurePolicy", "", [
        'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'
    ]),
    (BINDING, "spec.policyName", GONE, ["spec.policyName: Required value"]),
    (BINDING, "spec.validationActions", [], [
        "spec.validationActions: Required value: at least one validation action is required"
    ]),
    (BINDING, "spec.validationActions", ["Deny", "Deny"], ['spec.validationActions[1]: Duplicate value: "Deny"']),
    (BINDING, "spec.validationActions", ["Stop"], [
        'spec.validationActions[0]: Unsupported value: "Stop": supported values: "Audit", "Deny", "Warn"'
    ]),
    (BINDING, "spec.paramRef", {"parameterNotFoundAction": "Deny"}, [
        "spec.paramRef: Required value: one of name or selector must be specified"
    ]),
    (BINDING, "spec.paramRef", {"name": "a"}, ["spec.paramRef.parameterNotFoundAction: Required value"]),
    (BINDING, "spec.matchResources", {"resourceRules": [{**RULE, "apiGroups": []}]}, [
        "spec.matchResouces.resourceRules[0].apiGroups: Required value"
    ]),
    (MUTATION, "spec.mutations", [], ["spec.mutations: Required value: mutations must contain at least one item"]),
    (MUTATION, "spec.mutations.0.jsonPatch.expression", "[1]", [
        'spec.mutations[0].jsonPatch.expression: Invalid value: "[1]": must evaluate to list(JSONPatch) but got '
        "list(int)"
    ]),
    (MUTATION, "spec.mutations", [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "x"}}], [
        'spec.mutations[0].applyConfiguration.expression: Invalid value: "x": compilation failed: ERROR: <input>:1:1: '
        "undeclared reference to 'x' (in container '')\n | x\n | ^"
    ]),
    (MUTATION, "spec.variables", [{"name": "a", "expression": "Object{}"}], [
        'spec.variables[0].expression: Invalid value: "Object{}": compilation failed: ERROR: <input>:1:7: '
        "undeclared reference to 'Object' (in container '')\n | Object{}\n | ......^"
    ]),
    (MUTATION, "spec.matchConditions", [{"name": "a", "expression": "1"}], [
        'spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int'
    ]),
    (MUTATION, "spec.reinvocationPolicy", GONE, ["spec.reinvocationPolicy: Required value"]),
    ("MutatingAdmissionPolicyBinding", "spec.policyName", "A", [
        'spec.policyName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
        "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
        "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]),
    (FLOW, "spec.matchingPrecedence", -1, [
        "spec.matchingPrecedence: Invalid value: -1: must be a positive value"
    ]),
    (FLOW, "spec.matchingPrecedence", 1, [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"
    ]),
    (FLOW, "spec.matchingPrecedence", 10001, [
        "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"
    ]),
    (FLOW, "spec.priorityLevelConfiguration", GONE, [
        "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"
    ]),
    (FLOW, "spec.rules.0.subjects", [], [
        "spec.rules[0].subjects: Required value: subjects must contain at least one value"
    ]),
    (FLOW, "spec.rules.0.subjects.0.kind", "Robot", [
        'spec.rules[0].subjects[0].kind: Unsupported value: "Robot": supported values: "Group", '
        '"ServiceAccount", "User"'
    ]),
    (FLOW, "spec.rules.0.subjects.0.kind", "Group", [
        "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
        "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
    ]),
    (FLOW, "spec.rules.0.resourceRules", [], [
        "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"
    ]),
    (FLOW, "spec.rules.0.resourceRules.0.namespaces", [], [
        "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must "
        "supply at least one namespace"
    ]),
    (FLOW, "spec.rules.0.resourceRules.0.verbs", ["*", "get"], [
        f'spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: {IF_STAR} verbs'
    ]),
    (FLOW, "spec.rules.0.nonResourceRules", [{"verbs": ["get"], "nonResourceURLs": ["a", "/b*"]}], [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/b*": wildcard can only do '
        'suffix matching',
    ]),
    (LEVEL, "spec.type", "Exempt", [
        "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
        "spec.limited: Forbidden: must be nil if the type is not Limited",
        "spec.exempt: Required value: must not be empty if type is Exempt",
    ]),
    (LEVEL, "spec.limited", GONE, ["spec.limited: Required value: must not be empty when type is Limited"]),
    (LEVEL, "spec.limited.nominalConcurrencyShares", -1, [
        "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"
    ]),
    (LEVEL, "spec.limited.nominalConcurrencyShares", 0, []),
    (LEVEL, "spec.limited.lendablePercent", 101, [
        "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"
    ]),
    (LEVEL, "spec.limited.limitResponse.queuing.handSize", 65, [
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 65: should not be greater than queues (64)"
    ]),
    (LEVEL, "spec.limited.limitResponse.queuing.handSize", 11, [
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 64 and "
        "handSize 11 should not be greater than 60"
    ]),
    (LEVEL, "spec.limited.limitResponse.type", "Reject", [
        "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited"
    ]),
    (REQUEST, "metadata.name", "any name: is/taken", []),
    (REQUEST, "spec.request", "", ['spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST']),
    (REQUEST, "spec.usages", [], ["spec.usages: Required value"]),
    (REQUEST, "spec.usages", ["signing", "signing"], ['spec.usages[1]: Duplicate value: "signing"']),
    (REQUEST, "spec.signerName", "kubernetes.io/legacy-unknown", [
        'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this '
        "API version"
    ]),
    (REQUEST, "spec.signerName", "example", [
        "spec.signerName: Invalid value: \"example\": must be a fully qualified domain and path of the form "
        "'example.com/signer-name'"
    ]),
    (REQUEST, "spec.signerName", "example/s", [
        'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots'
    ]),
    (REQUEST, "spec.expirationSeconds", 599, [
        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"
    ]),
    (SERVICE, "metadata.name", "other", [
        'metadata.name: Invalid value: "other": must be `spec.version+"."+spec.group`: "v1.a.example"'
    ]),
    (SERVICE, "spec.groupPriorityMinimum", 0, [
        "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000"
    ]),
    (SERVICE, "spec.versionPriority", 1001, [
        "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"
    ]),
    (SERVICE, "spec.service", {"name": "s"}, ["spec.service.namespace: Required value"]),
    (SERVICE, "spec.service", GONE, []),
]  # fmt: skip


def problems(data: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    new = set_defaults(from_dict(data, strict=True))
    before = set_defaults(from_dict(old, strict=True)) if old is not None else None
    return [str(error) for error in validate(new, before, namespaced=False)]


def base(kind: str) -> dict[str, Any]:
    (name,) = (one for one in BASES if one.endswith(f" {kind}"))
    api_version = name.partition(" ")[0]
    made = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **BASES[name]}
    return copy.deepcopy(made)


def mutated(kind: str, path: str, value: Any) -> dict[str, Any]:
    data = base(kind)
    *steps, last = path.split(".")
    at = functools.reduce(lambda part, step: part[int(step) if step.isdigit() else step], steps, data)
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return data


@pytest.mark.parametrize("name", BASES)
def test_a_sound_object_is_accepted_and_may_stay_as_it_is(name: str) -> None:
    data = base(name.partition(" ")[2])
    assert problems(data) == problems(data, data) == []


@pytest.mark.parametrize(("kind", "path", "value", "expected"), CASES)
def test_one_change_is_answered_as_upstream_does(kind: str, path: str, value: Any, expected: list[str]) -> None:
    assert problems(mutated(kind, path, value)) == expected


def test_the_registry_names_every_kind_of_every_table_once() -> None:
    folder = Path(registry.__file__).parent
    tables = {path.stem for path in folder.glob("*.py") if "\nKINDS: Rules = {" in path.read_text()}
    assert tables == registry.MODULES.keys()
    for module, kinds in registry.MODULES.items():
        table = import_module(f"{registry.__package__}.{module}").KINDS
        assert sorted(type_.__name__ for type_ in table) == sorted(kinds), module
    named = [kind for kinds in registry.MODULES.values() for kind in kinds]
    assert len(named) == len(set(named))

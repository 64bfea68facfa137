"""What a CustomResourceDefinition says beside its schema. Source: apiextensions-apiserver's validation."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

SCHEMA = {"openAPIV3Schema": {"type": "object"}}
V1: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}
HOOK = {"clientConfig": {"url": "https://a.example.com/x"}, "conversionReviewVersions": ["v1"]}
SERVICE = {"name": "s", "namespace": "n"}
FORM = "; desired format: https://host[/path]"
APPROVAL = "metadata.annotations[api-approved.kubernetes.io]"
PROTECTED = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def column(**changes: str) -> dict[str, Any]:
    """One version with one printed column."""
    made = {"name": "Size", "type": "integer", "jsonPath": ".spec.size", **changes}
    return {"versions": [{**V1, "additionalPrinterColumns": [made]}]}


def scale(**changes: str) -> dict[str, Any]:
    """One version with the scale subresource."""
    made = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", **changes}
    return {"versions": [{**V1, "subresources": {"scale": made}}]}


def webhook(client: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    made = {**HOOK, **changes}
    if client is not None:
        made["clientConfig"] = client
    return {"conversion": {"strategy": "Webhook", "webhook": made}}


def problems(change: dict[str, Any], annotations: dict[str, str] | None = None) -> list[str]:
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [V1],
        **copy.deepcopy(change),
    }
    meta = {"name": f"foos.{spec['group']}", "annotations": annotations or {}}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    made = from_dict({**kind, "metadata": meta, "spec": spec}, strict=True)
    return [str(error) for error in validate(set_defaults(made))]


COLUMN, SCALE = "spec.additionalPrinterColumns[0]", "spec.subresources.scale"
CLIENT, REVIEWS = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
TYPES = "must be one of boolean,date,integer,number,string"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        (column(), []),
        (column(name=""), [f"{COLUMN}.name: Required value"]),
        (column(type=""), [f"{COLUMN}.type: Required value: {TYPES}"]),
        (column(type="int"), [f'{COLUMN}.type: Invalid value: "int": {TYPES}']),
        (
            column(format="int16"),
            [
                f'{COLUMN}.format: Invalid value: "int16": must be one of '
                "byte,date,date-time,double,float,int32,int64,password"
            ],
        ),
        (column(jsonPath=""), [f"{COLUMN}.JSONPath: Required value"]),
        (
            column(jsonPath="spec"),
            [f'{COLUMN}.JSONPath: Invalid value: "spec": must be a simple json path starting with .'],
        ),
        (scale(), []),
        (scale(specReplicasPath=""), [f"{SCALE}.specReplicasPath: Required value"]),
        (
            scale(specReplicasPath=".status.x"),
            [f'{SCALE}.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec'],
        ),
        (
            scale(statusReplicasPath="x"),
            [f'{SCALE}.statusReplicasPath: Invalid value: "x": must be a simple json path starting with .'],
        ),
        (
            scale(labelSelectorPath=".meta"),
            [f'{SCALE}.labelSelectorPath: Invalid value: ".meta": should be a json path under either .spec or .status'],
        ),
        (webhook(), []),
        (webhook({"service": SERVICE}), []),
        (
            {"conversion": {"strategy": "Webhook"}},
            [f"{CLIENT}: Required value: required when strategy is set to Webhook", f"{REVIEWS}: Required value"],
        ),
        (
            {"conversion": {"strategy": "None", "webhook": HOOK}},
            [
                f"{CLIENT}: Forbidden: should not be set when strategy is not set to Webhook",
                f"{REVIEWS}: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (
            {"conversion": {"strategy": "Hook"}},
            ['spec.conversion.strategy: Unsupported value: "Hook": supported values: "None", "Webhook"'],
        ),
        (webhook({}), [f"{CLIENT}: Required value: exactly one of url or service is required"]),
        (
            webhook({"url": "http://a?b=c"}),
            [
                f"{CLIENT}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme{FORM}",
                f'{CLIENT}.url: Invalid value: "b=c": query parameters are not permitted in the URL',
            ],
        ),
        (
            webhook({"service": {"port": 70000}}),
            [
                f"{CLIENT}.service.name: Required value: service name is required",
                f"{CLIENT}.service.namespace: Required value: service namespace is required",
                f"{CLIENT}.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, "
                "inclusive",
            ],
        ),
        (
            webhook(conversionReviewVersions=["v2", "v2"]),
            [
                f'{REVIEWS}[1]: Invalid value: "v2": duplicate version',
                f'{REVIEWS}: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            {"preserveUnknownFields": True},
            [
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            ],
        ),
    ],
)
def test_a_definition_is_refused_with_field_and_rule(change: dict[str, Any], found: list[str]) -> None:
    assert problems(change) == found


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("", [f"{APPROVAL}: Required value: {PROTECTED}, {SEE}"]),
        (
            "yes",
            [
                f'{APPROVAL}: Invalid value: "yes": {PROTECTED} with either a URL or a reason starting with '
                f'"unapproved", {SEE}'
            ],
        ),
        ("unapproved, an experiment", []),
        ("https://example.com/1", []),
    ],
)
@pytest.mark.parametrize("group", ["x.k8s.io", "k8s.io"])
def test_a_group_of_kubernetes_needs_an_approval(group: str, annotation: str, found: list[str]) -> None:
    assert problems({"group": group}, {"api-approved.kubernetes.io": annotation}) == found

"""FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.api.names import LABEL_TEXT
from kitlib.apiserver.validation import flow_control
from tests.apiserver.validation.told import named, told

USER = {"kind": "User", "user": {"name": "u"}}
RESOURCES = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}


def schema(name: str = "a", **spec: Any) -> FlowSchema:
    level = {"priorityLevelConfiguration": {"name": "l"}, "matchingPrecedence": 5}
    return named(FlowSchema, name, spec={**level, **spec})


def of_schema(made: FlowSchema) -> list[str]:
    found = told(flow_control.validate_flow_schema(made))
    assert told(flow_control.validate_flow_schema_update(made, made)) == found
    return [text.removeprefix("spec.") for text in found]


def of_rule(**rule: Any) -> list[str]:
    found = of_schema(schema(rules=[{"subjects": [USER], "resourceRules": [RESOURCES], **rule}]))
    return [text.removeprefix("rules[0].") for text in found]


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (schema(), []),
        (schema(matchingPrecedence=10000), []),
        (schema(matchingPrecedence=10001), ["matchingPrecedence Invalid must not be greater than 10000"]),
        (schema(matchingPrecedence=0), ["matchingPrecedence Invalid must be a positive value"]),
        (
            schema(matchingPrecedence=1),
            ["matchingPrecedence Invalid only the schema named 'exempt' may have matchingPrecedence 1"],
        ),
        (schema("exempt", matchingPrecedence=1), []),
        (schema(distinguisherMethod={"type": "ByUser"}), []),
        (
            schema(distinguisherMethod={"type": "x"}),
            ['distinguisherMethod.type NotSupported supported values: "ByNamespace", "ByUser"'],
        ),
        (
            schema(priorityLevelConfiguration={}),
            ["priorityLevelConfiguration.name Required must reference a priority level"],
        ),
    ],
)
def test_schemas(made: FlowSchema, errors: list[str]) -> None:
    """Source: ValidateFlowSchemaSpec."""
    assert of_schema(made) == errors


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        ({}, []),
        ({"subjects": []}, ["subjects Required subjects must contain at least one value"]),
        (
            {"resourceRules": []},
            ["rules[0] Required at least one of resourceRules and nonResourceRules has to be non-empty"],
        ),
        (
            {"subjects": [{"kind": "x"}]},
            ['subjects[0].kind NotSupported supported values: "Group", "ServiceAccount", "User"'],
        ),
        ({"subjects": [{"kind": "User"}]}, ["subjects[0].user Required user is required when subject kind is 'User'"]),
        ({"subjects": [{"kind": "User", "user": {}}]}, ["subjects[0].user.name Required"]),
        (
            {"subjects": [{**USER, "group": {"name": "g"}}]},
            ["subjects[0].group Forbidden group is forbidden when subject kind is not 'Group'"],
        ),
        ({"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "n"}}]}, []),
        (
            {"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "s"}}]},
            ["subjects[0].serviceAccount.namespace Required must specify namespace for service account"],
        ),
    ],
)
def test_rules_and_subjects(rule: dict[str, Any], errors: list[str]) -> None:
    assert of_rule(**rule) == errors


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({"verbs": []}, ["verbs Required verbs must contain at least one value"]),
        ({"verbs": ["*"]}, []),
        ({"verbs": ["*", "get"]}, ["verbs Invalid if '*' is present, must not specify other verbs"]),
        ({"apiGroups": []}, ["apiGroups Required resource rules must supply at least one api group"]),
        ({"apiGroups": ["*", "a"]}, ["apiGroups Invalid if '*' is present, must not specify other api groups"]),
        ({"resources": []}, ["resources Required resource rules must supply at least one resource"]),
        (
            {"namespaces": []},
            ["namespaces Required resource rules that are not cluster scoped must supply at least one namespace"],
        ),
        ({"namespaces": [], "clusterScope": True}, []),
        ({"namespaces": ["*", "n"]}, ["namespaces Invalid if '*' is present, must not specify other namespaces"]),
        (
            {"namespaces": ["n", "A"]},
            [f"namespaces[1] Invalid each member of this list must be '*' or a DNS-1123 label; {LABEL_TEXT}"],
        ),
    ],
)
def test_resource_rules(change: dict[str, Any], errors: list[str]) -> None:
    found = of_rule(resourceRules=[{**RESOURCES, **change}])
    assert [text.removeprefix("resourceRules[0].") for text in found] == errors
    (verb,) = of_rule(resourceRules=[{**RESOURCES, "verbs": ["get", "x"]}])
    assert verb.startswith('resourceRules[0].verbs NotSupported supported values: "create", ')


@pytest.mark.parametrize(
    ("urls", "errors"),
    [
        (["/a", "/a/*"], []),
        (["*"], []),
        ([], [" Required nonResourceURLs must contain at least one value"]),
        (["*", "/a"], [" Invalid if '*' is present, must not specify other non-resource URLs"]),
        ([""], ["[0] Invalid must not be empty"]),
        (["a"], ["[0] Invalid must start with slash"]),
        (["/a b"], ["[0] Invalid must not contain white-space"]),
        (["/a//b"], ["[0] Invalid must not contain double slash"]),
        (["/a*"], ["[0] Invalid wildcard can only do suffix matching"]),
        (["/*/a/*"], ["[0] Invalid wildcard can only do suffix matching"]),
    ],
)
def test_non_resource_rules(urls: list[str], errors: list[str]) -> None:
    """Source: ValidateNonResourceURLPath."""
    found = of_rule(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": urls}])
    assert [text.removeprefix("nonResourceRules[0].nonResourceURLs") for text in found] == errors


def level(name: str = "a", type_: str = "Limited", **spec: Any) -> list[str]:
    made = named(PriorityLevelConfiguration, name, spec={"type": type_, **spec})
    found = told(flow_control.validate_priority_level_configuration(made))
    assert told(flow_control.validate_priority_level_configuration_update(made, made)) == found
    return [text.removeprefix("spec.") for text in found]


def limited(queuing: Any = None, kind: str = "Queue", **fields: Any) -> list[str]:
    response = {"type": kind, **({} if queuing is None else {"queuing": queuing})}
    return [text.removeprefix("limited.") for text in level(limited={"limitResponse": response, **fields})]


ONLY = "type Invalid type must be 'Exempt' if and only if name is 'exempt'"


def test_levels() -> None:
    """Source: ValidatePriorityLevelConfigurationSpec."""
    assert level("exempt", "Exempt", exempt={}) == []
    assert level("a", "Exempt", exempt={}) == [ONLY]
    assert level("exempt", "Exempt") == ["exempt Required must not be empty if type is Exempt"]
    assert level("exempt", "Exempt", exempt={"nominalConcurrencyShares": -1, "lendablePercent": 101}) == [
        "exempt.nominalConcurrencyShares Invalid must be a non-negative integer",
        "exempt.lendablePercent Invalid must be between 0 and 100, inclusive",
    ]
    assert level() == ["limited Required must not be empty when type is Limited"]
    assert level("a", "x") == ['type NotSupported supported values: "Exempt", "Limited"']
    assert limited(kind="Reject", lendablePercent=100, nominalConcurrencyShares=0, borrowingLimitPercent=0) == []
    assert limited(kind="Reject", borrowingLimitPercent=-1) == [
        "borrowingLimitPercent Invalid if specified, must be a non-negative integer"
    ]
    assert limited({}, "Reject") == [
        "limitResponse.queuing Forbidden must be nil if limited.limitResponse.type is not Limited"
    ]
    assert limited() == ["limitResponse.queuing Required must not be empty if limited.limitResponse.type is Limited"]
    assert limited(kind="x") == ['limitResponse.type NotSupported supported values: "Queue", "Reject"']


@pytest.mark.parametrize(
    ("queues", "hand", "errors"),
    [
        (64, 8, []),
        (64, 10, []),
        (
            64,
            11,
            ["handSize Invalid required entropy bits of deckSize 64 and handSize 11 should not be greater than 60"],
        ),
        (1, 1, []),
        (0, 1, ["queues Invalid must be positive", "handSize Invalid should not be greater than queues (0)"]),
        (4, 5, ["handSize Invalid should not be greater than queues (4)"]),
        (4, 0, ["handSize Invalid must be positive"]),
        (10_000_000, 1, []),
        (10_000_001, 1, ["queues Invalid must not be greater than 10000000"]),
    ],
)
def test_queues(queues: int, hand: int, errors: list[str]) -> None:
    """Source: ValidatePriorityLevelQueuingConfiguration, RequiredEntropyBits."""
    found = limited({"queues": queues, "handSize": hand, "queueLengthLimit": 1})
    assert [text.removeprefix("limitResponse.queuing.") for text in found] == errors
    (length,) = limited({"queues": 1, "handSize": 1, "queueLengthLimit": 0})
    assert length == "limitResponse.queuing.queueLengthLimit Invalid must be positive"

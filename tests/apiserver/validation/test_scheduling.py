"""Scheduling fields: affinity, tolerations, spread constraints and gates."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodSpec
from kitlib.api.names import LABEL_TEXT, QUALIFIED_TEXT, SUBDOMAIN_TEXT, VALUE_TEXT
from kitlib.apiserver.validation import scheduling
from tests.apiserver.validation.told import part, told

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def affinity(**sides: Any) -> list[str]:
    return told(scheduling.validate_affinity(part(PodSpec, affinity=sides).affinity, "a"))


def expression(key: str = "k", operator: str = "In", *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        (expression("k", "In", "v"), []),
        (expression("k", "Exists"), []),
        (expression("k", "Gt", "5"), []),
        (expression("k", "NotIn"), ["values Required must be specified when `operator` is 'In' or 'NotIn'"]),
        (
            expression("k", "DoesNotExist", "v"),
            ["values Forbidden may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
        (
            expression("k", "Lt", "1", "2"),
            ["values Required must be specified single value when `operator` is 'Lt' or 'Gt'"],
        ),
        (expression("k", "x"), ["operator Invalid not a valid selector operator"]),
        (expression("-", "Exists"), [f"key Invalid name part {QUALIFIED_TEXT}"]),
    ],
)
def test_requirements_of_nodes(one: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateNodeSelectorRequirement."""
    term = {"matchExpressions": [one]}
    place = f"a.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]."
    found = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": [term]}})
    assert [text.removeprefix(place) for text in found] == errors
    place = f"a.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0]."
    found = affinity(nodeAffinity={PREFERRED: [{"weight": 1, "preference": term}]})
    assert [text.removeprefix(place) for text in found] == errors


def test_values_are_checked_where_they_are_required() -> None:
    term = {"matchExpressions": [expression("k", "In", "a b")]}
    (found,) = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": [term]}})
    assert found.endswith(f"matchExpressions[0].values[0] Invalid {VALUE_TEXT}")
    assert affinity(nodeAffinity={PREFERRED: [{"weight": 1, "preference": term}]}) == []
    (empty,) = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": []}})
    assert empty.endswith("nodeSelectorTerms Required must have at least one node selector term")


@pytest.mark.parametrize(("weight", "valid"), [(0, False), (1, True), (100, True), (101, False)])
def test_weights(weight: int, valid: bool) -> None:
    errors = [] if valid else ["must be in the range 1-100"]
    term = {"topologyKey": "z"}
    spec = part(
        PodSpec,
        affinity={
            "nodeAffinity": {PREFERRED: [{"weight": weight, "preference": {}}]},
            "podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]},
        },
    )
    assert [error.detail for error in scheduling.validate_affinity(spec.affinity, "a")] == errors * 2


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        (expression("metadata.name", "In", "n"), []),
        (expression("metadata.name", "In", "A"), [f"values[0] Invalid {SUBDOMAIN_TEXT}"]),
        (
            expression("metadata.name", "In", "a", "b"),
            ["values Required must be only one value when `operator` is 'In' or 'NotIn' for node field selector"],
        ),
        (expression("metadata.name", "Exists"), ["operator Invalid not a valid selector operator"]),
        (expression("spec.x", "In", "a"), ["key Invalid not a valid field selector key"]),
    ],
)
def test_fields_of_nodes(one: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateNodeFieldSelectorRequirement."""
    found = affinity(nodeAffinity={REQUIRED: {"nodeSelectorTerms": [{"matchFields": [one]}]}})
    place = f"a.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0]."
    assert [text.removeprefix(place) for text in found] == errors


SELECTOR = {"matchLabels": {"a": "b"}}
UNSET = "Forbidden must not be specified when labelSelector is not set"


@pytest.mark.parametrize(
    ("term", "errors"),
    [
        ({}, []),
        (
            {"topologyKey": ""},
            [
                "topologyKey Required can not be empty",
                "topologyKey Invalid name part must be non-empty",
                f"topologyKey Invalid name part {QUALIFIED_TEXT}",
            ],
        ),
        ({"namespaces": ["A"]}, [f"namespace Invalid {LABEL_TEXT}"]),
        ({"matchLabelKeys": ["k"]}, [f"matchLabelKeys {UNSET}"]),
        ({"mismatchLabelKeys": ["k"]}, [f"mismatchLabelKeys {UNSET}"]),
        ({"labelSelector": SELECTOR, "matchLabelKeys": ["k"], "mismatchLabelKeys": ["l"]}, []),
        (
            {"labelSelector": SELECTOR, "matchLabelKeys": ["j", "k"], "mismatchLabelKeys": ["k"]},
            ["matchLabelKeys[1] Invalid exists in both matchLabelKeys and mismatchLabelKeys"],
        ),
        (
            {"labelSelector": SELECTOR, "matchLabelKeys": ["-"]},
            [f"matchLabelKeys[0] Invalid name part {QUALIFIED_TEXT}"],
        ),
    ],
)
@pytest.mark.parametrize("side", ["podAffinity", "podAntiAffinity"])
def test_terms_of_pods(side: str, term: dict[str, Any], errors: list[str]) -> None:
    """Source: validatePodAffinityTerm."""
    made = {"topologyKey": "z", **term}
    found = affinity(**{side: {REQUIRED: [made]}})
    assert [text.removeprefix(f"a.{side}.{REQUIRED}[0].") for text in found] == errors
    found = affinity(**{side: {PREFERRED: [{"weight": 1, "podAffinityTerm": made}]}})
    assert [text.removeprefix(f"a.{side}.{PREFERRED}[0].podAffinityTerm.") for text in found] == errors


@pytest.mark.parametrize(
    ("toleration", "errors"),
    [
        ({"operator": "Exists"}, []),
        ({"key": "k", "value": "v"}, []),
        (
            {"key": "k", "operator": "Exists", "value": "v"},
            ["operator Invalid value must be empty when `operator` is 'Exists'"],
        ),
        (
            {"operator": "Equal"},
            [
                'operator Invalid operator must be Exists when `key` is empty, which means "match all '
                'values and all keys"'
            ],
        ),
        ({"key": "k", "value": "a b"}, [f"operator Invalid {VALUE_TEXT}"]),
        ({"key": "k", "operator": "x"}, ['operator NotSupported supported values: "Equal", "Exists"']),
        ({"key": "k", "effect": "NoExecute", "tolerationSeconds": 5}, []),
        (
            {"key": "k", "effect": "NoSchedule", "tolerationSeconds": 5},
            ["effect Invalid effect must be 'NoExecute' when `tolerationSeconds` is set"],
        ),
        (
            {"key": "k", "effect": "x"},
            ['effect NotSupported supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
        ),
    ],
)
def test_tolerations(toleration: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateTolerations."""
    found = told(scheduling.validate_tolerations(part(PodSpec, tolerations=[toleration]).tolerations, "t"))
    assert [text.removeprefix("t[0].") for text in found] == errors


def spread(*constraints: dict[str, Any]) -> list[str]:
    whole = [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", **one} for one in constraints]
    made = part(PodSpec, topologySpreadConstraints=whole).topology_spread_constraints
    return told(scheduling.validate_topology_spread_constraints(made, "s"))


POLICIES = 'NotSupported supported values: "Honor", "Ignore"'


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        ({}, []),
        ({"maxSkew": 0}, ["maxSkew Invalid must be greater than zero"]),
        ({"topologyKey": ""}, ["topologyKey Required can not be empty"]),
        (
            {"whenUnsatisfiable": "x"},
            ['whenUnsatisfiable NotSupported supported values: "DoNotSchedule", "ScheduleAnyway"'],
        ),
        ({"minDomains": 1}, []),
        ({"minDomains": 0}, ["minDomains Invalid must be greater than zero"]),
        (
            {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            ["minDomains Invalid can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"],
        ),
        ({"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}, []),
        (
            {"nodeAffinityPolicy": "x", "nodeTaintsPolicy": "y"},
            [f"nodeAffinityPolicy {POLICIES}", f"nodeTaintsPolicy {POLICIES}"],
        ),
        ({"matchLabelKeys": ["k"]}, [f"matchLabelKeys {UNSET}"]),
        ({"matchLabelKeys": ["k"], "labelSelector": SELECTOR}, []),
        (
            {
                "matchLabelKeys": ["j", "k"],
                "labelSelector": {"matchLabels": {"k": "v"}, "matchExpressions": [expression("k", "In", "v")]},
            },
            ["matchLabelKeys[1] Invalid exists in both matchLabelKeys and labelSelector"],
        ),
    ],
)
def test_spread_constraints(one: dict[str, Any], errors: list[str]) -> None:
    """Source: validateTopologySpreadConstraints."""
    assert [text.removeprefix("s[0].") for text in spread(one)] == errors


def test_a_spread_constraint_is_not_repeated() -> None:
    """Source: ValidateSpreadConstraintNotRepeat: the earlier one is reported."""
    assert spread({}, {"maxSkew": 2}) == ["s[0].{topologyKey, whenUnsatisfiable} Duplicate"]
    assert spread({}, {"whenUnsatisfiable": "ScheduleAnyway"}, {"topologyKey": "h"}) == []


def test_gates() -> None:
    gates = part(PodSpec, schedulingGates=[{"name": "a.b/c"}, {"name": "d"}, {"name": "a.b/c"}, {"name": "-"}])
    assert told(scheduling.validate_scheduling_gates(gates.scheduling_gates, "g")) == [
        "g[2] Duplicate",
        f"g[3] Invalid name part {QUALIFIED_TEXT}",
    ]

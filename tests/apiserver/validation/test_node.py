"""Nodes with their taints, networks and old annotations; Leases; RuntimeClasses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.coordination import Lease, RuntimeClass
from kitlib.api.core import Node, Taint
from kitlib.api.names import CIDR_TEXT, LABEL_TEXT, QUALIFIED_TEXT, VALUE_TEXT
from kitlib.apiserver.validation import node as rules
from tests.apiserver.validation.told import named, part, told

TAINTS, AVOID = "scheduler.alpha.kubernetes.io/taints", "scheduler.alpha.kubernetes.io/preferAvoidPods"
EFFECTS = 'NotSupported supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
NOT_NEGATIVE = "Invalid must be greater than or equal to 0"


def node(spec: Any = None, status: Any = None, annotations: dict[str, str] | None = None, **fields: Any) -> Node:
    return named(Node, metadata={"annotations": annotations or {}}, spec=spec or {}, status=status or {}, **fields)


def taint(key: str = "a", effect: str = "NoSchedule", value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


UNIQUE = "Duplicate taints must be unique by key and effect pair"


@pytest.mark.parametrize(
    ("taints", "errors"),
    [
        ([], []),
        ([taint(), taint(effect="NoExecute"), taint(effect="PreferNoSchedule"), taint("b", value="v")], []),
        ([taint(), taint(value="v")], [f"[1] {UNIQUE}"]),
        ([taint(), taint("b"), taint(), taint()], [f"[2] {UNIQUE}", f"[3] {UNIQUE}"]),
        ([taint("")], [f"[0].key Invalid name part {text}" for text in ("must be non-empty", QUALIFIED_TEXT)]),
        ([taint(effect="")], ["[0].effect Required"]),
        ([taint(effect="x")], [f"[0].effect {EFFECTS}"]),
        ([taint(value="-")], [f"[0].value Invalid {VALUE_TEXT}"]),
        ([taint(value="x" * 63)], []),
        ([taint(), taint("a b", "", "-"), taint("a b", "", "-")],
         [f"[1].key Invalid name part {QUALIFIED_TEXT}", f"[1].value Invalid {VALUE_TEXT}", "[1].effect Required",
          f"[2].key Invalid name part {QUALIFIED_TEXT}", f"[2].value Invalid {VALUE_TEXT}", "[2].effect Required",
          f"[2] {UNIQUE}"]),
    ],
)  # fmt: skip
def test_taints(taints: list[Any], errors: list[str]) -> None:
    """Source: validateNodeTaints."""
    found = told(rules.validate_node_taints([part(Taint, **one) for one in taints], "t"))
    assert found == [f"t{text}" for text in errors]
    in_spec = told(rules.validate_node(node({"taints": taints})))
    assert in_spec == [f"metadata.taints{text}" for text in errors]
    in_annotation = told(rules.validate_node(node(annotations={TAINTS: json.dumps(taints)})))
    assert in_annotation == [f"metadata.annotations.{TAINTS}{text}" for text in errors]


@pytest.mark.parametrize("text", ["x", "{}", '[{"key": 1}]'])
def test_an_annotation_that_is_no_list_of_taints(text: str) -> None:
    """Source: ValidateTaintsInNodeAnnotations."""
    [error] = rules.validate_node(node(annotations={TAINTS: text}))
    assert (error.type, error.field, error.value) == ("FieldValueInvalid", "metadata.annotations", TAINTS)
    assert error.detail


def avoiding(*controllers: Any) -> str:
    return json.dumps({"preferAvoidPods": [{"podSignature": {"podController": one}} for one in controllers]})


CONTROLLER = {"apiVersion": "v1", "kind": "ReplicationController", "name": "r", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("", []),
        ("{}", []),
        (avoiding(), []),
        (avoiding(CONTROLLER), []),
        (avoiding(CONTROLLER, None), [f".{AVOID}[1].PodSignature Required"]),
        ('{"preferAvoidPods": [{}]}', [f".{AVOID}[0].PodSignature Required"]),
        (avoiding({**CONTROLLER, "controller": False}),
         [f".{AVOID}[0].PodSignature.PodController.Controller Invalid must point to a controller"]),
    ],
)  # fmt: skip
def test_the_annotation_of_avoided_pods(text: str, errors: list[str]) -> None:
    """Source: ValidateAvoidPodsInNodeAnnotations, validatePreferAvoidPodsEntry."""
    found = told(rules.validate_node(node(annotations={AVOID: text})))
    assert found == [f"metadata.annotations{text}" for text in errors]


@pytest.mark.parametrize("text", ["x", "[]", '{"preferAvoidPods": 1}'])
def test_an_annotation_that_is_no_list_of_avoided_pods(text: str) -> None:
    [error] = rules.validate_node(node(annotations={AVOID: text}))
    assert (error.type, error.field, error.value) == ("FieldValueInvalid", "metadata.annotations.AvoidPods", AVOID)
    assert error.detail


@pytest.mark.parametrize("which", ["capacity", "allocatable"])
@pytest.mark.parametrize(
    ("name", "amount", "errors"),
    [
        ("cpu", "0", []),
        ("cpu", "500m", []),
        ("cpu", "-1m", [NOT_NEGATIVE]),
        ("pods", "1", []),
        ("pods", "1500m", ["Invalid must be an integer"]),
        ("a.b/c", "-1500m", [NOT_NEGATIVE, "Invalid must be an integer"]),
    ],
)
def test_amounts_of_a_node(which: str, name: str, amount: str, errors: list[str]) -> None:
    """Source: ValidateNodeResources."""
    found = told(rules.validate_node(node(status={which: {name: amount}})))
    assert found == [f"status.{which}.{name} {text}" for text in errors]


@pytest.mark.parametrize(
    ("info", "valid"),
    [
        (None, True),
        ({}, True),
        ({"swap": None}, True),
        ({"swap": {}}, True),
        ({"swap": {"capacity": 1}}, True),
        ({"swap": {"capacity": 0}}, False),
        ({"swap": {"capacity": -1}}, False),
    ],
)
def test_the_swap_of_a_node(info: Any, valid: bool) -> None:
    """Source: validateNodeSwapStatus."""
    found = told(rules.validate_node(node(status={"nodeInfo": info})))
    assert found == ([] if valid else ["metadata.nodeSwapStatus.capacity Invalid must be greater than zero"])


FOUR, SIX = "10.0.0.0/24", "fd00::/64"
ONE_EACH = " Invalid may specify no more than one CIDR for each IP family"


@pytest.mark.parametrize(
    ("networks", "errors"),
    [
        ([FOUR], []),
        ([SIX], []),
        (["x"], [f"[0] Invalid {CIDR_TEXT}"]),
        ([FOUR, SIX], []),
        ([SIX, FOUR], []),
        ([FOUR, "10.0.1.0/24"], [ONE_EACH]),
        ([FOUR, SIX, "10.0.1.0/24"], [ONE_EACH]),
        ([FOUR, "x"],
         [f"[1] Invalid {CIDR_TEXT}",
          " InternalError invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: <nil> "
          "(invalid CIDR address: x)",
          ONE_EACH]),
    ],
)  # fmt: skip
def test_the_networks_of_a_node(networks: list[str], errors: list[str]) -> None:
    """Source: ValidateNode, IsDualStackCIDRStrings."""
    found = told(rules.validate_node(node({"podCIDR": networks[0], "podCIDRs": networks})))
    assert found == [f"spec.podCIDRs{text}" for text in errors]


@pytest.mark.parametrize(
    ("one", "several", "expected"),
    [
        ("", [], []),
        ("a", [], ["a"]),
        ("", ["b"], ["b"]),
        ("a", ["a", "b"], ["a", "b"]),
        ("a", ["b", "a"], ["a"]),
        ("a", ["b"], ["a"]),
    ],
)
def test_the_single_network_takes_precedence(one: str, several: list[str], expected: list[str]) -> None:
    """Source: Convert_v1_NodeSpec_To_core_NodeSpec."""
    assert rules.pod_cidrs(node({"podCIDR": one, "podCIDRs": several})) == expected


def test_a_node_as_a_whole() -> None:
    """Source: ValidateNode."""
    wrong = node(
        {"taints": [taint(effect="")], "podCIDR": "x"},
        {"capacity": {"cpu": "-1"}, "allocatable": {"cpu": "-1"}, "nodeInfo": {"swap": {"capacity": 0}}},
        {AVOID: "x", TAINTS: "x"},
    )
    wrong.metadata.namespace = "n"
    assert [error.field for error in rules.validate_node(wrong)] == [
        "metadata.namespace",
        "metadata.annotations",
        "metadata.annotations.AvoidPods",
        "metadata.taints[0].effect",
        "status.capacity.cpu",
        "status.allocatable.cpu",
        "metadata.nodeSwapStatus.capacity",
        "spec.podCIDRs[0]",
    ]


NO_CIDR = 'spec.podCIDRs Forbidden node updates may not change podCIDR except from "" to valid'
NO_PROVIDER = 'spec.providerID Forbidden node updates may not change providerID except from "" to valid'


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        ({}, {"podCIDR": FOUR, "providerID": "p"}, []),
        ({"podCIDR": FOUR, "providerID": "p"}, {"podCIDR": FOUR, "podCIDRs": [FOUR], "providerID": "p"}, []),
        ({"podCIDR": FOUR}, {}, [NO_CIDR]),
        ({"podCIDR": FOUR}, {"podCIDR": SIX}, [NO_CIDR]),
        ({"podCIDR": FOUR}, {"podCIDR": FOUR, "podCIDRs": [FOUR, SIX]}, [NO_CIDR]),
        ({"podCIDRs": [FOUR, SIX]}, {"podCIDRs": [SIX, FOUR]}, [NO_CIDR, NO_CIDR]),
        ({"podCIDRs": [FOUR, SIX]}, {"podCIDRs": [FOUR, "fd01::/64"]}, [NO_CIDR]),
        ({"providerID": "p"}, {"providerID": "q"}, [NO_PROVIDER]),
        ({"providerID": "p"}, {}, [NO_PROVIDER]),
        ({"externalID": "e"}, {}, ["spec.externalID Forbidden may not be updated"]),
        ({}, {"externalID": "e"}, ["spec.externalID Forbidden may not be updated"]),
        ({}, {"unschedulable": True, "taints": [taint()]}, []),
        ({"taints": [taint()]}, {}, []),
        ({"podCIDR": FOUR, "providerID": "p", "externalID": "e"}, {},
         [NO_CIDR, NO_PROVIDER, "spec.externalID Forbidden may not be updated"]),
    ],
)  # fmt: skip
def test_what_an_update_of_a_node_keeps(old: Any, new: Any, errors: list[str]) -> None:
    """Source: ValidateNodeUpdate."""
    assert told(rules.validate_node_update(node(new), node(old))) == errors


def test_addresses_of_a_node_are_unique() -> None:
    def with_addresses(*addresses: tuple[str, str]) -> Node:
        return node(status={"addresses": [{"type": kind, "address": text} for kind, text in addresses]})

    several = with_addresses(("InternalIP", "a"), ("Hostname", "a"), ("InternalIP", "b"))
    assert rules.validate_node_update(several, node()) == []
    twice = with_addresses(("InternalIP", "a"), ("InternalIP", "b"), ("InternalIP", "a"))
    assert [str(error) for error in rules.validate_node_update(twice, node())] == [
        'status.addresses[2]: Duplicate value: {"Type":"InternalIP","Address":"a"}'
    ]
    assert rules.validate_node(twice) == []


def test_an_update_of_a_node_checks_the_node_twice() -> None:
    """The strategy calls ValidateNode, then ValidateNodeUpdate, which share annotations, amounts and taints."""
    wrong = node(
        {"taints": [taint(effect="")]},
        {"capacity": {"cpu": "-1"}, "nodeInfo": {"swap": {"capacity": 0}}},
        {AVOID: "x"},
    )
    old = node({"providerID": "p"}, name="b")
    assert [error.field for error in rules.validate_node_update(wrong, old)] == [
        "metadata.annotations.AvoidPods",
        "metadata.taints[0].effect",
        "status.capacity.cpu",
        "metadata.nodeSwapStatus.capacity",
        "metadata.name",
        "metadata.annotations.AvoidPods",
        "status.capacity.cpu",
        "spec.providerID",
        "metadata.taints[0].effect",
    ]


def lease(**spec: Any) -> Lease:
    return named(Lease, "a", "n", spec=spec)


STRATEGY = "strategy.strategy"
NO_STRATEGY = "preferredHolder Forbidden may only be specified if `strategy` is defined"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"leaseDurationSeconds": 1, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, ["leaseDurationSeconds Invalid must be greater than 0"]),
        ({"leaseDurationSeconds": -1, "leaseTransitions": -1},
         ["leaseDurationSeconds Invalid must be greater than 0", f"leaseTransitions {NOT_NEGATIVE}"]),
        ({"strategy": "OldestEmulationVersion", "preferredHolder": "h"}, []),
        ({"strategy": "x"}, [f'{STRATEGY} NotSupported supported values: "OldestEmulationVersion"']),
        ({"strategy": "", "preferredHolder": "h"},
         [f'{STRATEGY} NotSupported supported values: "OldestEmulationVersion"', NO_STRATEGY]),
        ({"strategy": "a.b/c", "preferredHolder": "h"}, []),
        ({"strategy": "/c"}, [f"{STRATEGY} Invalid prefix part must be non-empty"]),
        ({"preferredHolder": "h"}, [NO_STRATEGY]),
        ({"preferredHolder": ""}, []),
    ],
)  # fmt: skip
def test_a_lease(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateLeaseSpec, ValidateCoordinatedLeaseStrategy; upstream's path has the strategy twice."""
    expected = [f"spec.{text}" for text in errors]
    assert told(rules.validate_lease(lease(**spec))) == expected
    assert told(rules.validate_lease_update(lease(**spec), lease())) == expected
    assert rules.validate_lease_update(lease(), lease(**spec)) == []


def test_names_of_leases() -> None:
    assert told(rules.validate_lease(named(Lease, "a"))) == ["metadata.namespace Required"]
    assert told(rules.validate_lease_update(named(Lease, "b", "n"), lease())) == [
        "metadata.name Invalid field is immutable"
    ]


def runtime(handler: str = "h", **fields: Any) -> RuntimeClass:
    return named(RuntimeClass, handler=handler, **fields)


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (runtime(), []),
        (runtime(""), ["handler Required"]),
        (runtime("A"), [f"handler Invalid {LABEL_TEXT}"]),
        (runtime("a.b"), ["handler Invalid must not contain dots"]),
        (runtime(overhead={"podFixed": {"cpu": "0", "memory": "1Mi"}}), []),
        (runtime(scheduling={"nodeSelector": {"a": "b"}}), []),
        (runtime(scheduling={"nodeSelector": {"a": "-"}}), [f"scheduling.nodeSelector Invalid {VALUE_TEXT}"]),
    ],
)
def test_a_runtime_class(made: RuntimeClass, errors: list[str]) -> None:
    """Source: ValidateRuntimeClass."""
    assert told(rules.validate_runtime_class(made)) == errors


@pytest.mark.parametrize(
    ("change", "duplicate"),
    [
        ({}, True),
        ({"tolerationSeconds": 5}, True),
        ({"key": "b"}, False),
        ({"value": "w"}, False),
        ({"effect": "NoSchedule"}, False),
        ({"operator": "Exists", "value": ""}, False),
    ],
)
def test_the_tolerations_of_a_runtime_class_are_unique(change: dict[str, Any], duplicate: bool) -> None:
    """Source: validateTolerations of pkg/apis/node, which compares all but the seconds."""
    one = {"key": "a", "operator": "Equal", "value": "v", "effect": "NoExecute"}
    found = told(rules.validate_runtime_class(runtime(scheduling={"tolerations": [one, {**one, **change}]})))
    assert found == (["scheduling.tolerations[1] Duplicate"] if duplicate else [])


def test_the_parts_of_a_runtime_class_are_checked_in_order() -> None:
    toleration = {"key": "a", "operator": "x"}
    scheduling = {"nodeSelector": {"a": "-"}, "tolerations": [toleration, toleration]}
    wrong = runtime("", overhead={"podFixed": {"cpu": "-1"}}, scheduling=scheduling)
    wrong.metadata.namespace = "n"
    fields = [error.field for error in rules.validate_runtime_class(wrong)]
    assert fields[:2] == ["metadata.namespace", "handler"]
    assert fields[2].startswith("overhead.")
    assert fields[3:] == [
        "scheduling.nodeSelector",
        "scheduling.tolerations[0].operator",
        "scheduling.tolerations[1].operator",
        "scheduling.tolerations[1]",
    ]


def test_the_handler_of_a_runtime_class_is_kept() -> None:
    """Source: ValidateRuntimeClassUpdate."""
    assert rules.validate_runtime_class_update(runtime(overhead={"podFixed": {"cpu": "1"}}), runtime()) == []
    new = named(RuntimeClass, "b", handler="i")
    assert told(rules.validate_runtime_class_update(new, runtime())) == [
        "metadata.name Invalid field is immutable",
        "handler Invalid field is immutable",
    ]


def test_finalizers_of_leases_and_runtime_classes_need_no_domain() -> None:
    """Their metadata is checked by apimachinery's ValidateObjectMeta, which knows no list of finalizers."""
    held, handled = lease(), runtime()
    held.metadata.finalizers = handled.metadata.finalizers = ["x"]
    assert rules.validate_lease(held) == rules.validate_lease_update(held, held) == []
    assert rules.validate_runtime_class(handled) == rules.validate_runtime_class_update(handled, handled) == []
    finalized = node()
    finalized.metadata.finalizers = ["x"]
    assert [error.field for error in rules.validate_node(finalized)] == ["metadata.finalizers[0]"]

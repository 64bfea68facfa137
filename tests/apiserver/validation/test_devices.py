"""Claims of pods, ResourceClaims, their templates and DeviceClasses: requests, constraints and configuration."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodSpec
from kitlib.api.devices import DeviceClass, DeviceSelector, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from kitlib.api.names import C_IDENTIFIER_TEXT, LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import devices
from tests.apiserver.validation.told import named, part, told

ONE_SOURCE = "Invalid at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
SOME_SOURCE = "Invalid must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
CLAIM = {"resourceClaimName": "c"}


@pytest.mark.parametrize(
    ("claims", "errors"),
    [
        ([], []),
        ([{"name": "a", **CLAIM}, {"name": "b", "resourceClaimTemplateName": "t.u"}], []),
        ([CLAIM, CLAIM], ["[0].name Required", "[1].name Required"]),
        ([{"name": "A", **CLAIM}, {"name": "A", **CLAIM}], [f"[0].name Invalid {LABEL_TEXT}", "[1].name Duplicate"]),
        ([{"name": "a.b", **CLAIM}], ["[0].name Invalid must not contain dots"]),
        ([{"name": "a"}], [f"[0] {SOME_SOURCE}"]),
        ([{"name": "a", **CLAIM, "resourceClaimTemplateName": "t"}], [f"[0] {ONE_SOURCE}"]),
        ([{"name": "a", "resourceClaimName": "_", "resourceClaimTemplateName": ""}],
         [f"[0] {ONE_SOURCE}", f"[0].resourceClaimName Invalid {SUBDOMAIN_TEXT}",
          f"[0].resourceClaimTemplateName Invalid {SUBDOMAIN_TEXT}"]),
        ([{"name": "a", "resourceClaimName": ""}], [f"[0].resourceClaimName Invalid {SUBDOMAIN_TEXT}"]),
        ([{"name": "a", "resourceClaimTemplateName": "_"}],
         [f"[0].resourceClaimTemplateName Invalid {SUBDOMAIN_TEXT}"]),
    ],
)  # fmt: skip
def test_the_claims_of_a_pod(claims: list[Any], errors: list[str]) -> None:
    """Source: validatePodResourceClaim."""
    found = told(devices.validate_pod_resource_claims(part(PodSpec, resourceClaims=claims), "spec"))
    assert found == [f"spec.resourceClaims{text}" for text in errors]


def asked(**fields: Any) -> dict[str, Any]:
    return {"deviceClassName": "g", "allocationMode": "ExactCount", "count": 1, **fields}


def request(name: str = "r", **fields: Any) -> dict[str, Any]:
    return {"name": name, **(fields or {"exactly": asked()})}


def found(**claim: Any) -> list[str]:
    """Return the errors of a claim's specification, without `s.devices.`."""
    spec = part(ResourceClaimSpec, devices={"requests": [request()], **claim})
    return [text.removeprefix("s.devices.") for text in told(devices.claim_spec(spec, "s"))]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, []),
        ({"deviceClassName": ""}, ["deviceClassName Required"]),
        ({"deviceClassName": "A"}, [f"deviceClassName Invalid {SUBDOMAIN_TEXT}"]),
        ({"count": 0}, ["count Invalid must be greater than zero"]),
        ({"count": -1}, ["count Invalid must be greater than zero"]),
        ({"allocationMode": "All", "count": 0}, []),
        ({"allocationMode": "All", "count": 1},
         ["count Invalid must not be specified when allocationMode is 'All'"]),
        ({"allocationMode": "All", "count": -1},
         ["count Invalid must not be specified when allocationMode is 'All'"]),
        ({"allocationMode": "x", "count": -1}, ['allocationMode NotSupported supported values: "All", "ExactCount"']),
        ({"allocationMode": ""}, ['allocationMode NotSupported supported values: "All", "ExactCount"']),
        ({"selectors": [{}]}, ["selectors[0].cel Required"]),
        ({"tolerations": [{"operator": "Exists"}, {}]}, ["tolerations[1].operator Required"]),
        ({"deviceClassName": "", "count": 0, "selectors": [{}], "tolerations": [{}]},
         ["deviceClassName Required", "selectors[0].cel Required", "count Invalid must be greater than zero",
          "tolerations[0].operator Required"]),
    ],
)  # fmt: skip
def test_devices_that_a_request_asks_for(fields: dict[str, Any], errors: list[str]) -> None:
    """Source: validateExactDeviceRequest, validateDeviceSubRequest, validateDeviceAllocationMode."""
    exactly = found(requests=[request(exactly=asked(**fields))])
    assert exactly == [f"requests[0].exactly.{text}" for text in errors]
    second = found(requests=[request(firstAvailable=[asked(name="a"), asked(name="b", **fields)])])
    assert second == [f"requests[0].firstAvailable[1].{text}" for text in errors]


ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"


@pytest.mark.parametrize(
    ("requests", "errors"),
    [
        ([], []),
        ([request("a"), request("b")], []),
        ([request("")], [f"requests[0].name Invalid {LABEL_TEXT}"]),
        ([request("a"), request("a")], ["requests[1] Duplicate"]),
        ([{"name": "a"}], [f"requests[0] Required {ONE_KIND}"]),
        ([request("A", exactly=asked(count=0), firstAvailable=[asked(name="b")])],
         [f"requests[0].name Invalid {LABEL_TEXT}",
          f"requests[0] Invalid {ONE_KIND}, but multiple fields are set"]),
        ([request(firstAvailable=[asked(name="a"), asked(name="a")])], ["requests[0].firstAvailable[1] Duplicate"]),
        ([request(firstAvailable=[asked(name="A", count=0)])],
         [f"requests[0].firstAvailable[0].name Invalid {LABEL_TEXT}",
          "requests[0].firstAvailable[0].count Invalid must be greater than zero"]),
        ([request(firstAvailable=[asked(name=f"a{i}") for i in range(8)])], []),
        ([request(firstAvailable=[asked(name=f"a{i}") for i in range(9)])],
         ["requests[0].firstAvailable TooMany must have at most 8 items"]),
        ([request(f"a{i}") for i in range(32)], []),
        ([request(f"a{i}") for i in range(33)], ["requests TooMany must have at most 32 items"]),
    ],
)  # fmt: skip
def test_requests(requests: list[Any], errors: list[str]) -> None:
    """Source: validateDeviceRequest."""
    assert found(requests=requests) == errors


def test_a_request_of_two_kinds_shows_no_value() -> None:
    both = part(ResourceClaimSpec, devices={"requests": [request(exactly=asked(), firstAvailable=[asked(name="a")])]})
    assert [str(error) for error in devices.claim_spec(both, "s")] == [
        f"s.devices.requests[0]: Invalid value: null: {ONE_KIND}, but multiple fields are set"
    ]


REFERENCE = (
    "Invalid must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
REQUESTS = [request("a"), request("b", firstAvailable=[asked(name="c")])]


@pytest.mark.parametrize(
    ("names", "errors"),
    [
        ([], []),
        (["a", "b", "b/c"], []),
        (["c"], [f"[0] {REFERENCE}"]),
        (["a/c"], [f"[0] {REFERENCE}"]),
        (["b/c/d"], [f"[0] {REFERENCE}"]),
        (["a", "A"], [f"[1] Invalid {LABEL_TEXT}", f"[1] {REFERENCE}"]),
        (["a/B"], [f"[0] Invalid {LABEL_TEXT}", f"[0] {REFERENCE}"]),
        (["/"], [f"[0] Invalid {LABEL_TEXT}", f"[0] Invalid {LABEL_TEXT}", f"[0] {REFERENCE}"]),
        (["a", "b", "a"], ["[2] Duplicate"]),
        (["a"] * 32, [f"[{i}] Duplicate" for i in range(1, 32)]),
        (["a"] * 33, [" TooMany must have at most 32 items"]),
    ],
)
def test_requests_are_named_by_constraints_and_configuration(names: list[str], errors: list[str]) -> None:
    """Source: validateRequestNameRef."""
    constraint = {"requests": names, "matchAttribute": "d/a"}
    in_constraint = found(requests=REQUESTS, constraints=[constraint])
    assert in_constraint == [f"constraints[0].requests{text}" for text in errors]
    config = {"requests": names, "opaque": {"driver": "d", "parameters": {}}}
    assert found(requests=REQUESTS, config=[config]) == [f"config[0].requests{text}" for text in errors]


NO_DOMAIN = "Invalid a fully qualified name must be a domain and a name separated by a slash"


@pytest.mark.parametrize(
    ("constraint", "errors"),
    [
        ({"matchAttribute": "d/a"}, []),
        ({"distinctAttribute": "d/a"}, []),
        ({"matchAttribute": "a"}, [f".matchAttribute {NO_DOMAIN}"]),
        ({"distinctAttribute": "a"}, [f".distinctAttribute {NO_DOMAIN}"]),
        ({"matchAttribute": "d/1", "distinctAttribute": "1"}, [f".matchAttribute Invalid {C_IDENTIFIER_TEXT}"]),
        ({"requests": ["x"]},
         [f".requests[0] {REFERENCE}",
          ' Required exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set']),
    ],
)  # fmt: skip
def test_a_constraint(constraint: dict[str, Any], errors: list[str]) -> None:
    """Source: validateDeviceConstraint."""
    assert found(constraints=[constraint]) == [f"constraints[0]{text}" for text in errors]


MAX = 10 * 1024
EMPTY = len('{"a":""}')
NO_OBJECT = "parameters Invalid must be a valid JSON object"


@pytest.mark.parametrize(
    ("opaque", "errors"),
    [
        (None, [" Required"]),
        ({"driver": "d", "parameters": {}}, []),
        ({"driver": "-", "parameters": {}}, [f".driver Invalid {SUBDOMAIN_TEXT}"]),
        ({"driver": "d"}, [".parameters Required"]),
        ({"driver": "-", "parameters": None}, [f".driver Invalid {SUBDOMAIN_TEXT}", ".parameters Required"]),
        ({"driver": "d", "parameters": []}, [f".{NO_OBJECT}"]),
        ({"driver": "d", "parameters": "x"}, [f".{NO_OBJECT}"]),
        ({"driver": "d", "parameters": 0}, [f".{NO_OBJECT}"]),
        ({"driver": "d", "parameters": {"a": "x" * (MAX - EMPTY)}}, []),
        ({"driver": "d", "parameters": {"a": "x" * (MAX - EMPTY + 1)}},
         [".parameters TooLong may not be more than 10240 bytes"]),
        ({"driver": "d", "parameters": {"a": "é" * ((MAX - EMPTY) // 2)}}, []),
        ({"driver": "d", "parameters": {"a": "é" * ((MAX - EMPTY) // 2 + 1)}},
         [".parameters TooLong may not be more than 10240 bytes"]),
    ],
)  # fmt: skip
def test_the_configuration_of_a_driver(opaque: Any, errors: list[str]) -> None:
    """Source: validateDeviceConfiguration, validateOpaqueConfiguration, validateRawExtension."""
    config = [{} if opaque is None else {"opaque": opaque}]
    assert found(config=config) == [f"config[0].opaque{text}" for text in errors]
    of_class = named(DeviceClass, spec={"config": config})
    assert told(devices.device_class(of_class)) == [f"spec.config[0].opaque{text}" for text in errors]


def test_parameters_are_not_shown() -> None:
    made = named(DeviceClass, spec={"config": [{"opaque": {"driver": "d", "parameters": ["secret"]}}]})
    assert [str(error) for error in devices.device_class(made)] == [
        'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'
    ]


def test_the_parts_of_a_claim_are_checked_in_order() -> None:
    assert found(requests=[{"name": "a"}], constraints=[{"requests": ["b"], "matchAttribute": "d/a"}], config=[{}]) == [
        f"requests[0] Required {ONE_KIND}",
        f"constraints[0].requests[0] {REFERENCE}",
        "config[0].opaque Required",
    ]


@pytest.mark.parametrize(
    ("name", "entry"),
    [("constraints", {"matchAttribute": "d/a"}), ("config", {"opaque": {"driver": "d", "parameters": {}}})],
)
def test_the_lists_of_a_claim_are_short(name: str, entry: dict[str, Any]) -> None:
    assert found(**{name: [entry] * 32}) == []
    assert found(**{name: [entry] * 32 + [{}]}) == [f"{name} TooMany must have at most 32 items"]


def chosen(*expressions: str) -> list[str]:
    made = [part(DeviceSelector, cel={"expression": text}) for text in expressions]
    return told(devices.selectors(made, "s"))


def test_selectors() -> None:
    """Source: validateSelectorSlice, validateSelector."""
    assert chosen('device.driver == "d"') == []
    assert chosen(*["true"] * 32) == []
    assert chosen(*["true"] * 33) == ["s TooMany must have at most 32 items"]
    assert told(devices.selectors([DeviceSelector()], "s")) == ["s[0].cel Required"]


def test_a_selector_of_another_type_is_refused_with_its_text() -> None:
    """Source: validateCELSelector."""
    [error] = devices.selectors([part(DeviceSelector, cel={"expression": '"a"'})], "s")
    assert (error.type, error.field, error.value) == ("FieldValueInvalid", "s[0].cel.expression", '"a"')
    assert error.detail


def test_the_length_of_a_selector_is_counted_in_bytes() -> None:
    quoted = len("'' == ''")
    assert chosen(f"'{'x' * (MAX - quoted)}' == ''") == []
    too_long = ["s[0].cel.expression TooLong may not be more than 10240 bytes"]
    assert chosen(f"'{'x' * (MAX - quoted + 1)}' == ''") == too_long
    assert chosen(f"'{'é' * ((MAX - quoted) // 2 + 1)}' == ''") == too_long
    assert chosen("(" * (MAX + 1)) == too_long


@pytest.mark.parametrize(
    ("resource", "errors"),
    [
        ("a.b/c", []),
        ("c", ["spec.extendedResourceName Invalid must be a valid extended resource name"]),
        ("", ["spec.extendedResourceName Invalid must be a valid extended resource name"]),
        ("kubernetes.io/c", ["spec.extendedResourceName Invalid must be a valid extended resource name"]),
        ("requests.a/c", ["spec.extendedResourceName Invalid must be a valid extended resource name"]),
    ],
)
def test_the_extended_resource_of_a_class(resource: str, errors: list[str]) -> None:
    """Source: validateDeviceClassSpec, IsExtendedResourceName."""
    assert told(devices.device_class(named(DeviceClass, spec={"extendedResourceName": resource}))) == errors


def test_the_parts_of_a_class_are_checked_in_order() -> None:
    spec = {"selectors": [{}], "config": [{}], "extendedResourceName": ""}
    assert [text.split()[0] for text in told(devices.device_class(named(DeviceClass, spec=spec)))] == [
        "spec.selectors[0].cel",
        "spec.config[0].opaque",
        "spec.extendedResourceName",
    ]
    assert told(devices.device_class(named(DeviceClass, spec={"config": [{}] * 33}))) == [
        "spec.config TooMany must have at most 32 items"
    ]


BAD = {"devices": {"requests": [{"name": "a"}]}}
IMMUTABLE = "spec Invalid field is immutable"


def test_a_claim_as_a_whole() -> None:
    """Source: ValidateResourceClaim, ValidateResourceClaimUpdate."""
    claim = named(ResourceClaim, "a", spec=BAD)
    assert told(devices.validate_resource_claim(claim)) == [
        "metadata.namespace Required",
        f"spec.devices.requests[0] Required {ONE_KIND}",
    ]
    old, new = named(ResourceClaim, "a", "n", spec=BAD), named(ResourceClaim, "a", "n", spec={})
    assert told(devices.validate_resource_claim_update(old, old)) == []
    assert told(devices.validate_resource_claim_update(new, old)) == [IMMUTABLE]
    other = named(ResourceClaim, "a", "n", spec=BAD, metadata={"labels": {"_": ""}})
    assert [text.split()[0] for text in told(devices.validate_resource_claim_update(other, old))] == ["metadata.labels"]


def test_a_template_as_a_whole() -> None:
    """Source: ValidateResourceClaimTemplate, ValidateResourceClaimTemplateUpdate."""
    made = named(ResourceClaimTemplate, "a", spec={"metadata": {"name": "x"}, "spec": BAD})
    assert [text.split()[0] for text in told(devices.validate_resource_claim_template(made))] == [
        "metadata.namespace",
        "spec.metadata.name",
        "spec.spec.devices.requests[0]",
    ]
    old = named(ResourceClaimTemplate, "a", "n", spec={"spec": BAD})
    assert told(devices.validate_resource_claim_template_update(old, old)) == []
    labelled = named(ResourceClaimTemplate, "a", "n", spec={"metadata": {"labels": {"a": "b"}}, "spec": BAD})
    assert told(devices.validate_resource_claim_template_update(labelled, old)) == [IMMUTABLE]


def test_a_class_as_a_whole() -> None:
    """Source: ValidateDeviceClass, ValidateDeviceClassUpdate."""
    made = named(DeviceClass, "a", "n", spec={"selectors": [{}]})
    assert told(devices.validate_device_class(made)) == [
        "metadata.namespace Forbidden not allowed on this type",
        "spec.selectors[0].cel Required",
    ]
    old, new = named(DeviceClass), named(DeviceClass, spec={"selectors": [{}]})
    assert told(devices.validate_device_class(old)) == []
    assert told(devices.validate_device_class_update(new, old)) == ["spec.selectors[0].cel Required"]
    assert told(devices.validate_device_class_update(old, new)) == []

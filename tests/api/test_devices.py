"""Claims, classes and slices of devices: what is read, what is filled in, and what the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.claims import ClaimError, NotCreatedYet, claim_name, claims_of, tolerates
from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import DeviceTaint, DeviceToleration, ResourceClaim, ResourceSlice
from kitlib.api.serialize import from_dict, load, to_dict
from kitlib.apiserver.validation import devices, resource_slices, validate_pod_create


def claim(**request: Any) -> ResourceClaim:
    asked = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **request}}
    data = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": {"requests": [asked]}}}
    return set_defaults(from_dict(data, ResourceClaim))


def problems(spec: dict[str, Any]) -> list[str]:
    made = set_defaults(from_dict({"metadata": {"name": "c"}, "spec": {"devices": spec}}, ResourceClaim))
    return [str(error) for error in devices.claim_spec(made.spec, "spec")]


def pod(claims: list[dict[str, Any]], taken: list[dict[str, str]] | None = None, **status: Any) -> Pod:
    container = {"name": "c", "image": "i", "resources": {"claims": taken or []}}
    meta = {"name": "web", "namespace": "default", "uid": "u"}
    spec = {"containers": [container], "resourceClaims": claims}
    return set_defaults(from_dict({"metadata": meta, "spec": spec, "status": status}, Pod))


def test_one_device_is_asked_for_where_nothing_is_said() -> None:
    made = claim(tolerations=[{"key": "a"}])
    asked = made.spec.devices.requests[0].exactly
    assert asked is not None
    assert (asked.allocation_mode, asked.count, asked.tolerations[0].operator) == ("ExactCount", 1, "Equal")
    everything = claim(allocationMode="All").spec.devices.requests[0].exactly
    assert everything is not None and everything.count == 0


def test_a_slice_is_written_as_it_was_read() -> None:
    text = """
apiVersion: resource.k8s.io/v1beta2
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {model: {string: A100}, index: {int: 0}, healthy: {bool: false}, v: {version: 1.0.0}}
    capacity: {memory: {value: 40Gi}}
    taints: [{key: k, effect: NoSchedule}]
    consumesCounters: [{counterSet: s, counters: {memory: {value: 5Gi}}}]
"""
    found = load(text)[0]
    assert isinstance(found, ResourceSlice) and not resource_slices.slice_spec(found.spec, None, "spec")
    device = to_dict(found)["spec"]["devices"][0]
    assert device["attributes"] == {
        "model": {"string": "A100"},
        "index": {"int": 0},
        "healthy": {"bool": False},
        "v": {"version": "1.0.0"},
    }
    assert device["capacity"] == {"memory": {"value": "40Gi"}}
    assert device["consumesCounters"] == [{"counterSet": "s", "counters": {"memory": {"value": "5Gi"}}}]


GPU = {"deviceClassName": "gpu"}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"requests": [{"name": "a", "exactly": GPU}]}, []),
        (
            {"requests": [{"name": "a"}]},
            ["spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
        ),
        (
            {"requests": [{"name": "a", "exactly": {}}]},
            ["spec.devices.requests[0].exactly.deviceClassName: Required value"],
        ),
        (
            {"requests": [{"name": "a", "exactly": {**GPU, "allocationMode": "All", "count": 2}}]},
            [
                "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode "
                "is 'All'"
            ],
        ),
        (
            {"requests": [{"name": "a", "exactly": {**GPU, "count": -1}}]},
            ["spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"],
        ),
        (
            {"requests": [{"name": "a", "exactly": {**GPU, "allocationMode": "Some"}}]},
            [
                'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", '
                '"ExactCount"'
            ],
        ),
        (
            {"requests": [{"name": "a", "exactly": GPU}, {"name": "a", "exactly": GPU}]},
            ['spec.devices.requests[1]: Duplicate value: "a"'],
        ),
        (
            {
                "requests": [{"name": "a", "exactly": GPU}],
                "constraints": [{"requests": ["b"], "matchAttribute": "gpu.example.com/numa"}],
            },
            [
                'spec.devices.constraints[0].requests[0]: Invalid value: "b": must be the name of a request in the '
                "claim or the name of a request and a subrequest separated by '/'"
            ],
        ),
        (
            {"requests": [{"name": "a", "exactly": GPU}], "constraints": [{"matchAttribute": "numa"}]},
            [
                'spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a '
                "domain and a name separated by a slash"
            ],
        ),
        (
            {"requests": [{"name": "a", "exactly": {**GPU, "selectors": [{"cel": {"expression": "device.driver"}}]}}]},
            [
                'spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.driver": must '
                "evaluate to bool or the unknown type, not string"
            ],
        ),
        (
            {"requests": [{"name": "a", "firstAvailable": [{"name": "x", **GPU}, {"name": "x", **GPU}]}]},
            ['spec.devices.requests[0].firstAvailable[1]: Duplicate value: "x"'],
        ),
        (
            {"requests": [{"name": "a", "exactly": {**GPU, "tolerations": [{"operator": "Exists", "value": "v"}]}}]},
            [
                'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "v": must be empty for '
                "operator `Exists`"
            ],
        ),
        (
            {"requests": [{"name": f"r{i}", "exactly": GPU} for i in range(33)]},
            ["spec.devices.requests: Too many: 33: must have at most 32 items"],
        ),
    ],
)
def test_a_claim_is_refused_with_field_and_rule(spec: dict[str, Any], found: list[str]) -> None:
    assert problems(spec) == found


@pytest.mark.parametrize(
    ("claims", "taken", "found"),
    [
        ([{"name": "gpu", "resourceClaimName": "c"}], [{"name": "gpu", "request": "r"}], []),
        (
            [{"name": "gpu"}],
            [],
            [
                'spec.resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,'
                '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, '
                "`resourceClaimTemplateName`"
            ],
        ),
        (
            [{"name": "gpu", "resourceClaimName": "c"}, {"name": "gpu", "resourceClaimTemplateName": "t"}],
            [],
            ['spec.resourceClaims[1].name: Duplicate value: "gpu"'],
        ),
        (
            [],
            [{"name": "gpu"}],
            [
                'spec.containers[0].resources.claims[0]: Not found: "gpu": must be one of the names in '
                "pod.spec.resourceClaims which is empty"
            ],
        ),
        (
            [{"name": "nic", "resourceClaimName": "c"}],
            [{"name": "gpu"}],
            [
                'spec.containers[0].resources.claims[0]: Not found: "gpu": must be one of the names in '
                "pod.spec.resourceClaims: nic"
            ],
        ),
        (
            [{"name": "gpu", "resourceClaimName": "c"}],
            [{"name": "gpu"}, {"name": "gpu", "request": "r"}],
            ['spec.containers[0].resources.claims[1]: Duplicate value: "gpu"'],
        ),
    ],
)
def test_a_pods_claims_are_named_once_and_containers_take_only_those(
    claims: list[dict[str, Any]], taken: list[dict[str, str]], found: list[str]
) -> None:
    assert [str(error) for error in validate_pod_create(pod(claims, taken))] == found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodeName": None}, "spec: Required value: exactly one of `nodeName`, `nodeSelector`"),
        ({"allNodes": True}, 'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of'),
        ({"pool": {"name": "a", "resourceSliceCount": 0}}, "spec.pool.resourceSliceCount: Invalid value: 0"),
        ({"devices": [{"name": "x"}, {"name": "x"}]}, 'spec.devices[1]: Duplicate value: "x"'),
        (
            {"devices": [{"name": "x", "attributes": {"a": {"int": 1, "bool": True}}}]},
            'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,'
            '"VersionValue":null}: exactly one value must be specified',
        ),
        (
            {"devices": [{"name": "x", "taints": [{"key": "k", "effect": "PreferNoSchedule"}]}]},
            'spec.devices[0].taints[0].effect: Unsupported value: "PreferNoSchedule"',
        ),
        (
            {"devices": [{"name": "x"}], "sharedCounters": [{"name": "s"}]},
            "only one of `sharedCounters` or `devices` is allowed",
        ),
    ],
)
def test_a_slice_is_refused_with_field_and_rule(change: dict[str, Any], words: str) -> None:
    spec = {"driver": "d.example.com", "nodeName": "a", "pool": {"name": "a", "resourceSliceCount": 1}, **change}
    made = from_dict({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)
    assert any(words in str(error) for error in resource_slices.slice_spec(made.spec, None, "spec"))


def test_a_pods_claim_is_named_directly_or_once_the_controller_has_made_it() -> None:
    named = pod([{"name": "gpu", "resourceClaimName": "mine"}])
    assert claim_name(named, named.spec.resource_claims[0]) == ("mine", False)
    waits = pod([{"name": "gpu", "resourceClaimTemplateName": "t"}])
    with pytest.raises(NotCreatedYet, match=r'^pod "default/web": ResourceClaim not created yet$'):
        claim_name(waits, waits.spec.resource_claims[0])
    waits = pod(
        [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        resourceClaimStatuses=[{"name": "gpu", "resourceClaimName": "web-gpu-x"}],
    )
    assert claim_name(waits, waits.spec.resource_claims[0]) == ("web-gpu-x", True)


def test_a_pod_may_not_use_a_claim_that_was_made_for_another() -> None:
    waits = pod(
        [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        resourceClaimStatuses=[{"name": "gpu", "resourceClaimName": "c"}],
    )
    made = claim()
    with pytest.raises(ClaimError, match=r"default/c was not created for Pod default/web \(Pod is not owner\)"):
        list(claims_of(waits, lambda *_: made))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u", "controller": True}
    owned = from_dict({**to_dict(made), "metadata": {**to_dict(made)["metadata"], "ownerReferences": [owner]}})
    assert [(name, one.name) for name, one in claims_of(waits, lambda *_: owned)] == [("gpu", "c")]
    with pytest.raises(ClaimError, match='could not find ResourceClaim "default/c"'):
        list(claims_of(waits, lambda *_: None))


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "key": "k"}, True),
        ({"operator": "Exists", "key": "other"}, False),
        ({"operator": "Equal", "key": "k", "value": "v"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"operator": "Equal", "key": "k", "value": "w"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Other", "key": "k"}, False),
    ],
)
def test_which_tolerations_cover_a_taint(toleration: dict[str, str], covers: bool) -> None:
    taint = DeviceTaint(key="k", value="v", effect="NoSchedule")
    assert tolerates(from_dict(toleration, DeviceToleration), taint) is covers

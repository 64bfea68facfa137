"""The downward API: the text of every field and resource that it supports."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.container import ObjectFieldSelector, ResourceFieldSelector
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.pods.fieldpath import field_value, format_map, resource_value

MIB = 2**20
ALLOCATABLE = {"cpu": 3_500, "memory": 1_000 * MIB * 1000, "ephemeral-storage": 7_000, "hugepages-2Mi": 9_000}


def pod() -> Pod:
    def container(name: str, **resources: Any) -> dict[str, Any]:
        return {"name": name, "image": "x", "resources": resources}

    limits = {"cpu": "1001m", "memory": "100Mi", "hugepages-2Mi": "4Mi", "ephemeral-storage": "0"}
    return from_dict(
        {
            "metadata": {
                "name": "web",
                "namespace": "prod",
                "uid": "u1",
                "labels": {"b": "2", "a": "1"},
                "annotations": {"k/x": "y", "odd['k']": "z"},
            },
            "spec": {
                "nodeName": "n1",
                "serviceAccountName": "bot",
                "containers": [container("c", limits=limits, requests={"cpu": "250m", "memory": "1500m"})],
                "initContainers": [container("i", requests={"cpu": "2"})],
            },
            "status": {
                "hostIP": "10.0.0.1",
                "hostIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
                "podIP": "10.1.0.1",
                "podIPs": [{"ip": "10.1.0.1"}, {"ip": "fd01::1"}],
            },
        },
        Pod,
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "prod"),
        ("metadata.uid", "u1"),
        ("metadata.labels", 'a="1"\nb="2"'),
        ("metadata.annotations", 'k/x="y"\nodd[\'k\']="z"'),
        ("metadata.labels['a']", "1"),
        ("metadata.labels['c']", ""),
        ("metadata.annotations['k/x']", "y"),
        ("metadata.annotations['a']", ""),
        ("metadata.annotations['odd['k']']", "z"),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", "bot"),
        ("status.hostIP", "10.0.0.1"),
        ("status.hostIPs", "10.0.0.1,fd00::1"),
        ("status.podIP", "10.1.0.1"),
        ("status.podIPs", "10.1.0.1,fd01::1"),
    ],
)
def test_a_field_of_a_pod(path: str, expected: str) -> None:
    assert field_value(pod(), ObjectFieldSelector(field_path=path)) == expected


@pytest.mark.parametrize(
    "path", ["metadata.generation", "spec.nodename", "metadata.name['a']", "", "metadata.labels['a'"]
)
def test_another_field_is_rejected(path: str) -> None:
    with pytest.raises(KitError) as error:
        field_value(pod(), ObjectFieldSelector(field_path=path))
    assert str(error.value) == f"unsupported fieldPath: {path}"


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("", '""'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("line\nnext\ttab", r'"line\nnext\ttab"'),
        ("bell\a vertical\v", r'"bell\a vertical\v"'),
        ("\x01\x7f", r'"\x01\x7f"'),
        ("grün 日本", '"grün 日本"'),
        ("\u200b", r'"\u200b"'),
    ],
)
def test_values_are_quoted_as_go_quotes_them(value: str, quoted: str) -> None:
    """Source: fieldpath.FormatMap, strconv.AppendQuote."""
    assert format_map({"k": value}) == f"k={quoted}"


def value(resource: str, divisor: str | None = None, container: str = "") -> str:
    made = pod()
    selector = ResourceFieldSelector(
        resource=resource, divisor=Quantity(divisor) if divisor is not None else None, container_name=container
    )
    return resource_value(made, made.spec.containers[0], selector, ALLOCATABLE)


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", None, "2"),
        ("limits.cpu", "0", "2"),
        ("limits.cpu", "1m", "1001"),
        ("requests.cpu", "1", "1"),
        ("requests.cpu", "1m", "250"),
        ("limits.memory", None, str(100 * MIB)),
        ("limits.memory", "1Mi", "100"),
        ("limits.memory", "1M", "105"),
        ("limits.memory", "1Gi", "1"),
        ("requests.memory", None, "2"),
        ("limits.hugepages-2Mi", "1Mi", "4"),
        ("limits.hugepages-1Gi", None, "0"),
        ("requests.hugepages-2Mi", None, "0"),
        ("requests.ephemeral-storage", None, "0"),
    ],
)
def test_an_amount_is_rounded_up_in_units_of_the_divisor(resource: str, divisor: str | None, expected: str) -> None:
    assert value(resource, divisor) == expected


def test_a_missing_limit_is_what_the_node_can_give() -> None:
    """Source: MergeContainerResourceLimits, which leaves out huge pages; a limit of zero counts as missing."""
    assert value("limits.cpu", container="i") == "4"
    assert value("limits.cpu", "1m", container="i") == "3500"
    assert value("limits.memory", "1Mi", container="i") == "1000"
    assert value("limits.ephemeral-storage") == "7"
    assert value("limits.hugepages-2Mi", container="i") == "0"
    assert value("requests.memory", container="i") == "0"
    made = pod()
    selector = ResourceFieldSelector(resource="limits.ephemeral-storage")
    assert resource_value(made, made.spec.containers[0], selector, {}) == "0"


def test_another_container_of_the_pod_is_found_by_name() -> None:
    assert value("requests.cpu", container="i") == "2"
    assert value("requests.cpu", container="c") == "1"
    with pytest.raises(KitError, match=r"^container missing not found$"):
        value("requests.cpu", container="missing")


@pytest.mark.parametrize("resource", ["cpu", "limits.pid", "limit.cpu", "requests.", "limits.nvidia.com/gpu"])
def test_other_resources_are_rejected(resource: str) -> None:
    with pytest.raises(KitError) as error:
        value(resource)
    assert str(error.value) == f"unsupported container resource : {resource}"

"""The scale of workloads and of custom objects."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.meta import KubeObject
from kitlib.api.scale import ScalePaths, is_scalable, scale_of
from kitlib.api.serialize import from_dict

META = {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}, "generation": 3}


def made(kind: str, api_version: str = "apps/v1", **fields: Any) -> KubeObject:
    return from_dict({"apiVersion": api_version, "kind": kind, "metadata": META, **fields})


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("Deployment", "apps/v1", True),
        ("ReplicaSet", "apps/v1", True),
        ("StatefulSet", "apps/v1", True),
        ("ReplicationController", "v1", True),
        ("DaemonSet", "apps/v1", False),
        ("Job", "batch/v1", False),
        ("Pod", "v1", False),
        ("ConfigMap", "v1", False),
    ],
)
def test_workloads_that_have_a_scale(kind: str, version: str, expected: bool) -> None:
    assert is_scalable(made(kind, version)) is expected


@pytest.mark.parametrize(
    ("kind", "version", "selector", "text"),
    [
        ("Deployment", "apps/v1", {"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            "StatefulSet",
            "apps/v1",
            {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["y", "x"]}]},
            "a=1,b in (x,y)",
        ),
        ("ReplicationController", "v1", {"a": "1"}, "a=1"),
    ],
)
def test_the_scale_of_a_workload(kind: str, version: str, selector: Any, text: str) -> None:
    """Source: scaleFromDeployment: name, namespace, UID, version and creation; the selector as text."""
    found = scale_of(made(kind, version, spec={"replicas": 5, "selector": selector}, status={"replicas": 2}))
    assert (found.spec.replicas, found.status.replicas, found.status.selector) == (5, 2, text)
    meta = found.metadata
    assert (meta.name, meta.namespace, meta.uid, meta.resource_version) == ("w", "n", "u", "7")
    assert (meta.labels, meta.generation) == ({}, None)


def test_a_workload_without_a_number_has_one_replica_and_no_status() -> None:
    found = scale_of(made("Deployment", spec={"selector": {"matchLabels": {"a": "b"}}}))
    assert (found.spec.replicas, found.status.replicas) == (1, 0)
    zero = scale_of(made("Deployment", spec={"replicas": 0, "selector": {"matchLabels": {"a": "b"}}}))
    assert zero.spec.replicas == 0


PATHS = ScalePaths(".spec.size.wanted", ".status.size", ".status.text")


def test_the_paths_of_a_definition() -> None:
    given = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.b", "labelSelectorPath": ".status.c"}
    assert ScalePaths.of(given) == (".spec.a", ".status.b", ".status.c")
    assert ScalePaths.of({**given, "labelSelectorPath": None}) == (".spec.a", ".status.b", "")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"size": {"wanted": 3}}, {"size": 1, "text": "a=b"}, (3, 1, "a=b")),
        ({"size": {"wanted": 0}}, {}, (0, 0, "")),
        ({"size": {"wanted": 3}}, {"size": "1", "text": None}, (3, 0, "")),
        ({"size": {"wanted": "3"}}, {}, None),
        ({"size": 3}, {}, None),
        ({}, {}, None),
    ],
)
def test_the_scale_of_a_custom_object(
    spec: dict[str, Any], status: dict[str, Any], expected: tuple[int, int, str] | None
) -> None:
    """Source: scaleFromCustomResource."""
    found = PATHS.scale_of({"metadata": META, "spec": spec, "status": status})
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.spec.replicas, found.status.replicas, found.status.selector) == expected
    assert (found.metadata.name, found.metadata.uid, found.metadata.labels) == ("w", "u", {})


def test_a_definition_without_a_selector_path_shows_none() -> None:
    paths = PATHS._replace(selector="")
    found = paths.scale_of({"metadata": META, "spec": {"size": {"wanted": 1}}, "status": {"text": "a=b"}})
    assert found is not None and found.status.selector == ""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"size": {"wanted": 1, "other": 2}, "x": 1}, {"size": {"wanted": 4, "other": 2}, "x": 1}),
        ({"size": 1}, {"size": {"wanted": 4}}),
        ({}, {"size": {"wanted": 4}}),
    ],
)
def test_another_number_leaves_the_given_object_alone(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    given = {"metadata": META, "spec": spec}
    before = repr(given)
    assert PATHS.with_replicas(given, 4) == {"metadata": META, "spec": expected}
    assert repr(given) == before

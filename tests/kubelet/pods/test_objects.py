"""The objects that a kubelet reads for its pods: every way in which a pod refers to one."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import ConfigMap, Node, PersistentVolumeClaim, Pod, Secret
from kitlib.api.serialize import from_dict
from kitlib.kubelet.pods.objects import (
    MissingObject,
    Objects,
    Reference,
    TokenReference,
    claim_of,
    content,
    references,
    tokens,
    volume_of,
)


def pod(volumes: list[dict[str, Any]] | None = None, **spec: Any) -> Pod:
    meta = {"name": "web", "namespace": "prod", "uid": "u1"}
    return from_dict({"metadata": meta, "spec": {"volumes": volumes or [], **spec}}, Pod)


def container(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "image": "x", **fields}]


ENV_FROM = {"envFrom": [{"configMapRef": {"name": "m"}}, {"secretRef": {"name": "s"}}]}
ENV = {
    "env": [
        {"name": "A", "value": "plain"},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
}
PROJECTED = {
    "sources": [{"configMap": {"name": "m"}}, {"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "t"}}]
}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pod(), ""),
        (pod(containers=container(**ENV_FROM)), "ConfigMap/m Secret/s"),
        (pod(initContainers=container(**ENV_FROM)), "ConfigMap/m Secret/s"),
        (pod(ephemeralContainers=container(**ENV_FROM)), "ConfigMap/m Secret/s"),
        (pod(containers=container(**ENV)), "ConfigMap/m Secret/s"),
        (pod([{"name": "v", "configMap": {"name": "m"}}]), "ConfigMap/m"),
        (pod([{"name": "v", "secret": {"secretName": "s"}}]), "Secret/s"),
        (pod([{"name": "v", "projected": PROJECTED}]), "ConfigMap/m Secret/s"),
        (pod([{"name": "v", "persistentVolumeClaim": {"claimName": "d"}}]), "PersistentVolumeClaim/d"),
        (pod([{"name": "v", "ephemeral": {}}]), "PersistentVolumeClaim/web-v"),
        (pod([{"name": "v", "emptyDir": {}}]), ""),
        (pod([{"name": "v", "configMap": {}}], containers=container(envFrom=[{"secretRef": {}}])), ""),
    ],
)
def test_the_objects_that_a_pod_names(made: Pod, expected: str) -> None:
    """Source: VisitPodConfigmapNames, VisitPodSecretNames."""
    found = references(made)
    assert {f"{one.kind}/{one.name}" for one in found} == set(expected.split())
    assert {one.namespace for one in found} <= {"prod"}


def test_the_claim_of_a_volume() -> None:
    made = pod(
        [{"name": "v", "persistentVolumeClaim": {"claimName": "d"}}, {"name": "w", "ephemeral": {}}, {"name": "x"}]
    )
    assert [claim_of(made, volume) for volume in made.spec.volumes] == ["d", "web-w", ""]
    bound = from_dict({"metadata": {"name": "d"}, "spec": {"volumeName": "pv-1"}}, PersistentVolumeClaim)
    assert volume_of(bound) == Reference("PersistentVolume", "", "pv-1")


def test_a_token_is_a_reference_that_no_secret_can_have() -> None:
    sources = [
        {"serviceAccountToken": {"path": "a"}},
        {"serviceAccountToken": {"path": "b", "expirationSeconds": 600, "audience": "https://vault:8200"}},
        {"secret": {"name": "s"}},
    ]
    found = tokens(pod([{"name": "v", "projected": {"sources": sources}}, {"name": "w", "emptyDir": {}}]))
    assert {TokenReference.parse(one) for one in found} == {
        TokenReference("web", "u1", 3600, ""),
        TokenReference("web", "u1", 600, "https://vault:8200"),
    }
    assert {(one.kind, one.namespace) for one in found} == {("Secret", "prod")}
    assert all(":" in one.name for one in found), "a Secret's name is a DNS name"
    assert tokens(pod()) == set()


@pytest.mark.parametrize(
    "reference", [Reference("Secret", "prod", "token"), Reference("ConfigMap", "prod", "token:a:b:1:")]
)
def test_other_references_are_no_tokens(reference: Reference) -> None:
    assert TokenReference.parse(reference) is None


def test_the_content_of_an_object() -> None:
    assert content(ConfigMap(data={"a": "ä"}, binary_data={"b": b"\x00"})) == {"a": "ä".encode(), "b": b"\x00"}
    assert content(Secret(data={"a": b"1"})) == {"a": b"1"}


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    node, claim = (
        from_dict({"metadata": {"name": "n"}}, Node),
        from_dict({"metadata": {"name": "d"}}, PersistentVolumeClaim),
    )
    known: dict[Reference, Any] = {
        Reference("ConfigMap", "prod", "m"): ConfigMap(data={"a": "1"}),
        Reference("Node", "", "n"): node,
        Reference("PersistentVolumeClaim", "prod", "d"): claim,
    }
    objects = Objects(known.get)
    assert objects.data("ConfigMap", "prod", "m") == {"a": b"1"}
    assert objects.node("n") is node and objects.node("m") is None
    assert objects.claim("prod", "d") is claim and objects.claim("default", "d") is None
    assert objects.volume(claim) is None
    with pytest.raises(MissingObject, match=r'^configmap "m" not found$'):
        objects.data("ConfigMap", "default", "m")
    with pytest.raises(MissingObject, match=r'^secret "m" not found$'):
        objects.data("Secret", "prod", "m")
    assert Objects().node("n") is None

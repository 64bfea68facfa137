"""The fields of the messages in protobuf."""

from __future__ import annotations

import pytest

from kitlib.apiserver.http.protobuf_schema import SPECIAL, _lines, fields_of, message_of


@pytest.mark.parametrize(
    ("message", "name", "number", "kind", "shape", "pointer"),
    [
        ("core.v1.Pod", "metadata", 1, "meta.v1.ObjectMeta", "", False),
        ("core.v1.PodSpec", "containers", 2, "core.v1.Container", "*", False),
        ("core.v1.PodSpec", "terminationGracePeriodSeconds", 4, "i", "", True),
        ("core.v1.PodSpec", "nodeSelector", 7, "s", "{}", False),
        ("core.v1.PodSpec", "priority", 25, "i", "", True),
        ("core.v1.Secret", "data", 2, "b", "{}", False),
        ("core.v1.ServicePort", "targetPort", 4, "IntOrString", "", False),
        ("meta.v1.ObjectMeta", "creationTimestamp", 8, "Time", "", False),
        ("apps.v1.DeploymentSpec", "replicas", 1, "i", "", True),
    ],
)
def test_fields_of_upstreams_messages(
    message: str, name: str, number: int, kind: str, shape: str, pointer: bool
) -> None:
    """Source: generated.proto of k8s.io/api."""
    (found,) = [field for field in fields_of(message) if field.name == name]
    assert (found.number, found.kind, found.shape, found.pointer) == (number, kind, shape, pointer)


def test_every_message_is_whole() -> None:
    for message in _lines():
        fields = fields_of(message)
        numbers = [field.number for field in fields]
        assert len(set(numbers)) == len(numbers), message
        for field in fields:
            assert len(field.kind) == 1 or field.kind in SPECIAL or field.kind in _lines(), (message, field)


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("v1", "Pod", "core.v1.Pod"),
        ("apps/v1", "Deployment", "apps.v1.Deployment"),
        ("rbac.authorization.k8s.io/v1", "Role", "rbac.v1.Role"),
        ("v1", "Status", "meta.v1.Status"),
        ("apps/v1", "DeleteOptions", "meta.v1.DeleteOptions"),
        ("a.example/v1", "DeleteOptions", "meta.v1.DeleteOptions"),
        ("a.example/v1", "Thing", ""),
        ("apps.example/v1", "Deployment", ""),
        ("v2", "Pod", ""),
    ],
)
def test_the_message_of_a_kind(api_version: str, kind: str, message: str) -> None:
    """Source: metav1.AddToGroupVersion."""
    assert message_of(api_version, kind) == message

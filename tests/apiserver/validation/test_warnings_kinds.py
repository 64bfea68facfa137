"""What the API server warns of, rule by rule (pkg/api/pod/warnings.go and its siblings)."""

import base64
from typing import Any

import pytest

from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.warnings.kinds import warnings_of

APPARMOR = "container.apparmor.security.beta.kubernetes.io/c"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"


def pod(annotations: dict[str, str] | None = None, ports: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "img", "ports": ports or []}
    meta = {"name": "p", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def deployment(made: dict[str, Any]) -> dict[str, Any]:
    """The same pod in a template."""
    template = {"metadata": {**made["metadata"], "labels": {"a": "b"}}, "spec": made["spec"]}
    template["metadata"].pop("name")
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def secret(cert: bytes, key: bytes) -> dict[str, Any]:
    data = {"tls.crt": base64.b64encode(cert).decode(), "tls.key": base64.b64encode(key).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": data}


def volumes(*items: dict[str, Any]) -> dict[str, Any]:
    return pod(volumes=list(items))


def pem(kind: str) -> bytes:
    return f"-----BEGIN {kind}-----\neA==\n-----END {kind}-----\n".encode()


def definition(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "a.example", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}
    meta = {"name": "things.a.example"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": {**spec, "scope": "Namespaced"},
    }


SECCOMP_TEXT = f'metadata.annotations[{SECCOMP}]: non-functional in v1.27+; use the "seccompProfile" field instead'
ON_HOST = {"containerPort": 80, "hostPort": 80}
KEYS = [{"key": "a", "path": "conf"}, {"key": "b", "path": "conf/b"}]

CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a format that no text is held against": (
        definition(
            a={"type": "string", "format": "date-time"},
            b={"type": "array", "items": {"type": "string", "format": "nope"}},
            c={"type": "integer", "format": "int64"},
            d={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "string", "format": "of-mine"}]},
            e={"type": "string", "format": "k8s-short-name"},
        ),
        ['unrecognized format "nope"', 'unrecognized format "of-mine"'],
    ),
    "an AppArmor annotation is deprecated": (
        pod({APPARMOR: "unconfined"}),
        [f'metadata.annotations[{APPARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'],
    ),
    "an AppArmor annotation beside the field says nothing": (
        pod({APPARMOR: "unconfined"}, securityContext={"appArmorProfile": {"type": "Unconfined"}}),
        [],
    ),
    "a seccomp annotation has no effect": (pod({SECCOMP: "runtime/default"}), [SECCOMP_TEXT]),
    "a seccomp annotation beside the field says nothing": (
        pod({SECCOMP: "runtime/default"}, securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
        [],
    ),
    "in a template the path begins there": (
        deployment(pod({SECCOMP: "runtime/default"})),
        [f"spec.template.{SECCOMP_TEXT}"],
    ),
    "an old annotation of critical pods": (
        pod({"scheduler.alpha.kubernetes.io/critical-pod": ""}),
        [
            "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; "
            'use the "priorityClassName" field instead'
        ],
    ),
    "a host address without a host port": (
        pod(ports=[{"containerPort": 80, "hostIP": "10.0.0.1"}]),
        [
            "spec.containers[0].ports[0]: hostIP set without hostPort: "
            "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}"
        ],
    ),
    "the same port twice": (
        pod(ports=[{"containerPort": 80}, {"containerPort": 80}]),
        ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
    ),
    "one of two has a host port": (
        pod(ports=[ON_HOST, {"containerPort": 80}]),
        ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
    ),
    "one of two host ports has an address": (
        pod(ports=[{**ON_HOST, "hostIP": "10.0.0.1"}, ON_HOST]),
        ["spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]"],
    ),
    "the same port under another protocol is another port": (
        pod(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]),
        [],
    ),
    "ports of init containers count too": (
        pod(
            ports=[{"containerPort": 80}],
            initContainers=[{"name": "i", "image": "x", "ports": [{"containerPort": 80}]}],
        ),
        ["spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]"],
    ),
    "a path of a ConfigMap inside another": (
        volumes({"name": "v", "configMap": {"name": "cm", "items": KEYS}}),
        ['volume "v" (ConfigMap "cm"): overlapping paths: "conf/b" with "conf"'],
    ),
    "two sources of a projected volume write the same path": (
        volumes(
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "x"}]}},
                        {"secret": {"name": "s", "items": [{"key": "a", "path": "x"}]}},
                    ]
                },
            }
        ),
        ['volume "v" (Projected Secret "s"): overlapping paths: "x" with "x"'],
    ),
    "a CephFS volume is gone": (
        volumes({"name": "v", "cephfs": {"monitors": ["m"]}}),
        ["spec.volumes[0].cephfs: deprecated in v1.28, non-functional in v1.31+"],
    ),
    "a certificate that is no PEM": (
        secret(b"x", b"x"),
        ["tls: failed to find any PEM data in certificate input"],
    ),
    "a key in the certificate's place": (
        secret(pem("RSA PRIVATE KEY"), pem("CERTIFICATE")),
        [
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        ],
    ),
    "a key that is no PEM": (secret(pem("CERTIFICATE"), b"x"), ["tls: failed to find any PEM data in key input"]),
    "an EndpointSlice of names": (
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "e"},
            "addressType": "FQDN",
            "endpoints": [],
        },
        ["addressType: FQDN endpoints are deprecated"],
    ),
    "a storage class for old zone labels": (
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "s"},
            "provisioner": "a.b/c",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}]}
            ],
        },
        [
            "allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; "
            'use "topology.kubernetes.io/zone" instead'
        ],
    ),
}


@pytest.mark.parametrize(("data", "expected"), CASES.values(), ids=CASES.keys())
def test_warnings(data: dict[str, Any], expected: list[str]) -> None:
    assert warnings_of(from_dict(data)) == expected

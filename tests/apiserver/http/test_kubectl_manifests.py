"""Manifests of the kind that public charts have, applied with the real kubectl: claims, old versions, unknown kinds."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start

pytestmark = pytest.mark.kubectl
CHART = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: store}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: store}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: store}
subjects: [{kind: ServiceAccount, name: store}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: store}
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec: {clusterIP: None, selector: {app: store}, ports: [{name: peer, port: 2380}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      serviceAccountName: store
      securityContext: {runAsNonRoot: true, fsGroup: 1000}
      containers:
      - name: store
        image: registry.example/store:3
        env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        args: ["--name=$(POD)"]
        ports: [{containerPort: 2380, name: peer}]
        readinessProbe: {tcpSocket: {port: peer}}
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: store}
spec:
  ingressClassName: nginx
  tls: [{hosts: [store.example.com], secretName: store-tls}]
  rules:
  - host: store.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: store, port: {number: 2380}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: store}
spec:
  podSelector: {matchLabels: {app: store}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {}}], ports: [{port: 2380}]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: store}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: store}}}
"""
KINDS = "serviceaccount,role,rolebinding,service,statefulset,ingress,networkpolicy,poddisruptionbudget"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("manifests")
    process = start(folder, "--nodes", "2")
    try:
        yield Client(folder, programs)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_a_chart_of_every_usual_kind_is_applied_twice(kubectl: Client) -> None:
    file = kubectl.file("chart.yaml", CHART)
    assert kubectl("apply", "-f", file).count(" created\n") == 8
    again = kubectl("apply", "-f", file)
    # as on a real server: lists that are replaced whole are sent again where a default was filled in
    assert again.count(" unchanged\n") == 5
    for name in ("statefulset.apps", "networkpolicy.networking.k8s.io", "poddisruptionbudget.policy"):
        assert f"{name}/store configured\n" in again
    assert kubectl("get", "sts", "store", "-o", "jsonpath={.metadata.generation}") == "1"
    for kind in KINDS.split(","):
        assert "store" in kubectl("get", kind), kind
    claims = kubectl("get", "pvc", "-o", "name").split()
    assert claims == ["persistentvolumeclaim/data-store-0", "persistentvolumeclaim/data-store-1"]


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("extensions/v1beta1", "Deployment"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("batch/v1beta1", "CronJob"),
        ("monitoring.example.com/v1", "ServiceMonitor"),
    ],
)
def test_what_is_not_served_is_refused_and_the_rest_is_applied(kubectl: Client, version: str, kind: str) -> None:
    name = kind.lower()
    other = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: beside-{name}}}\n"
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{}}\n---\n{other}"
    result = kubectl.run("apply", "-f", kubectl.file("old.yaml", text))
    assert result.returncode == 1
    assert f'no matches for kind "{kind}" in version "{version}"' in result.stderr
    assert result.stdout == f"configmap/beside-{name} created\n"


def properties(depth: int) -> dict[str, Any]:
    text = "A field with a description of the length that generated schemas have. " * 4
    made: dict[str, Any] = {f"field{number}": {"type": "string", "description": text} for number in range(12)}
    if depth:
        made["inner"] = {"type": "object", "properties": properties(depth - 1)}
        made["list"] = {"type": "array", "items": {"type": "object", "properties": properties(depth - 1)}}
    return made


def test_two_megabytes_of_definitions_are_taken_and_served(kubectl: Client) -> None:
    made = []
    for number in range(20):
        names = {"plural": f"things{number}", "singular": f"thing{number}", "kind": f"Thing{number}"}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties(4)}}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        made.append({**head, "metadata": {"name": f"things{number}.example.com"}, "spec": spec})
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    assert len(text) > 2_000_000
    assert kubectl("create", "-f", kubectl.file("crds.json", text)).count(" created\n") == 20
    thing = "apiVersion: example.com/v1\nkind: Thing7\nmetadata: {name: t}\nspec: {inner: {field1: x}}\n"
    assert kubectl("apply", "-f", kubectl.file("thing.yaml", thing)) == "thing7.example.com/t created\n"
    assert "field1" in kubectl("explain", "thing7.spec.inner")
    wrong = kubectl.refused("apply", "-f", kubectl.file("wrong.yaml", thing.replace("field1: x", "field1: 7")))
    assert "spec.inner.field1" in wrong and "must be of type string" in wrong

"""The real helm on a served cluster: hooks, a CRD, a StatefulSet; what fails, waits, is tested and rolled back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("helm")
    process = start(folder)
    try:
        yield Client(folder, programs)
    finally:
        process.terminate()
        assert process.wait(20) == 0


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.1.0\n",
    "values.yaml": "replicas: 2\nbroken: false\n",
    "crds/lake.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lakes, singular: lake, kind: Lake, listKind: LakeList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""",
    "templates/all.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-cm"}
data: {replicas: "{{ .Values.replicas }}"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: "{{ .Release.Name }}-db"}
spec:
  serviceName: db
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "x:1"}]}
---
apiVersion: example.com/v1
kind: Lake
metadata: {name: "{{ .Release.Name }}-lake"}
spec: {depth: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec: {restartPolicy: Never, containers: [{name: c, image: "x:1", command: [sleep, "1"]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-web"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      {{- if .Values.broken }}
      nodeSelector: {there: "none"}
      {{- end }}
      containers: [{name: c, image: "x:1"}]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-bye"
  annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: hook-succeeded}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "x:1", command: [sleep, "1"]}]}}
""",
    "templates/tests/test.yaml": """
apiVersion: v1
kind: Pod
metadata:
  name: "{{ .Release.Name }}-test"
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded}
spec: {restartPolicy: Never, containers: [{name: c, image: "x:1", command: [sleep, "1"]}]}
""",
}


class Helm:
    """helm with the chart, for one release."""

    def __init__(self, kubectl: Client) -> None:
        self._kubectl = kubectl
        for name, text in CHART.items():
            path = kubectl.folder / "chart" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def __call__(self, *words: str) -> str:
        result = self._kubectl.run(*words, program="helm")
        assert result.returncode == 0, f"helm {' '.join(words)}: {result.stdout}{result.stderr}"
        return str(result.stdout)

    def refused(self, *words: str) -> str:
        result = self._kubectl.run(*words, program="helm")
        assert result.returncode != 0, f"helm {' '.join(words)}: {result.stdout}"
        return str(result.stderr)


def test_helm_installs_upgrades_rolls_back_and_uninstalls(kubectl: Client) -> None:
    helm = Helm(kubectl)

    def replicas() -> str:
        return kubectl("get", "sts", "r-db", "-o", "jsonpath={.status.readyReplicas}")

    assert "STATUS: deployed" in helm("install", "r", "chart", "--timeout", "60s")
    assert replicas() == "2"
    assert kubectl("get", "lake", "r-lake", "-o", "jsonpath={.spec.depth}") == "1"
    assert "REVISION: 2" in helm("upgrade", "r", "chart", "--set", "replicas=3", "--timeout", "60s")
    assert replicas() == "3"
    helm("rollback", "r", "1", "--timeout", "60s")
    assert kubectl("get", "sts", "r-db", "-o", "jsonpath={.spec.replicas}") == "2"
    assert helm("history", "r").count("superseded") == 2
    helm("uninstall", "r")
    assert kubectl("get", "sts,cm,lakes", "-o", "name").split() == ["configmap/kube-root-ca.crt"]


def test_helm_waits_tests_and_goes_back_where_an_upgrade_does_not_get_ready(kubectl: Client) -> None:
    helm = Helm(kubectl)
    helm("install", "s", "chart", "--wait", "--timeout", "80s")
    assert "condition met" in kubectl("wait", "--for=condition=Established", "crd/lakes.example.com", "--timeout=60s")
    assert "Succeeded" in helm("test", "s", "--timeout", "60s")
    failed = helm.refused("upgrade", "s", "chart", "--set", "broken=true", "--rollback-on-failure", "--timeout", "5s")
    assert "has been rolled back due to rollback-on-failure being set" in failed
    assert "Rollback to 1" in helm("history", "s")
    assert kubectl("get", "deploy", "s-web", "-o", "jsonpath={.spec.template.spec.nodeSelector}") == ""
    kubectl("rollout", "status", "deploy/s-web", "--timeout=60s")
    helm("uninstall", "s", "--wait", "--timeout", "60s")
    assert kubectl("get", "all,lakes", "-o", "name") == "service/kubernetes\n"

"""The kit describes what it serves as the real kubectl does: workloads, Services, claims, quotas, budgets."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.views.kubectl import KINDS
from kitlib.views.tabs import align
from tests.apiserver.http.test_kubectl import Client, binaries, start

pytestmark = pytest.mark.kubectl
KUBECTL = "1.36"
"""The release of the kubectl that .ci/kubectl installs."""
OBJECTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a: b}, annotations: {note: "x"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: i, image: x, command: ["true"]}]
      containers: [{name: c, image: x, ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}}]
      volumes: [{name: v, emptyDir: {}}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: later}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "20"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, max: {cpu: "2"}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: important, annotations: {note: "x y", a: "1"}}
value: 1000
preemptionPolicy: Never
description: for the shop
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("describe")
    process = start(folder, "--nodes", "2")
    client = Client(folder, programs)
    try:
        client("apply", "-f", client.file("objects.yaml", OBJECTS))
        for workload in ("deployment/web", "statefulset/db", "daemonset/agent"):
            client("rollout", "status", workload, "--timeout=60s")
        client("wait", "--for=jsonpath={.status.currentHealthy}=2", "pdb/budget", "--timeout=60s")
        yield client
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text(kubectl: Client, kind: str) -> None:
    def listed(one: str) -> list[Any]:
        return list(json.loads(kubectl("get", one, "-o", "json"))["items"])

    found = listed(kind)
    assert found, kind
    for obj in found:
        name = Path(obj["metadata"]["name"]).name
        theirs = kubectl("describe", kind, name, "--show-events=false")
        with Release(KUBECTL).following():
            ours = align(KINDS[kind](obj, listed))
        assert ours.splitlines() == theirs.rstrip(" \n").splitlines()

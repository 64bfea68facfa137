"""A cluster in which no two pods are alike, for measurements: manifests of its nodes and pods.

Pods differ in everything that the scheduler's default plugins read: requests, labels, image, tolerations, node affinity
with expressions, preferences, spread constraints and anti-affinity. Results that a scheduler caches for the pods of one
template are of no use here.
"""

from __future__ import annotations

from typing import Any

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TYPE, GENERATION, DISK = "node.kubernetes.io/instance-type", "example.com/generation", "example.com/disk"
TYPES, GENERATIONS, APPS = 5, 11, 50
TAINTED = 7
"""Every seventh node has a taint, in turn NoSchedule and PreferNoSchedule."""


def node_manifest(i: int, zones: int) -> dict[str, Any]:
    """Return node `i`: 4 CPUs, 32Gi, 110 pods, labels of five kinds, two images, a taint on every seventh node.

    Args:
        i: the node's number.
        zones: number of zones of the cluster.
    """
    name = f"node-{i:05d}"
    labels = {
        HOSTNAME: name,
        ZONE: f"zone-{i % zones}",
        TYPE: f"type-{i % TYPES}",
        GENERATION: str(1 + i % GENERATIONS),
        **({DISK: "ssd" if i % 4 else "nvme"} if i % 13 else {}),
    }
    spec: dict[str, Any] = {}
    if i % TAINTED == 0:
        effect = "NoSchedule" if i // TAINTED % 2 else "PreferNoSchedule"
        spec["taints"] = [{"key": "example.com/team", "value": f"team-{i % 3}", "effect": effect}]
    images = [
        {"names": [f"registry.example.com/app-{(i + k) % APPS}:1"], "sizeBytes": (50 + 7 * (i % 90) + k) * 2**20}
        for k in (0, 17)
    ]
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts, "images": images}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def pod_manifest(i: int, node: str = "") -> dict[str, Any]:
    """Return pod `i`; no two pods are alike.

    Args:
        i: the pod's number, from 0.
        node: name of the pod's node; "" = it has none.
    """
    app = f"app-{i % APPS}"
    labels = {"app": app, "version": f"v{i // APPS % 7}", "pod": f"p{i}"}
    requests = {"cpu": f"{50 + i % 97}m", "memory": f"{(100 + i) * 1024}Ki"}
    container = {"name": "c", "image": f"registry.example.com/{app}:{1 + i % 3}", "resources": {"requests": requests}}
    affinity: dict[str, Any] = {"nodeAffinity": _node_affinity(i)}
    spec: dict[str, Any] = {
        "containers": [container],
        "affinity": affinity,
        "tolerations": [
            {"key": "example.com/team", "operator": "Equal", "value": f"team-{i % 5}", "effect": "NoSchedule"},
            {"key": f"example.com/other-{i}", "operator": "Exists"},
        ],
    }
    if i % 2 == 0:
        spec["topologySpreadConstraints"] = [
            _spread(ZONE, "DoNotSchedule", app, 3 + i % 5),
            _spread(HOSTNAME, "ScheduleAnyway", app, 1 + i % 3),
        ]
    if i % 3 == 0:
        affinity["podAntiAffinity"] = _anti_affinity(i, labels)
    if node:
        spec["nodeName"] = node
    meta = {"name": f"pod-{i:05d}", "namespace": "default", "uid": f"pod-{i:05d}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _node_affinity(i: int) -> dict[str, Any]:
    """Return a required affinity (two terms, one instance type excluded) and a preferred one with two weights."""
    other_type = {"key": TYPE, "operator": "NotIn", "values": [f"type-{i % TYPES}", f"type-of-{i}"]}
    newer = {"key": GENERATION, "operator": "Gt", "values": [str(i % 4)]}
    older = {"key": GENERATION, "operator": "Lt", "values": [str(8 + i % 4)]}
    with_disk = {"key": DISK, "operator": "Exists" if i % 2 else "In", **({} if i % 2 else {"values": ["ssd", "nvme"]})}
    wanted = {"key": TYPE, "operator": "In", "values": [f"type-{(i + k) % TYPES}" for k in (1, 2)]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [other_type, newer]},
                {"matchExpressions": [other_type, older, with_disk]},
            ]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1 + i % 100, "preference": {"matchExpressions": [wanted]}},
            {"weight": 1 + i % 37, "preference": {"matchExpressions": [with_disk, newer]}},
        ],
    }


def _spread(key: str, action: str, app: str, skew: int) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}


def _anti_affinity(i: int, labels: dict[str, str]) -> dict[str, Any]:
    """Return an anti-affinity: required against the same version of the app on a host, preferred against the app."""
    same = {"matchLabels": {"app": labels["app"], "version": labels["version"]}}
    every = {"matchExpressions": [{"key": "app", "operator": "In", "values": [labels["app"]]}]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": same, "topologyKey": HOSTNAME}],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1 + i % 99, "podAffinityTerm": {"labelSelector": every, "topologyKey": HOSTNAME}}
        ],
    }


def printed(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a pod that has a node as `kubectl get -o json` prints it: with status, defaults and managed fields.

    The pod has 4 kB of JSON and more.
    """
    meta, spec = manifest["metadata"], manifest["spec"]
    time = "2026-01-05T08:00:00Z"
    mount = {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
    container = {
        **spec["containers"][0],
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [mount],
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    certificate = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    volume = {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [token, certificate]}}
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": time, "observedGeneration": 1}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    running = {
        "containerID": f"containerd://{meta['name']:0>64}",
        "image": container["image"],
        "imageID": f"registry.example.com/app@sha256:{meta['name']:0>64}",
        "lastState": {},
        "name": "c",
        "ready": True,
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": time}},
    }
    return {
        **manifest,
        "metadata": {
            **meta,
            "creationTimestamp": time,
            "resourceVersion": "1",
            "managedFields": _managed(meta["labels"]),
        },
        "spec": {
            **spec,
            "containers": [container],
            "volumes": [volume],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
        },
        "status": {
            "phase": "Running",
            "conditions": conditions,
            "containerStatuses": [running],
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
            "qosClass": "Burstable",
            "startTime": time,
        },
    }


def _managed(labels: dict[str, str]) -> list[dict[str, Any]]:
    """Return the field managers of a running pod: its controller's fields and the kubelet's."""
    written = {
        "f:metadata": {"f:labels": {f"f:{key}": {} for key in labels}},
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {f"f:{key}": {} for key in ("image", "name", "resources")}},
            "f:affinity": {"f:nodeAffinity": {}, "f:podAntiAffinity": {}},
            **{f"f:{key}": {} for key in ("dnsPolicy", "restartPolicy", "schedulerName", "tolerations")},
        },
    }
    conditions: dict[str, Any] = {
        f'k:{{"type":"{kind}"}}': {f"f:{key}": {} for key in ("lastTransitionTime", "status", "type")}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    }
    observed = {"f:status": {"f:conditions": conditions, "f:containerStatuses": {}, "f:phase": {}, "f:podIPs": {}}}
    return [
        {"manager": who, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for who, fields in (("kube-controller-manager", written), ("kubelet", observed))
    ]

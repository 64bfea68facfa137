"""Fields that the API server writes even when they are empty, because strict clients require them.

Source: fields of k8s.io/api types without `omitempty`.
"""

from __future__ import annotations

from typing import Any

_STATUSES = {"image": "", "imageID": "", "lastState": {}, "ready": False, "restartCount": 0, "state": {}}
_USER = {"gid": 0, "uid": 0}
_POD_SPEC: dict[str, dict[str, Any]] = {"containers[]": {"resources": {}}, "initContainers[]": {"resources": {}}}
_SYSTEM_INFO = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion"),
    *("machineID", "operatingSystem", "osImage", "systemUUID"),
)
_DAEMON_SET = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
_BUDGET = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")


def _template(path: str) -> dict[str, dict[str, Any]]:
    below = {f"{path}.spec.{place}": fields for place, fields in _POD_SPEC.items()}
    return {path: {"metadata": {}, "spec": {}}, **below}


REQUIRED: dict[str, dict[str, dict[str, Any]]] = {
    "Pod": {
        "": {"spec": {}, "status": {}},
        **{f"spec.{place}": fields for place, fields in _POD_SPEC.items()},
        "status.containerStatuses[]": _STATUSES,
        "status.initContainerStatuses[]": _STATUSES,
        "status.ephemeralContainerStatuses[]": _STATUSES,
        "status.containerStatuses[].user.linux": _USER,
        "status.initContainerStatuses[].user.linux": _USER,
        "status.ephemeralContainerStatuses[].user.linux": _USER,
    },
    "Node": {
        "": {"spec": {}, "status": {}},
        "status": {"nodeInfo": {}},
        "status.nodeInfo": dict.fromkeys(_SYSTEM_INFO, ""),
        "spec.taints[]": {"effect": "", "key": ""},
    },
    "Deployment": {"": {"status": {}}, "spec": {"strategy": {}}, **_template("spec.template")},
    "ReplicaSet": {"": {"status": {}}, "status": {"replicas": 0}, **_template("spec.template")},
    "StatefulSet": {
        "": {"status": {}},
        "spec": {"serviceName": "", "updateStrategy": {}},
        "status": {"availableReplicas": 0, "replicas": 0},
        **_template("spec.template"),
    },
    "DaemonSet": {
        "": {"status": {}},
        "spec": {"updateStrategy": {}},
        "status": dict.fromkeys(_DAEMON_SET, 0),
        **_template("spec.template"),
    },
    "ReplicationController": {"": {"status": {}}, "status": {"replicas": 0}},
    "Job": {"": {"status": {}}, **_template("spec.template")},
    "CronJob": {"": {"status": {}}, "spec.jobTemplate": {"metadata": {}, "spec": {}}},
    "PodDisruptionBudget": {"": {"status": {}}, "status": dict.fromkeys(_BUDGET, 0)},
    "HorizontalPodAutoscaler": {
        "": {"status": {}},
        "status": {"currentMetrics": None, "desiredReplicas": 0},
    },
    "Service": {"": {"status": {"loadBalancer": {}}}},
    "Namespace": {"": {"spec": {}, "status": {}}},
    "PersistentVolumeClaim": {"": {"status": {}}, "spec": {"resources": {}}},
    "PersistentVolume": {"": {"status": {}}},
    "Ingress": {"": {"status": {"loadBalancer": {}}}},
    "NetworkPolicy": {"": {"spec": {}}, "spec": {"podSelector": {}}},
    "ResourceQuota": {"": {"spec": {}, "status": {}}},
    "ClusterRole": {"": {"rules": None}},
    "Role": {"": {"rules": None}},
    "PriorityClass": {"": {"value": 0}},
    "CustomResourceDefinition": {
        "": {"status": {}},
        "status": {"acceptedNames": {}, "conditions": None, "storedVersions": None},
        "status.acceptedNames": {"kind": "", "plural": ""},
    },
    "Event": {
        "": {
            "eventTime": None,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "reportingComponent": "",
            "reportingInstance": "",
            "source": {},
        }
    },
}
"""The required fields with their empty values, by kind and path (`a.b[]` = each item of the list)."""


def complete(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Add the required fields of the kind to an object, in place, and return it."""
    for steps, fields in _STEPS.get(kind, ()):
        for place in _places(data, steps):
            for name, empty in fields.items():
                if name not in place:
                    place[name] = dict(empty) if isinstance(empty, dict) else empty
    return data


_STEPS = {
    kind: [
        ([(step.removesuffix("[]"), step.endswith("[]")) for step in path.split(".") if step], fields)
        for path, fields in paths.items()
    ]
    for kind, paths in REQUIRED.items()
}
"""`REQUIRED` with each path split into steps: a field, and whether the step goes to each item of its list."""


def _places(data: dict[str, Any], steps: list[tuple[str, bool]]) -> list[dict[str, Any]]:
    found: list[Any] = [data]
    for name, listed in steps:
        found = [one[name] for one in found if isinstance(one, dict) and name in one]
        if listed:
            found = [item for items in found if isinstance(items, list) for item in items]
    return [one for one in found if isinstance(one, dict)]

"""Defaults of all kinds: a value that a manifest gives stays, also one that is empty, zero or false."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}
EVERYTHING = {"namespaceSelector": SELECTOR, "objectSelector": SELECTOR, "matchPolicy": "Exact"}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Cluster"}
SERVICE = {"name": "s", "namespace": "n", "port": 8443}
HOOK = {"name": "h.a.b", "failurePolicy": "Ignore", "timeoutSeconds": 3, "rules": [RULE], **EVERYTHING,
        "clientConfig": {"service": SERVICE}}  # fmt: skip
SCALE = {"stabilizationWindowSeconds": 7, "selectPolicy": "Min",
         "policies": [{"type": "Pods", "value": 2, "periodSeconds": 9}]}  # fmt: skip
SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "Deployment": ("apps/v1", {"replicas": 0, "revisionHistoryLimit": 0, "progressDeadlineSeconds": 7,
                               "strategy": {"type": "RollingUpdate",
                                            "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}}),
    "ReplicaSet": ("apps/v1", {"replicas": 3}),
    "StatefulSet": ("apps/v1", {"replicas": 3, "revisionHistoryLimit": 4, "podManagementPolicy": "Parallel",
                                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
                                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete",
                                                                         "whenScaled": "Delete"}}),
    "DaemonSet": ("apps/v1", {"revisionHistoryLimit": 4,
                              "updateStrategy": {"type": "RollingUpdate",
                                                 "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}}),
    "ReplicationController": ("v1", {"replicas": 3, "selector": {"a": "b", "c": "d"}}),
    "Job": ("batch/v1", {"completions": 4, "parallelism": 2, "backoffLimit": 1, "completionMode": "Indexed",
                         "suspend": True, "manualSelector": True, "podReplacementPolicy": "Failed",
                         "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [
                             {"type": "DisruptionTarget", "status": "False"}]}]}}),
    "CronJob": ("batch/v1", {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "suspend": True,
                             "successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}),
    "Service": ("v1", {"type": "LoadBalancer", "sessionAffinity": "ClientIP",
                       "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
                       "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local",
                       "allocateLoadBalancerNodePorts": False,
                       "ports": [{"port": 80, "protocol": "UDP", "targetPort": 81}]}),
    "HorizontalPodAutoscaler": ("autoscaling/v2", {"maxReplicas": 5, "minReplicas": 0,
                                                   "behavior": {"scaleUp": SCALE, "scaleDown": SCALE},
                                                   "metrics": [{"type": "Pods"}]}),
    "NetworkPolicy": ("networking.k8s.io/v1", {"policyTypes": ["Egress"],
                                               "ingress": [{"ports": [{"port": 1, "protocol": "UDP"}]}]}),
    "IngressClass": ("networking.k8s.io/v1", {"controller": "a.b/c", "parameters": {
        "apiGroup": "a.b", "kind": "P", "name": "p", "scope": "Namespace", "namespace": "n"}}),
    "PersistentVolumeClaim": ("v1", {"volumeMode": "Block"}),
    "PersistentVolume": ("v1", {"volumeMode": "Block", "persistentVolumeReclaimPolicy": "Delete",
                                "hostPath": {"path": "/a", "type": "Directory"}}),
    "CSIDriver": ("storage.k8s.io/v1", {"attachRequired": False, "podInfoOnMount": True, "storageCapacity": True,
                                        "fsGroupPolicy": "File", "volumeLifecycleModes": ["Ephemeral"],
                                        "requiresRepublish": True, "seLinuxMount": True}),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", {
        "group": "a.b", "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things", "singular": "one", "listKind": "Many"},
        "conversion": {"strategy": "Webhook"}}),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", {
        "failurePolicy": "Ignore",
        "matchConstraints": {**EVERYTHING, "resourceRules": [RULE], "excludeResourceRules": [RULE]}}),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io/v1", {
        "policyName": "p", "matchResources": {**EVERYTHING, "resourceRules": [RULE]}}),
    "FlowSchema": ("flowcontrol.apiserver.k8s.io/v1", {"matchingPrecedence": 5}),
    "PriorityLevelConfiguration": ("flowcontrol.apiserver.k8s.io/v1", {"type": "Limited", "limited": {
        "nominalConcurrencyShares": 0, "lendablePercent": 7,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 2, "handSize": 1, "queueLengthLimit": 3}}}}),
    "ResourceClaim": ("resource.k8s.io/v1", {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 4}}]}}),
}  # fmt: skip
"""Kind -> its version and a specification in which every field with a default has another value."""
TEMPLATED = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job")


def kept(given: Any, made: Any) -> Any:
    """Return the part of an object at the paths of another one."""
    if isinstance(given, dict) and isinstance(made, dict):
        return {name: kept(value, made.get(name)) for name, value in given.items()}
    if isinstance(given, list) and isinstance(made, list) and len(given) == len(made):
        return [kept(one, other) for one, other in zip(given, made, strict=True)]
    return made


@pytest.mark.parametrize("kind", SPECS)
def test_a_given_field_of_a_specification_stays(kind: str) -> None:
    """Source: the defaults.go of each group; every default is set `if obj.Spec.X == nil` or `== ""`."""
    version, spec = SPECS[kind]
    spec = {**spec, **({"template": TEMPLATE} if kind in TEMPLATED else {})}
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    assert kept(data, to_dict(set_defaults(from_dict(data)))) == data


@pytest.mark.parametrize(
    ("version", "kind", "fields"),
    [
        ("storage.k8s.io/v1", "StorageClass",
         {"provisioner": "a.b", "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"}),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 1, "preemptionPolicy": "Never"}),
        ("v1", "Secret", {"type": "a.b/c", "data": {"a": "Yg=="}}),
        ("v1", "Endpoints", {"subsets": [{"ports": [{"port": 80, "protocol": "UDP"}]}]}),
        ("discovery.k8s.io/v1", "EndpointSlice",
         {"addressType": "IPv4", "ports": [{"name": "a", "port": 80, "protocol": "UDP"}]}),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {"webhooks": [HOOK]}),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
         {"webhooks": [{**HOOK, "reinvocationPolicy": "IfNeeded"}]}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding",
         {"roleRef": {"apiGroup": "a.b", "kind": "Role", "name": "r"},
          "subjects": [{"apiGroup": "a.b", "kind": "User", "name": "u"}]}),
    ],
)  # fmt: skip
def test_a_given_field_of_an_object_stays(version: str, kind: str, fields: dict[str, Any]) -> None:
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields}
    assert kept(data, to_dict(set_defaults(from_dict(data)))) == data


@pytest.mark.parametrize(
    "source",
    [
        {"secret": {"secretName": "s", "defaultMode": 0}},
        {"projected": {"defaultMode": 0, "sources": [
            {"serviceAccountToken": {"path": "t", "expirationSeconds": 700}},
            {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "maxExpirationSeconds": 4000}},
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "b", "apiVersion": "v2"}}]}}]}},
        {"hostPath": {"path": "/a", "type": "File"}},
        {"iscsi": {"targetPortal": "a", "iqn": "b", "lun": 1, "iscsiInterface": "i"}},
        {"rbd": {"monitors": ["a"], "image": "b", "pool": "p", "user": "u", "keyring": "/k"}},
        {"azureDisk": {"diskName": "d", "diskURI": "u", "cachingMode": "None", "kind": "Managed", "fsType": "xfs",
                       "readOnly": True}},
        {"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "storageMode": "Thick",
                     "fsType": "ext4"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Block"}}}},
        {"image": {"reference": "a", "pullPolicy": "Never"}},
    ],
    ids=lambda source: str(next(iter(source))),
)  # fmt: skip
def test_a_given_field_of_a_volume_stays(source: dict[str, Any]) -> None:
    containers = [{"name": "c", "image": "x"}]
    spec = {"containers": containers, "volumes": [{"name": "v", **source}]}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert to_dict(set_defaults(from_dict(data)))["spec"]["volumes"] == [{"name": "v", **source}]


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ({"projected": {"sources": [{"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519"}}]}},
         {"projected": {"defaultMode": 420, "sources": [
             {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "maxExpirationSeconds": 86400}}]}}),
        ({"azureDisk": {"diskName": "d", "diskURI": "u"}},
         {"azureDisk": {"diskName": "d", "diskURI": "u", "cachingMode": "ReadWrite", "kind": "Shared",
                        "fsType": "ext4", "readOnly": False}}),
        ({"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "s"}}},
         {"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "storageMode": "ThinProvisioned",
                      "fsType": "xfs"}}),
        ({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
         {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}}),
    ],
    ids=["podCertificate", "azureDisk", "scaleIO", "ephemeral"],
)  # fmt: skip
def test_the_defaults_of_a_volume(source: dict[str, Any], added: dict[str, Any]) -> None:
    """Source: SetDefaults_PodCertificateProjection, _AzureDiskVolumeSource, _ScaleIOVolumeSource."""
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": [{"name": "v", **source}]}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    (made,) = to_dict(set_defaults(from_dict(data)))["spec"]["volumes"]
    assert kept(added, made) == added


def test_a_given_field_of_a_pod_stays() -> None:
    get = {"httpGet": {"path": "/a", "scheme": "HTTPS", "port": 80}}
    probe = {**get, "timeoutSeconds": 7, "periodSeconds": 8, "successThreshold": 2, "failureThreshold": 9}
    container = {
        "name": "c",
        "image": "x",
        "imagePullPolicy": "Never",
        "terminationMessagePath": "/m",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}],
        "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "startupProbe": {"grpc": {"port": 1, "service": "s"}, "timeoutSeconds": 3},
        "lifecycle": {"postStart": get, "preStop": get},
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    }
    spec = {
        "containers": [container],
        "dnsPolicy": "None",
        "restartPolicy": "Never",
        "schedulerName": "s",
        "securityContext": {"runAsUser": 1},
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
        "hostNetwork": True,
        "serviceAccount": "old",
        "serviceAccountName": "new",
    }
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made = to_dict(set_defaults(from_dict(data)))["spec"]
    spec.pop("serviceAccount")
    assert kept(spec, made) == spec


@pytest.mark.parametrize("kind", ["Job", "ReplicationController"])
def test_an_objects_own_labels_are_not_those_of_its_template(kind: str) -> None:
    version = "batch/v1" if kind == "Job" else "v1"
    for labels, expected in (({}, {"a": "b"}), ({"own": "1"}, {"own": "1"})):
        data = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "labels": labels}}
        made = to_dict(set_defaults(from_dict({**data, "spec": {"template": TEMPLATE}})))
        assert made["metadata"]["labels"] == expected


def test_pod_level_huge_pages() -> None:
    """Source: defaultHugePagePodLimits, defaultPodRequests: their request is their limit, not the containers' sum."""
    pages = {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}
    for level, expected in (
        ({"requests": {"cpu": "2"}},
         {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}),
        ({"limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}},
         {"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}}),
    ):  # fmt: skip
        spec = {"containers": [{"name": "c", "image": "x", "resources": pages}], "resources": level}
        data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        assert to_dict(set_defaults(from_dict(data)))["spec"]["resources"] == expected

"""Valid inputs of every kind, for the fuzzers to change."""

from __future__ import annotations

from typing import Any

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"kitlib.dev/workload.c": "cpu=1 memory=9Mi"}},
    "spec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"runAsUser": 1000},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
                    ]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 5,
                        "podAffinityTerm": {
                            "topologyKey": "zone",
                            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                        },
                    }
                ]
            },
        },
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "10Mi"}}],
        "initContainers": [{"name": "i", "image": "busybox", "command": ["true"], "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "c",
                "image": "stress",
                "command": ["stress-ng", "--vm", "1", "--vm-bytes", "50M", "--timeout", "10s"],
                "env": [{"name": "A", "value": "b"}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5},
            }
        ],
    },
}
_SELECTOR = {"matchLabels": {"app": "web"}}
_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def _object(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": kind.lower()}, **fields}


OTHERS: tuple[dict[str, Any], ...] = (
    _object(
        "apps/v1",
        "Deployment",
        spec={
            "replicas": 2,
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        },
    ),
    _object(
        "apps/v1",
        "StatefulSet",
        spec={"replicas": 2, "serviceName": "s", "selector": _SELECTOR, "template": _TEMPLATE},
    ),
    _object("apps/v1", "DaemonSet", spec={"selector": _SELECTOR, "template": _TEMPLATE}),
    _object(
        "v1",
        "Node",
        spec={"taints": [{"key": "a", "effect": "NoSchedule"}]},
        status={
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "allocatable": {"cpu": "3", "memory": "7Gi", "pods": "10"},
        },
    ),
    _object("policy/v1", "PodDisruptionBudget", spec={"minAvailable": "50%", "selector": _SELECTOR}),
    _object("scheduling.k8s.io/v1", "PriorityClass", value=1000, preemptionPolicy="Never"),
    _object("v1", "ResourceQuota", spec={"hard": {"cpu": "4", "pods": "5"}}),
    _object("v1", "LimitRange", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}),
    _object(
        "resource.k8s.io/v1",
        "DeviceClass",
        spec={"selectors": [{"cel": {"expression": "device.driver == 'a'"}}]},
    ),
    _object(
        "resource.k8s.io/v1",
        "ResourceClaim",
        spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1}}]}},
    ),
)
MORE: tuple[dict[str, Any], ...] = (
    _object("apps/v1", "ReplicaSet", spec={"replicas": 2, "selector": _SELECTOR, "template": _TEMPLATE}),
    _object(
        "batch/v1",
        "Job",
        spec={
            "completions": 3,
            "parallelism": 2,
            "backoffLimit": 1,
            "activeDeadlineSeconds": 60,
            "ttlSecondsAfterFinished": 5,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}},
        },
    ),
    _object(
        "batch/v1",
        "CronJob",
        spec={
            "schedule": "*/5 * * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {
                "spec": {
                    "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "x"}]}}
                }
            },
        },
    ),
    _object(
        "v1",
        "Service",
        spec={"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    ),
    _object("v1", "ConfigMap", data={"a": "b"}),
    _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
                }
            ],
        },
    ),
    _object(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    _object(
        "v1",
        "PersistentVolume",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"}},
    ),
    _object(
        "storage.k8s.io/v1",
        "StorageClass",
        provisioner="example.com/x",
        volumeBindingMode="WaitForFirstConsumer",
    ),
)
"""What only whole clusters are given."""
KUBELET: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "systemd",
    "kubeReserved": {"cpu": "100m", "memory": "100Mi"},
    "systemReserved": {"cpu": "100m"},
    "enforceNodeAllocatable": ["pods"],
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "evictionSoft": {"memory.available": "200Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m30s"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1100Mi"}}],
    "memoryManagerPolicy": "Static",
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "topologyManagerPolicy": "best-effort",
    "reservedSystemCPUs": "0-1",
    "cpuCFSQuotaPeriod": "100ms",
    "featureGates": {"MemoryQoS": True},
    "maxPods": 110,
    "podPidsLimit": 100,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "qosReserved": {"memory": "50%"},
    "imageGCHighThresholdPercent": 85,
    "crashLoopBackOff": {"maxContainerRestartPeriod": "10s"},
}
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
STRATEGY = {
    "type": "RequestedToCapacityRatio",
    "resources": [{"name": "cpu", "weight": 1}],
    "requestedToCapacityRatio": SHAPE,
}
SPREAD = {
    "defaultingType": "List",
    "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
}
SCHEDULER: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 50,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 10,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "score": {
                    "enabled": [{"name": "NodeResourcesFit", "weight": 2}],
                    "disabled": [{"name": "ImageLocality"}],
                },
                "multiPoint": {"enabled": [{"name": "TaintToleration"}]},
            },
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": STRATEGY}},
                {"name": "PodTopologySpread", "args": SPREAD},
                {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}},
            ],
        }
    ],
    "extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "weight": 1}],
}
FLAGS = (
    "--reserved-cpus=0-1",
    "--kube-reserved=cpu=1,memory=1Gi",
    "--eviction-hard=memory.available<100Mi",
    "--eviction-soft-grace-period=memory.available=1m",
    "--cpu-manager-policy=static",
    "--max-pods=5",
    "--reserved-memory=0:memory=1Gi",
    "--feature-gates=MemoryQoS=true",
    "--cgroup-driver=systemd",
    "--pod-max-pids=5",
    "--cpu-cfs-quota-period=100ms",
    "--topology-manager-policy=restricted",
    "--qos-reserved=memory=50%",
)
COMMANDS = (
    "stress-ng --vm 1 --vm-bytes 50M --timeout 10s",
    "sleep 10",
    "sh -c 'sleep 5; exit 3'",
    "while true; do :; done",
    "stress-ng --cpu 2 --cpu-load 50",
    "dd if=/dev/zero of=/tmp/x bs=1M count=10",
    "echo hello",
    "stress --cpu 1 --vm 1 --vm-bytes 100M --vm-hang 0",
    "trap '' TERM; sleep 100 & wait",
)
WORKLOADS = (
    "cpu=100m memory=10Mi",
    "10s cpu=1 memory=50Mi; memory=100Mi exit=1",
    "pids=10",
    "cache=10Mi disk=5Mi",
    "1m; inodes=5",
)
EXPRESSIONS = (
    "device.driver == 'a' && device.attributes['a'].model.matches('^A1.*$')",
    "device.capacity['a'].memory.compareTo(quantity('10Gi')) >= 0",
    "[1, 2, 3].exists(x, x > 2)",
    "has(device.attributes['a'].x) ? 1 + 2 * 3 == 7 : !false",
    "device.attributes['a'].v.isLessThan(semver('2.0.0'))",
    "cel.bind(d, device.attributes['a'], d.x == 1)",
    "'a' in ['a'] || device.allowMultipleAllocations",
)

"""Claims and volumes decide where a pod can run: binding, zones and limits together."""

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict, load
from kitlib.scheduler.scheduler import Scheduler

ZONE = "topology.kubernetes.io/zone"


def node(name, zone):
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE: zone}}
    return from_dict({"metadata": meta, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}, Node)


NODES = [node("a", "z1"), node("b", "z2")]


def pod(*claims, name="p", on="", **volume):
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": c}} for i, c in enumerate(claims)]
    volumes += [{"name": "disk", **volume}] if volume else []
    spec = {"containers": [{"name": "c"}], "volumes": volumes, "nodeName": on}
    return from_dict({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}, Pod)


STORAGE = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-b, labels: {topology.kubernetes.io/zone: z2}}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: csi.example.com, volumeHandle: h1}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z2]}]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-zone, labels: {topology.kubernetes.io/zone: z1__z3}}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv-b, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: zoned, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv-zone, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: immediate, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: late, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: local, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: once, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv-b, accessModes: [ReadWriteOncePod]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: prebound, namespace: default}
spec: {volumeName: pv-b, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: gone, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv-gone, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: deleting, namespace: default, deletionTimestamp: "2026-01-05T08:00:00Z"}
spec: {accessModes: [ReadWriteOnce], storageClassName: none}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-other}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: csi.example.com, volumeHandle: h2}}
"""
CAPACITY = """
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.example.com}
spec: {storageCapacity: true}
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: c1, namespace: default}
storageClassName: late
capacity: 20Gi
nodeTopology: {matchLabels: {topology.kubernetes.io/zone: z1}}
"""
LIMIT = """
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: b}
spec: {drivers: [{name: csi.example.com, nodeID: b, allocatable: {count: 0}}]}
"""
ONE_MORE = LIMIT.replace("count: 0", "count: 1")
ATTACHED = """---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: a1}
spec: {attacher: csi.example.com, nodeName: b, source: {persistentVolumeName: pv-other}}
"""
CASES = [
    # claims, extra objects, feasible, reason on the others (or of all)
    (["bound"], "", ["b"], "node(s) didn't match PersistentVolume's node affinity"),
    (["zoned"], "", ["a"], "node(s) had no available volume zone"),
    (["immediate"], "", [], "pod has unbound immediate PersistentVolumeClaims"),
    (["missing"], "", [], 'persistentvolumeclaim "missing" not found'),
    (["late"], "", ["a", "b"], ""),
    (["late"], CAPACITY, ["a"], "node(s) did not have enough free storage"),
    (["local"], "", [], "node(s) didn't find available persistent volumes to bind"),
    (["bound"], LIMIT, [], "node(s) exceed max volume count"),
    (["bound"], ONE_MORE, ["b"], ""),
    (["bound"], ONE_MORE + ATTACHED, [], "node(s) exceed max volume count"),
    (["prebound"], "", [], "pod has unbound immediate PersistentVolumeClaims"),
    (["gone"], "", [], 'persistentvolume "pv-gone" not found'),
    (["immediate", "deleting"], "", [], 'persistentvolumeclaim "deleting" is being deleted'),
]


@pytest.mark.parametrize(("claims", "more", "feasible", "reason"), CASES)
def test_volumes_decide_where_a_pod_can_run(claims, more, feasible, reason):
    objects = load(STORAGE) + (load(more) if more else [])
    decision = Scheduler(NODES, volumes=objects).explain(pod(*claims))
    assert decision.feasible == feasible
    if reason:
        assert reason in {r for n in ("a", "b") for r in decision.reasons_of(n)}


EPHEMERAL = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: p-disk, namespace: default, ownerReferences: [{kind: Pod, name: x, uid: UID, controller: true}]}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("", 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-disk"'),
        (EPHEMERAL.replace("UID", "q"), "PVC default/p-disk was not created for pod default/p (pod is not owner)"),
        (EPHEMERAL.replace("UID", "p"), ""),
    ],
)
def test_an_ephemeral_volume_waits_for_its_own_claim(claim, message):
    objects = load(STORAGE) + (load(claim) if claim else [])
    decision = Scheduler(NODES, volumes=objects).explain(pod(ephemeral={"volumeClaimTemplate": {"spec": {}}}))
    assert decision.filter_message == (f"0/2 nodes are available: {message}." if message else "")

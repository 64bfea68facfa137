"""Two nodes in two zones, pods with claims, and claims, volumes and classes of every kind."""

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict

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

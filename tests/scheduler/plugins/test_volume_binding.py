"""Claims and volumes decide where a pod can run: binding, zones and limits together."""

import pytest

from kitlib.api.serialize import load
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.storage import NODES, STORAGE, pod

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


ONE_LOCAL = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-local}
spec: {capacity: {storage: 9Gi}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /mnt}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: other, namespace: default, uid: other}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}
"""


def test_without_a_cluster_a_reserved_volume_stays_with_its_pod():
    """There is no API to write to: the assumptions of Reserve also count after the objects have been given anew."""
    objects = load(STORAGE) + load(ONE_LOCAL)
    scheduler = Scheduler(NODES, volumes=objects)
    assert scheduler.schedule(pod("local", name="first")).suggested_host
    scheduler.set_objects(volumes=objects)
    second = scheduler.schedule(pod("other", name="second"))
    assert second.filter_message.startswith("0/2 nodes are available: 2 node(s) didn't find available persistent vol")
    scheduler.set_objects(volumes=load(STORAGE) + load(ONE_LOCAL))  # newer objects of the API hold
    assert scheduler.explain(pod("other", name="second")).suggested_host


def test_a_claim_that_two_pods_share_keeps_them_on_one_node():
    scheduler = Scheduler(NODES, volumes=load(STORAGE))
    first = scheduler.schedule(pod("late", name="first")).suggested_host
    assert scheduler.explain(pod("late", name="second")).feasible == [first]

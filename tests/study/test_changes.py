"""Tests of the differences for objects between two releases: placements, classes, cgroup values, defaults, gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.advisor.dump import Dump
from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.study.changes import ReleaseChange

OBJECTS = """
apiVersion: v1
kind: List
items:
- {kind: Node, apiVersion: v1, metadata: {name: a, labels: {host: a}},
   status: {capacity: {cpu: "4", memory: 8Gi}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
- {kind: Node, apiVersion: v1, metadata: {name: b, labels: {host: b}},
   status: {capacity: {cpu: "4", memory: 8Gi}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
- {kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: fast}, provisioner: fast.example.com,
   volumeBindingMode: WaitForFirstConsumer}
- {kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: fast.example.com},
   spec: {storageCapacity: true, preventPodSchedulingIfMissing: PREVENT}}
- {kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {name: b},
   spec: {drivers: [{name: fast.example.com, nodeID: b}]}}
- {kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {name: a, namespace: d}, storageClassName: fast,
   capacity: 100Gi, nodeTopology: {matchLabels: {host: a}}}
- {kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {name: b, namespace: d}, storageClassName: fast,
   capacity: 20Gi, nodeTopology: {matchLabels: {host: b}}}
- {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: data, namespace: default},
   spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}
- {kind: Pod, apiVersion: v1, metadata: {name: db, namespace: default},
   spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}],
          volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending}}
- {kind: Pod, apiVersion: v1, metadata: {name: plain, namespace: default, uid: u1},
   spec: {nodeName: NODE, RESOURCES containers: [{name: c, image: i,
          resources: {requests: {cpu: 100m, memory: 50Mi}, limits: {memory: 100Mi}}}]}, status: {phase: Running}}
"""


def objects(prevent: str = "false", resources: str = "", node: str = "a") -> str:
    return OBJECTS.replace("PREVENT", prevent).replace("RESOURCES", resources).replace("NODE", node)


def found(text: str, before: str = "1.36", after: str = "1.37", **settings: object) -> list[ReleaseChange]:
    kubelet = KubeletSettings(**settings)  # type: ignore[arg-type]
    return Dump.read(text).changes(Release(before), Release(after), kubelet)


def of_kind(changes: list[ReleaseChange], kind: str) -> list[ReleaseChange]:
    return [one for one in changes if one.kind == kind]


def test_a_claim_goes_where_more_storage_is_free() -> None:
    (one,) = of_kind(found(objects()), "placement")
    assert (one.about, one.before, one.after) == (
        "pod default/db",
        "the pod goes to b",
        "the pod goes to a",
    )
    assert one.gates == ("StorageCapacityScoring",)


def test_a_node_without_the_driver_no_longer_fits() -> None:
    (one,) = of_kind(found(objects(prevent="true")), "nodes that fit")
    assert (one.before, one.after) == ("a, b", "b") and "VolumeLimitScaling" in one.gates


def test_empty_pod_level_resources_change_the_class_and_move_the_cgroup() -> None:
    changes = found(objects(resources="resources: {},"))
    (qos,) = of_kind(changes, "QoS class")
    assert (qos.before, qos.after, qos.source) == ("BestEffort", "Burstable", "kubernetes/kubernetes #137150")
    moved = next(one for one in of_kind(changes, "cgroup") if "pod default/plain" in one.about)
    assert (moved.before, moved.after) == ("/kubepods/besteffort/podu1", "/kubepods/burstable/podu1")


def test_memory_high_is_no_longer_written_by_default() -> None:
    changes = of_kind(found(objects(), feature_gates={"MemoryQoS": True}), "cgroup")
    (high,) = [one for one in changes if one.about.endswith("/memory.high")]
    assert high.after == "not written" and int(high.before) == (50 + 45) * 2**20
    assert high.gates == ("memoryThrottlingFactor",)
    kept = found(objects(), feature_gates={"MemoryQoS": True}, memory_throttling_factor=0.9)
    assert [one for one in of_kind(kept, "cgroup") if one.about.endswith("/memory.high")] == []
    assert [one.about for one in of_kind(kept, "default")] == ["deviceTaintRuleVersions", "nodeDeclaredFeatures"]


def test_gates_that_change_none_of_the_objects_are_listed() -> None:
    listed = {one.about: one for one in of_kind(found(objects()), "gate")}
    assert (listed["MemoryQoS"].before, listed["MemoryQoS"].after) == ("Alpha, off", "Beta, on")
    assert "StorageCapacityScoring" not in listed
    assert listed["KubeletInUserNamespace"].source.startswith("not followed: ")


def test_the_command_says_it_in_words_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dump.yaml"
    file.write_text(objects())
    assert cli.main(["explain", "--from", "1.36", "--to", "1.37", "-f", str(file)]) == 1
    text = capsys.readouterr().out
    assert "pod default/db: the pod goes to b → the pod goes to a (the feature gate StorageCapacityScoring" in text
    assert cli.main(["explain", "--from", "1.36", "-f", str(file), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["from"], answer["to"]) == ("1.36", "1.37")
    assert {one["kind"] for one in answer["changes"]} == {"placement", "default", "gate"}

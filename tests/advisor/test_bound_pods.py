"""The stages of a pod that has a node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advisor.dumps import asked, dump, node, pod, some, words


@pytest.mark.parametrize(
    "reason", ["OutOfcpu", "NodeAffinity", "NodePorts", "TaintToleration", "TopologyAffinityError"]
)
def test_a_refused_pod_is_held_at_the_admission(reason: str) -> None:
    failed = pod("p", on="n1", status={"phase": "Failed", "reason": reason, "message": "Pod was rejected: why"})
    answer = asked(dump(node("n1"), failed), "p")
    assert (answer.stage, answer.exit_code) == ("admission", 1)
    assert answer.held is not None and answer.held.said_by == "the kubelet of n1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"container": {"ports": [{"containerPort": 1, "hostPort": 80}]}}, "NodePorts"),
        ({"cpu": "9"}, "OutOfcpu: 9 asked, 3 of 4 left on n1"),
        ({"spec": {"nodeSelector": {"a": "b"}}}, "NodeAffinity"),
        ({"spec": {"os": {"name": "windows"}}}, "PodOSNotSupported"),
    ],
)
def test_the_kubelets_refusal_of_a_pod_that_names_its_node_is_computed(more: dict[str, Any], said: str) -> None:
    """rancher/rancher#14048: a pod with spec.nodeName never passes the scheduler."""
    holder = pod("a", on="n1", container={"ports": [{"containerPort": 1, "hostPort": 80}]})
    new = pod("b", on="n1", status={"phase": "Pending"}, **more)
    new["spec"]["nodeName"] = "n1"
    answer = asked(dump(node("n1"), holder, new), "b")
    assert answer.stage == "admission" and said in words(answer)


def test_a_deferred_resize_is_told_with_its_numbers() -> None:
    waiting = {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "Node didn't have room"}
    one = pod("a", cpu="3", on="n1", status={"conditions": [waiting], "phase": "Running"})
    answer = asked(dump(node("n1"), one, pod("b", cpu="2", on="n1")), "a")
    assert (answer.stage, answer.exit_code) == ("resize", 1)
    assert "cpu: 3 asked, 2 of 4 left" in words(answer)


def test_a_volume_that_is_not_attached_is_told_in_the_attachers_words() -> None:
    objects = some("""
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
  spec: {volumeName: pv1, accessModes: [ReadWriteOnce]}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: pv1}
  spec: {csi: {driver: ebs, volumeHandle: x}}
- apiVersion: storage.k8s.io/v1
  kind: VolumeAttachment
  metadata: {name: va}
  spec: {attacher: ebs, nodeName: n1, source: {persistentVolumeName: pv1}}
  status: {attached: false, attachError: {message: volume is in use, time: "2026-08-01T10:00:00Z"}}
""")
    claimed = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}], "nodeName": "n1"}
    one = pod("p", on="n1", spec=claimed, status={"phase": "Pending"})
    answer = asked(dump(node("n1"), one, *objects), "p")
    assert answer.stage == "volumes" and answer.held is not None
    said = "ebs said at 2026-08-01 10:00 UTC: volume pv1 is not attached to n1: volume is in use"
    assert str(answer.held) == said


def test_an_image_that_cannot_be_pulled_is_the_stage_start() -> None:
    state = {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}}}
    one = pod("p", on="n1", status={"phase": "Pending", "containerStatuses": [state]})
    assert asked(dump(node("n1"), one), "p").stage == "start"


def test_a_pod_that_runs_is_held_by_nothing() -> None:
    answer = asked(dump(node("n1"), pod("p", on="n1")), "p")
    assert (answer.verdict, answer.stage, answer.exit_code) == ("runs", "", 0)


def test_a_pod_that_was_just_bound_is_not_said_to_be_refused() -> None:
    one = pod("p", on="n1", status={"phase": "Pending"})
    answer = asked(dump(node("n1"), one), "p")
    assert answer.verdict == "runs" and "no container is reported yet" in words(answer)


def status_of(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "image": "i", "state": state, "restartCount": 9, **more}]}


def test_a_container_of_a_running_pod_that_waits_holds_it() -> None:
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    waits = status_of({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}, lastState=ended)
    answer = asked(dump(node("n1"), pod("p", on="n1", status=waits)), "p")
    assert (answer.stage, answer.exit_code) == ("start", 1)
    assert "CrashLoopBackOff: back-off 5m0s; it ended last with OOMKilled, exit code 137, after 9 restarts" in words(
        answer
    )


def test_a_running_pod_that_is_not_ready_is_noted() -> None:
    ready = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate x does not exist"}
    status = {"conditions": [ready], **status_of({"running": {}})}
    answer = asked(dump(node("n1"), pod("p", on="n1", status=status)), "p")
    assert answer.exit_code == 0 and "it is not Ready, ReadinessGatesNotReady: gate x does not exist" in words(answer)


@pytest.mark.parametrize(
    ("reason", "stage"),
    [("FailedMount", "volumes"), ("FailedAttachVolume", "volumes"), ("FailedCreatePodSandBox", "start"), ("Odd", "")],
)
def test_a_warning_before_the_start_tells_its_stage(reason: str, stage: str) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": reason,
        "message": "it does not work",
        "type": "Warning",
        "lastTimestamp": "2026-08-01T10:10:00Z",
        "source": {"component": "kubelet"},
    }
    creating = {"phase": "Pending", **status_of({"waiting": {"reason": "ContainerCreating"}})}
    answer = asked(dump(node("n1"), pod("p", on="n1", status=creating), event), "p")
    assert (answer.stage, answer.exit_code) == (stage, int(bool(stage)))
    said = f"the kubelet of n1 said at 2026-08-01 10:10 UTC: {reason}: it does not work"
    assert (said in words(answer)) is bool(stage)

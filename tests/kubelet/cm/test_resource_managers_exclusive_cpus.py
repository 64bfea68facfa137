"""Exclusive CPUs and devices on a simulated node: document 003's four moments, admission, what the process sees."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster

STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0"]


def guaranteed(name: str, cpu: str, **more: str) -> dict[str, Any]:
    limits = {"cpu": cpu, "memory": "64Mi", **more}
    container = {"name": "app", "image": "busybox", "command": ["sleep", "1000"], "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_the_four_moments_of_document_003() -> None:
    machine = {"name": "n", "topology": {"sockets": 2, "numa": 2, "cores": 8}, "memory": "64Gi", "kubelet": STATIC}
    with Cluster.simulated([machine]) as cluster:
        node = cluster.node("n")
        cluster.apply(guaranteed("earlier", "12"))
        cluster.apply(guaranteed("pod-1", "500m"))
        assert node.proc("pod-1")["Cpus_allowed_list"] == "0,7-32,39-63"
        cluster.advance(12)
        cluster.apply(guaranteed("pod-2", "16"))
        assert node.proc("pod-2")["Cpus_allowed_list"] == "8-15,40-47"
        cluster.advance(7)
        assert node.proc("pod-1")["Cpus_allowed_list"] == "0,7-32,39-63", "both may run on pod-2's CPUs until the tick"
        cluster.advance(1)
        assert node.proc("pod-1")["Cpus_allowed_list"] == "0,7,16-32,39,48-63"
        moments = [(e.time, e.action, e.about, e.detail) for e in node.kubelet.timeline.of("cpumanager")][-5:]
        assert moments == [
            (0, "creating container on", "pod-1/app", "0,7-32,39-63"),
            (10, "updating container", "pod-1/app", "0,7-32,39-63"),
            (12, "allocating CPUs to", "pod-2/app", "8-15,40-47"),
            (12, "creating container on", "pod-2/app", "8-15,40-47"),
            (20, "updating container", "pod-1/app", "0,7,16-32,39,48-63"),
        ]
        assert not node.differences()
        cluster.delete("Pod", "pod-2")
        assert node.proc("pod-1")["Cpus_allowed_list"] == "0,7,16-32,39,48-63"
        cluster.advance(40)  # its process does not hear SIGTERM, which takes the grace period; then comes a tick
        assert node.proc("pod-1")["Cpus_allowed_list"] == "0,7-32,39-63"


def test_exclusive_cpus_hold_on_cgroup_v1_too() -> None:
    with Cluster.simulated([{"cpus": 4, "kubelet": STATIC, "cgroup_version": 1}]) as cluster:
        node = cluster.node("node-1")
        cluster.apply(guaranteed("a", "500m"))
        cluster.apply(guaranteed("b", "2"))
        cluster.advance(10)
        assert node.proc("a")["Cpus_allowed_list"] == "0,3"
        assert node.proc("b")["Cpus_allowed_list"] == "1-2"
        assert not node.differences()


def test_a_pod_that_asks_for_half_a_core_fails_at_admission_with_the_kubelets_reason() -> None:
    flags = [*STATIC, "--cpu-manager-policy-options=full-pcpus-only=true"]
    with Cluster.simulated([{"topology": {"cores": 4}, "kubelet": flags}]) as cluster:
        cluster.apply(guaranteed("odd", "3"))
        status = cluster.get("Pod", "odd").status
        assert (status.phase, status.reason) == ("Failed", "SMTAlignmentError")
        assert status.message == (
            "Pod was rejected: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
        )


def test_a_device_goes_from_the_manifest_to_the_environment_and_back() -> None:
    with Cluster.simulated([{"devices": {"example.com/gpu": {"gpu-0": 0}}}]) as cluster:
        node = cluster.node("node-1")
        cluster.apply(guaranteed("train", "1", **{"example.com/gpu": "1"}))
        assert "EXAMPLE_COM_GPU=gpu-0\n" in node.proc("train")["environ"]
        cluster.apply(guaranteed("next", "1", **{"example.com/gpu": "1"}))
        assert cluster.get("Pod", "next").status.phase == "Pending"
        cluster.delete("Pod", "train")
        cluster.advance(60)
        assert "EXAMPLE_COM_GPU=gpu-0\n" in node.proc("next")["environ"]

"""Exclusive CPUs and devices on the real kernel: what the process may run on, and what it is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import end, pod

STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0"]


def test_exclusive_cpus_are_seen_by_the_process_and_leave_the_others(start: Callable[..., DockerCluster]) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.fail("exclusive CPUs need two processors")
    cluster = start(1, cpus=2, kubelet=STATIC)
    node = cluster.node()
    cluster.apply(pod(name="shares", requests={"cpu": "100m"}))
    cluster.wait(lambda c: c.pod("shares").status.phase == "Running", 15)
    assert node.proc("shares")["Cpus_allowed_list"] == "0-1"
    end(cluster, cluster.pod("shares"))
    cluster.apply(pod(name="free"))
    cluster.apply(pod(name="owns", limits={"cpu": "1", "memory": "64Mi"}))
    cluster.wait(lambda c: c.pod("owns").status.phase == c.pod("free").status.phase == "Running", 15)
    assert node.proc("owns")["Cpus_allowed_list"] == "1"
    cluster.wait(lambda c: node.proc("free")["Cpus_allowed_list"] == "0", 15)  # at the CPU manager's next tick
    assert not node.differences()
    owners = json.loads(json.loads(node.checkpoint())["data"])["entries"]
    assert owners == {cluster.pod("owns").metadata.uid: {"c": "1"}}
    cluster.delete("Pod", "owns")
    cluster.wait(lambda c: node.proc("free")["Cpus_allowed_list"] == "0-1", 15)


def test_a_device_is_named_in_the_environment(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, devices={"example.com/gpu": {"gpu-7": None}})
    says = pod("echo has $EXAMPLE_COM_GPU; sleep 1000", name="train", limits={"example.com/gpu": "1"})
    cluster.apply(says)
    cluster.wait(lambda c: "has" in c.node().logs("train"), 15)
    assert cluster.node().logs("train").strip() == "has gpu-7"


def test_the_containers_of_a_pod_with_resources_of_its_own_share_its_cpus(start: Callable[..., DockerCluster]) -> None:
    flags = [*STATIC, "--topology-manager-policy=restricted", "--topology-manager-scope=pod"]
    cluster = start(1, cpus=2, kubelet=[*flags, "--feature-gates=PodLevelResourceManagers=true"])
    made = pod(name="pair")
    total = {"cpu": "1", "memory": "64Mi"}
    made["spec"]["resources"] = {"limits": total, "requests": total}
    made["spec"]["containers"].append({**made["spec"]["containers"][0], "name": "d"})
    cluster.apply([made, pod(name="free")])
    cluster.wait(lambda c: c.pod("pair").status.phase == c.pod("free").status.phase == "Running", 15)
    node = cluster.node()
    assert [node.proc("pair", name)["Cpus_allowed_list"] for name in "cd"] == ["1", "1"]
    cluster.wait(lambda c: node.proc("free")["Cpus_allowed_list"] == "0", 15)
    assert not node.differences()


def test_images_and_a_disk_that_are_declared_are_said_not_to_be_there(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, ephemeral_storage="2Gi", images={"nginx": "200Mi"})
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: c.pod("a").status.phase == "Running", 15)
    assert any("nothing of them can be collected as garbage" in text for text in cluster.node().fidelity)

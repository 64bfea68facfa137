"""Exclusive CPUs and devices on the real kernel: what the process may run on, and what it is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from kitlib.cluster.docker import DockerCluster
from tests.engine.helpers import pod

STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0"]


def test_exclusive_cpus_are_seen_by_the_process_and_leave_the_others(start: Callable[..., DockerCluster]) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.fail("exclusive CPUs need two processors")
    cluster = start(1, cpus=2, kubelet=STATIC)
    node = cluster.node()
    cluster.apply(pod(name="shares", requests={"cpu": "100m"}))
    cluster.wait(lambda c: c.pod("shares").status.phase == "Running", 15)
    assert node.proc("shares")["Cpus_allowed_list"] == "0-1"
    cluster.delete("Pod", "shares")
    cluster.apply(pod(name="free"))
    cluster.apply(pod(name="owns", limits={"cpu": "1", "memory": "64Mi"}))
    cluster.wait(lambda c: c.pod("owns").status.phase == c.pod("free").status.phase == "Running", 15)
    assert node.proc("owns")["Cpus_allowed_list"] == "1"
    assert node.proc("free")["Cpus_allowed_list"] == "0"
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

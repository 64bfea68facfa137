"""The kernel's files show what the kubelet wants: for the worked example, random pods and after every change."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.kubelet.cm.cgroup_tree import controller_of
from tests.engine.helpers import end, pod

RANDOM_PODS = int(os.environ.get("KITLIB_RANDOM_PODS", "40"))
AT_ONCE = min(50, RANDOM_PODS)
WORKED = {
    "guaranteed": ({"cpu": "500m", "memory": "128Mi"}, {"cpu": "500m", "memory": "128Mi"}),
    "burstable": ({"cpu": "250m", "memory": "64Mi"}, {"cpu": "500m", "memory": "256Mi"}),
    "besteffort": ({}, {}),
}


@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_the_worked_example_stands_in_the_kernel_file_by_file(start: Callable[..., DockerCluster], driver: str) -> None:
    cluster = start(1, kubelet=[f"--cgroup-driver={driver}", "--kube-reserved=cpu=100m,memory=100Mi"])
    for name, (requests, limits) in WORKED.items():
        cluster.apply(pod(name=name, requests=requests, limits=limits))
    node = cluster.node()
    assert [str(d) for d in node.differences()] == []
    tree = node.tree()
    assert sum(c.kind == "container" for c in tree.values()) == 3
    assert sum(len(c) for c in tree.values()) >= 25
    v1 = node.cgroupfs.version == 1
    written = {c.pod: c for c in tree.of_kind("pod")}
    if v1:
        assert written["default/guaranteed"]["cpu.shares"].value == "512"
        assert written["default/guaranteed"]["cpu.cfs_quota_us"].value == "50000"
        assert written["default/burstable"]["memory.limit_in_bytes"].value == str(256 * 2**20)
    else:
        assert 17 <= int(written["default/guaranteed"]["cpu.weight"].value) <= 70  # by release: 20 or 59
        assert written["default/guaranteed"]["cpu.max"].value == "50000 100000"
        assert written["default/burstable"]["memory.max"].value == str(256 * 2**20)


def random_pod(dice: random.Random, number: int) -> dict[str, Any]:
    containers = []
    for index in range(dice.choice((1, 1, 1, 2, 3))):
        requests, limits = {}, {}
        for name, unit, most in (("cpu", "m", 40), ("memory", "Mi", 24)):
            kind = dice.choice(("none", "request", "limit", "both"))
            amount = dice.randint(8 if unit == "Mi" else 1, most)
            if kind in ("request", "both"):
                requests[name] = f"{amount}{unit}"
            if kind in ("limit", "both"):
                limits[name] = f"{amount + dice.randint(0, most)}{unit}"
        resources = {"requests": requests, "limits": limits}
        container = {"name": f"c{index}", "image": "x", "command": ["sleep", "9999"], "resources": resources}
        containers.append(container)
    spec = {"containers": containers, "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"r{number}"}, "spec": spec}


def test_random_pods_stand_as_wanted_and_leave_nothing(start: Callable[..., DockerCluster]) -> None:
    dice = random.Random(20261121)
    cluster = start(1, memory="16Gi", cpus=32)
    node = cluster.node()
    before = sorted(node.tree())
    for round_number in range(RANDOM_PODS // AT_ONCE):
        for number in range(AT_ONCE):
            cluster.apply(random_pod(dice, round_number * AT_ONCE + number))
        cluster.wait(lambda c: {p.status.phase for p in c.pods()} == {"Running"}, 30)
        assert [str(d) for d in node.differences()] == []
        for one in cluster.pods():
            cluster.delete(one, grace=0)
        cluster.wait(lambda c: not c.pods())
    cluster.wait(lambda c: sorted(node.tree()) == before, 10)  # killed at once; when all is gone is the kernel's affair
    assert [str(d) for d in node.differences()] == []


def test_a_resize_in_place_changes_the_files_of_the_running_container(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    cluster.apply(
        pod(name="web", requests={"cpu": "250m", "memory": "64Mi"}, limits={"cpu": "500m", "memory": "128Mi"})
    )
    node = cluster.node()
    pid = node.process("web").pid
    cluster.resize("web", {"c": {"requests": {"cpu": "300m"}, "limits": {"cpu": "800m"}}})
    path = next(c.path for c in node.desired().values() if c.kind == "container")
    if node.cgroupfs.version == 1:
        assert node.read(path, "cpu.cfs_quota_us") == "80000"
    else:
        assert node.read(path, "cpu.max") == "80000 100000"
    assert node.process("web").pid == pid
    assert [str(d) for d in node.differences()] == []


def test_a_file_written_by_hand_is_seen_and_the_kernels_refusal_is_told(shared: DockerCluster) -> None:
    node = shared.node()
    name = shared.apply(pod(limits={"cpu": "500m", "memory": "64Mi"}))[0].name
    path = next(c.path for c in node.desired().of_pod(shared.pod(name).metadata.uid) if c.kind == "pod")
    file, value = ("cpu.shares", "2048") if node.cgroupfs.version == 1 else ("cpu.weight", "77")
    node.write(path, file, value)
    assert [(d.path, d.file) for d in node.differences()] == [(path, file)]
    with pytest.raises(KitError, match="Invalid argument"):
        node.write(path, file, "many")
    with pytest.raises(KitError, match="not a file in the cgroup tree of this node"):
        node.read("/../..", file)
    end(shared, shared.pod(name))


def test_a_class_cgroup_changed_by_hand_is_written_again_when_a_pod_comes(shared: DockerCluster) -> None:
    node = shared.node()
    path = next(c.path for c in node.desired().of_kind("qos") if c.qos == "Burstable")
    file, value = ("cpu.shares", "4096") if node.cgroupfs.version == 1 else ("cpu.weight", "99")
    node.write(path, file, value)
    assert node.read(path, file) == value
    name = shared.apply(pod(requests={"cpu": "100m"}))[0].name
    assert [str(d) for d in node.differences()] == []
    end(shared, shared.pod(name))


def test_cgroups_that_belong_to_no_pod_are_removed(shared: DockerCluster) -> None:
    node = shared.node()
    kubepods = next(c.path for c in node.desired().of_kind("kubepods"))
    stray = f"{kubepods}/podaaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
    node.cgroupfs.makedirs(f"{stray}/inner")
    assert node.cgroupfs.exists(stray)
    shared.wait(lambda c: not node.cgroupfs.exists(stray), 10)


def test_watched_files_become_a_frame(shared: DockerCluster) -> None:
    pandas = pytest.importorskip("pandas")
    node = shared.node()
    kubepods = next(c.path for c in node.desired().of_kind("kubepods"))
    file = "memory.usage_in_bytes" if node.cgroupfs.version == 1 else "memory.current"
    assert controller_of(file) == "memory"
    with node.watch([(kubepods, file), (kubepods, "pids.current"), (kubepods, "memory.not_there")], hz=50) as watch:
        shared.wait(lambda c: len(watch.samples) >= 20, 10)
    frame = watch.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape[1] == 3
    assert frame[f"{kubepods}/{file}"].notna().all()
    assert frame[f"{kubepods}/memory.not_there"].isna().all()
    assert frame.index.is_monotonic_increasing and frame.index.is_unique
    assert len(frame) <= (frame.index[-1] - frame.index[0]) * 50 + 2, "more often than asked"
    with pytest.raises(KitError, match="Hz"):
        node.watch([(kubepods, file)], hz=500)

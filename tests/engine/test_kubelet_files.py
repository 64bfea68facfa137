"""A real node like an observed one (its machine, settings, pods) shows the files that the real kubelet's node showed.

The cases are those of `kitlib conformance` (tests/vectors, kubelet_files) of the kernel's cgroup version whose pods all
ran and for which the node needs no controller that it may lack; every file is compared that the kit's kubelet writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.conformance.runner import read_cases
from tests.conformance.test_vectors import VECTORS

CASES = [case for _, case in read_cases(VECTORS / "kubelet_files.jsonl.gz")]
OF_THE_MACHINE = {("kubepods", "pids.max")}
"""The lesser of pid_max and threads-max, less what is reserved: another number on every machine."""


def usable(case: Mapping[str, Any]) -> bool:
    """Whether any node can follow it: cgroupfs, no processors of one's own, no cgroups that an administrator made."""
    settings = case["kubeletConfiguration"]
    plain = case["driver"] == "cgroupfs" and settings["cpuManagerPolicy"] == "none"
    own = settings["enforceNodeAllocatable"] == ["pods"]
    return plain and own and all(status["phase"] == "Running" for status in case["statuses"].values())


def manifest(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A static pod's manifest as a user would apply it."""
    spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "priority", "hostNetwork")}
    for kind in ("initContainers", "containers"):
        some = [one | {"image": "x", "command": _command(one["command"])} for one in spec.get(kind, ())]
        spec |= {kind: some} if some else {}
    meta = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _command(words: list[str]) -> list[str]:
    return ["true"] if words[1:2] == ["true"] else ["sleep", "9999"]


def observed(case: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, str]]:
    """What the case's node showed: of (pod, container) their cgroups' files, of ("", path) those above pods."""
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    uids = {pod["metadata"]["uid"]: f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in case["pods"]}
    ids = {
        one["containerID"].rpartition("/")[2]: (key, one["name"])
        for key, status in case["statuses"].items()
        for kind in ("initContainerStatuses", "containerStatuses")
        for one in status.get(kind, ())
        if one.get("containerID")
    }
    for path, files in case["observed"].items():
        leaf = path.rpartition("/")[2]
        uid = next((uid for uid in uids if uid in path), None)
        if leaf in ids:
            found[ids[leaf]] = files
        elif uid is not None and leaf.endswith(uid):
            found[uids[uid], ""] = files
        elif uid is None:
            found["", path] = files
    return found


@pytest.mark.parametrize("case", [case for case in CASES if usable(case)], ids=lambda case: case["case"])
def test_a_real_node_shows_what_the_real_kubelets_node_showed(
    start: Callable[..., DockerCluster], case: dict[str, Any]
) -> None:
    machine = case["machine"]
    settings = {**case["kubeletConfiguration"], "failSwapOn": False}
    memory = str(machine["memory"])
    cluster = start(1, cpus=machine["cpus"], memory=memory, ephemeral_storage="1Ti", kubelet=settings)
    node = cluster.node()
    if node.cgroupfs.version != case["cgroupVersion"]:
        return  # the other boot follows it
    for pod in case["pods"]:
        cluster.apply(manifest(pod))
    cluster.wait(lambda c: {pod.status.phase for pod in c.pods()} == {"Running"}, 60)
    wanted, there = observed(case), node.desired()
    expected, found = {}, {}
    for cgroup in there.values():
        key = (cgroup.pod, cgroup.container) if cgroup.kind in ("pod", "container") else ("", cgroup.path.lstrip("/"))
        files = wanted.get(key) or wanted.get(("", cgroup.path)) or {}
        for file in cgroup.values():
            if not file.written or file.name not in files or (cgroup.kind, file.name) in OF_THE_MACHINE:
                continue
            try:
                found[*key, file.name] = node.read(cgroup.path, file.name)
            except KitError:
                continue  # the kernel has no such controller: reported as not granted
            expected[*key, file.name] = files[file.name]
    pods, containers = len(case["pods"]), sum(len(pod["spec"]["containers"]) for pod in case["pods"])
    assert len({key[:2] for key in expected}) >= pods + containers
    wrong = {k: (v, found[k]) for k, v in expected.items() if found[k] != v}
    assert wrong == {}, str(wrong)

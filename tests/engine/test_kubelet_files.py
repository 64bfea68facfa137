"""A real node like an observed one (its machine, settings, pods) shows the files that the real kubelet's node showed.

The cases are those of `kitlib conformance` (tests/vectors, kubelet_files) of this kernel's cgroup version; every file
is compared that the kit's kubelet writes and whose controller the kernel has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.conformance.runner import read_cases
from tests.conformance.test_vectors import VECTORS

VERSION = 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1
CASES = [case for _, case in read_cases(VECTORS / "kubelet_files.jsonl.gz") if case["cgroupVersion"] == VERSION]
NODE = "node-1"
OF_THE_MACHINE = {("kubepods", "pids.max"), ("container", "pids.max")}
"""The lesser of pid_max and threads-max, less what is reserved; systemd's TasksMax: other numbers on every machine."""
WITHIN = "/container"
"""Where newer versions of crun write what others write into the scope itself, which has systemd's rounded values."""
REJECTED = "within a minute of a pod's rejection"
"""A case's limitation: its class of pods still counted those that the kubelet had just refused."""


def manifest(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A static pod's manifest as a user would apply it, past the scheduler: its kubelet decides."""
    spec = {key: value for key, value in pod["spec"].items() if key not in ("priority", "hostNetwork")}
    spec["nodeName"] = NODE
    for kind in ("initContainers", "containers"):
        some = [one | {"image": "x", "command": _command(one["command"])} for one in spec.get(kind, ())]
        spec |= {kind: some} if some else {}
    meta = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _command(words: list[str]) -> list[str]:
    return ["true"] if words[1:2] == ["true"] else ["sleep", "9999"]


Files = dict[tuple[str, str], Mapping[str, str]]


def observed(case: Mapping[str, Any]) -> tuple[Files, Files]:
    """What the case's node showed: of (pod, container) their cgroups' files, of ("", path) those above pods.

    And of (pod, container) the files of the cgroup within the container's.
    """
    found: Files = {}
    within: Files = {}
    names = {_key(pod): pod["metadata"]["uid"] for pod in case["pods"]}
    systemd = case["driver"] == "systemd"
    uids = {f"-pod{uid.replace('-', '_')}.slice" if systemd else f"pod{uid}": name for name, uid in names.items()}
    ids = {
        (f"cri-containerd-{identity}.scope" if systemd else identity): (key, one["name"])
        for key, status in case["statuses"].items()
        for kind in ("initContainerStatuses", "containerStatuses")
        for one in status.get(kind, ())
        if (identity := one.get("containerID", "").rpartition("/")[2])
    }
    for path, files in case["observed"].items():
        leaf = path.rpartition("/")[2]
        ending = next((ending for ending in uids if ending in path), None)
        if leaf in ids:
            found[ids[leaf]] = files
            within[ids[leaf]] = case["observed"].get(path + WITHIN, {})
        elif ending is not None and leaf.endswith(ending):
            found[uids[ending], ""] = files
        elif ending is None:
            found["", path] = files
    return found, within


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_real_node_shows_what_the_real_kubelets_node_showed(
    start: Callable[..., DockerCluster], case: dict[str, Any]
) -> None:
    machine = case["machine"]
    settings = {**case["kubeletConfiguration"], "failSwapOn": False}
    made = [settings[key] for key in ("systemReservedCgroup", "kubeReservedCgroup") if settings.get(key)]
    memory = str(machine["memory"])
    cluster = start(
        1, release="1.36", cpus=machine["cpus"], memory=memory, ephemeral_storage="1Ti", kubelet=settings, cgroups=made
    )
    node = cluster.node(NODE)
    assert node.cgroupfs.version == VERSION
    phases = {key: status["phase"] for key, status in case["statuses"].items()}
    # those that the observed kubelet admitted before the others were too many
    for pod in sorted(case["pods"], key=lambda one: phases[_key(one)] == "Failed"):
        cluster.apply(manifest(pod))
    cluster.wait(lambda c: {f"{pod.namespace}/{pod.name}": pod.status.phase for pod in c.pods()} == phases, 60)
    # running containers of the shared pool get its CPUs at the CPU manager's next tick (cpumanager.reconcileState)
    cluster.wait(lambda c: not wrong_files(case, node)[0], 30)
    wrong, compared = wrong_files(case, node)
    running = [pod for pod in case["pods"] if phases[_key(pod)] == "Running"]
    containers = sum(len(pod["spec"]["containers"]) for pod in running)
    assert len({key[:2] for key in compared}) >= len(running) + containers + 3 + len(made)
    assert wrong == {}, str(wrong)


def wrong_files(case: Mapping[str, Any], node: Any) -> tuple[dict[Any, Any], set[Any]]:
    """Return (pod, container or path, file) -> (expected, found) where they differ, and all that was compared."""
    early = any(REJECTED in text for text in case["limitations"])
    wanted, within, there = *observed(case), node.desired()
    expected, found = {}, {}
    for cgroup in there.values():
        key = (cgroup.pod, cgroup.container) if cgroup.kind in ("pod", "container") else ("", cgroup.path)
        files = wanted.get(key) or {}
        for file in cgroup.values():
            if not file.written or file.name not in files or (cgroup.kind, file.name) in OF_THE_MACHINE:
                continue
            if early and cgroup.path.endswith("burstable") and file.name == "cpu.shares":
                continue
            try:
                found[*key, file.name] = node.read(cgroup.path, file.name)
            except KitError:
                continue  # the kernel has no such controller: reported as not granted
            inner = within.get(key, {}).get(file.name)
            expected[*key, file.name] = inner if inner == found[*key, file.name] else files[file.name]
    return {k: (v, found[k]) for k, v in expected.items() if found[k] != v}, set(expected)


def _key(pod: Mapping[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"

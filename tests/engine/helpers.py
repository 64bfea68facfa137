"""Pods for the tests of real nodes, and what they use and say."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient
from docker.errors import APIError

from kitlib.api.errors import KitError
from kitlib.cluster import engine_answers
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.nodes.container import ContainerNode
from kitlib.node.real import container, engine, host

SLOW = float(os.environ.get("KITLIB_SLOW", "1"))
"""How many times longer everything may take: 10 in an emulated machine."""
ROOT = Path(__file__).parents[2]


def outside(**more: str) -> dict[str, str]:
    """The environment of another Python process that is to find the kit, and what it needs, where this one does."""
    standing = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *([standing] if standing else [])]), **more}


def needed() -> str:
    """Which engine answers; without one the test is skipped, or fails where KITLIB_REQUIRE names docker."""
    answers, why = engine_answers()
    if not answers:
        if "docker" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail(f"KITLIB_REQUIRE names docker: {why}")
        pytest.skip(why)
    return why


def until_it_answers(its: Any, process: subprocess.Popen[bytes], log: Path, seconds: float, words: str) -> None:
    """Wait for an engine of the test's own; where it has ended or takes too long, fail with what it logged.

    Args:
        its: opens a client of it.
        process: that serves.
        words: what there is none of then.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            its().close()
            return
        except KitError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{words}: {log.read_text()[-1500:]}")
            time.sleep(0.1)


def freeze(client: DockerClient, identity: str, seconds: float = 60) -> None:
    """Pause a container, as `docker pause` repeated until the engine takes it.

    On cgroup v1 runc tries for a fifth of a second and gives up while one process of the container waits without
    being interruptible (for a disk, for memory), as happens on a machine under load; it leaves the container thawed.
    Source: runc, libcontainer/cgroups/fs/freezer.go.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.api.pause(identity)
            return
        except APIError as error:
            if "unable to freeze" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
)
"""By number, as capability.h counts them."""


def is_podman() -> bool:
    """Whether the engine is Podman."""
    client, endpoint = engine.reach()
    try:
        return host.host_of(client, endpoint).name == "Podman"
    finally:
        client.close()


def kill(identity: str) -> None:
    """Kill a container that runs.

    Podman's `KillContainer` waits for the end, and answers 500 where the container, which is to be removed at its
    end, has been removed before it looked: then it was killed.
    """
    client = engine.connect()
    try:
        assert client.api.inspect_container(identity)["State"]["Running"]
        client.api.kill(identity)
    except APIError:
        if container.exists(client, identity):
            raise
    finally:
        client.close()


def granted(inspected: Mapping[str, Any]) -> set[str]:
    """The capabilities that a container of this machine can ever have: what its engine really did, not what it says."""
    status = Path(f"/proc/{inspected['State']['Pid']}/status").read_text()
    bounding = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd")), 16)
    return {name for number, name in enumerate(CAPABILITIES) if bounding >> number & 1}


def pod(
    command: str | list[str] = "sleep 1000",
    *,
    name: str = "",
    workload: str = "",
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod of one container `c` that goes at once when it is deleted."""
    words = ["sh", "-c", command] if isinstance(command, str) else command
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    notes = {"kitlib.dev/workload.c": workload} if workload else {}
    meta = {"name": name or f"p-{uuid.uuid4().hex[:8]}", "annotations": notes}
    container: dict[str, Any] = {"name": "c", "image": "busybox", "resources": resources}
    if not workload:
        container["command"] = words
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def end(cluster: Any, *pods: Any) -> None:
    """Delete pods without a grace period and wait until their cgroups are gone.

    Containers have two seconds between SIGTERM and SIGKILL, in which the pods are no longer in the API.
    """
    uids = [one.metadata.uid for one in pods]
    names = [name for uid in uids for name in (uid, uid.replace("-", "_"))]  # systemd's slices have no dashes
    for one in pods:
        cluster.delete("Pod", one.name, one.namespace, grace=0)
    cluster.wait(lambda c: not {one.metadata.uid for one in c.pods()} & set(uids))
    cluster.wait(lambda c: not any(name in path for path in c.node().tree() for name in names), 30)


def deployment(replicas: int, spec: dict[str, Any]) -> dict[str, Any]:
    """A Deployment `web` of pods with this spec."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    wanted = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": wanted}


def cpu_seconds(cluster: DockerCluster, name: str) -> float:
    """CPU time that a pod has used."""
    node = cluster.node(cluster.pod(name).spec.node_name)
    path = next(c.path for c in node.desired().of_pod(cluster.pod(name).metadata.uid) if c.kind == "pod")
    return used_seconds(node, path)


def used_seconds(node: ContainerNode, path: str) -> float:
    """CPU time that a cgroup has used."""
    if node.cgroupfs.version == 1:
        return int(node.read(path, "cpuacct.usage")) / 1e9
    return int(dict(line.split() for line in node.read(path, "cpu.stat").splitlines())["usage_usec"]) / 1e6


def state(cluster: DockerCluster, name: str) -> tuple[str, str, int]:
    """Phase, the container's state or its reason, restarts."""
    found = cluster.pod(name)
    if not found.status.container_statuses:
        return found.status.phase, "", 0
    one = found.status.container_statuses[0]
    (kind, detail), *_ = one.state.items()
    return found.status.phase, detail.get("reason", kind), one.restart_count


def containers_of(run: str) -> list[str]:
    """The containers of a run (KITLIB_RUN) that are there."""
    client = engine.connect()
    found = client.api.containers(all=True, filters={"label": f"{container.RUN}={run}"})
    client.close()
    return [one["Id"] for one in found]


def left_after(seconds: float, run: str) -> list[str]:
    """The containers of a run that are still there after so many seconds, more in an emulated machine."""
    deadline = time.monotonic() + seconds * SLOW
    while (left := containers_of(run)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left

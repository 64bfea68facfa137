"""Cases of the CPU manager over time: containers come and go, and each cpuset is read after each event.

Kubernetes' own manager computed them, with its static policy, its `reconcileState` called at the ticks and a runtime
that records cpusets.
"""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

FILE = "cpu_manager_reconcile"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "layout", "cpus", "reservedCPUs"})
NESTED_INPUTS = frozenset({"at", "do", "pod", "container", "containers"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Replay the case's events on a simulated node, at the same seconds after the kubelet's start."""
    flags = ["--cpu-manager-policy=static", f"--reserved-cpus={case['reservedCPUs']}"]
    machine = {"name": "n", "topology": case["layout"], "memory": "64Gi", "kubelet": flags}
    shown = []
    with Cluster.simulated([machine], release=RELEASE) as cluster:
        node, seconds = cluster.node("n"), 0.0
        assert [[c.id, c.core, c.socket, c.numa] for c in node.config.machine.cpus] == case["cpus"]
        for event in case["events"]:
            cluster.advance(event["at"] - seconds)
            seconds = event["at"]
            if event["do"] == "create":
                cluster.apply(_pod(event["pod"], event["containers"]))
            elif event["do"] == "delete":
                cluster.delete("Pod", event["pod"], grace=0)
            elif event["do"] == "restart":
                node.signal(event["pod"], event["container"], 9)
            shown.append({"cpus": _cpusets(cluster)})
    return {"events": shown}


def _pod(name: str, containers: list[dict[str, str]]) -> dict[str, Any]:
    made = []
    for number, one in enumerate(containers):
        resources = {"requests": {"cpu": one["request"], "memory": "64Mi"}}
        if one["limit"]:
            resources["limits"] = {"cpu": one["limit"], "memory": "64Mi"}
        made.append({"name": f"c{number}", "image": "x", "command": ["sleep", "inf"], "resources": resources})
    meta = {"name": name, "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": made}}


def _cpusets(cluster: SimulatedCluster) -> dict[str, str]:
    """Return pod/container -> the CPUs in the container's cpuset file."""
    node = cluster.node("n")
    held = [cgroup for cgroup in node.desired().values() if cgroup.container]
    return {f"{c.pod.rpartition('/')[2]}/{c.container}": node.read(c.path, "cpuset.cpus") for c in held}

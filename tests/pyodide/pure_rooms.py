"""What the pure rooms do in Pyodide: each part computes something and returns it; `main` prints one JSON object.

No part uses anything but the pure rooms and the examples. `kubelet`, `oom` and `cases` need no numpy.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any


def imports(*, numpy: bool = True) -> dict[str, Any]:
    """Import the modules of the pure rooms; without numpy those that need none."""
    from tests.rooms import KITLIB, USES_NUMPY, pure_files
    from tests.rooms import pure_rooms as rooms

    names = []
    for room in rooms():
        if numpy or room not in USES_NUMPY:
            for path in pure_files(room):
                name = ".".join(("kitlib", *path.relative_to(KITLIB).with_suffix("").parts))
                names.append(name.removesuffix(".__init__"))
    for name in names:
        importlib.import_module(name)
    return {"modules": len(names)}


def kubelet() -> dict[str, Any]:
    """The worked example: desired, written to the simulated kernel, read back."""
    from kitlib import examples
    from kitlib.kubelet.cm.desired import desired_tree
    from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

    found: dict[str, Any] = {}
    for version in (1, 2):
        node = examples.worked_node()
        tree = desired_tree(node, examples.worked_pods(), version=version)
        kernel = SimulatedCgroupFS(version, node.machine)
        kernel.apply(tree)
        found[f"differences v{version}"] = len(tree.diff(kernel.tree("systemd", like=tree)))
        if version == 1:
            for path, cgroup in tree.items():
                for uid, name in ((uid, name) for name, uid in examples.UIDS.items()):
                    if path.endswith(f"pod{uid.replace('-', '_')}.slice"):
                        found[f"{name} cpu.shares"] = cgroup["cpu.shares"].value
    return found


class _Reports:
    """Keeps what the kubelet reports."""

    def __init__(self, machine: Any) -> None:
        self.machine, self.events, self.statuses = machine, [], {}  # type: ignore[var-annotated]

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=self.machine.now)  # noqa: UP017

    def event(self, about: Any, kind: str, reason: str, message: str, field: str = "", annotations: Any = None) -> None:
        self.events.append(reason)

    def status(self, pod: Any, status: Any) -> None:
        pod.status = self.statuses[pod.name] = status

    def gone(self, pod: Any) -> None:
        self.statuses.pop(pod.name, None)

    def condition(self, condition: Any) -> None:
        self.events.append(condition)

    def images(self, images: Any) -> None:
        self.events.append(images)


def oom(version: int = 2) -> dict[str, Any]:
    """A kubelet on a simulated kernel runs a pod that outgrows its memory limit: killed, reported, started again."""
    from kitlib.api.core import Pod
    from kitlib.api.defaults import set_defaults
    from kitlib.api.serialize import from_dict
    from kitlib.examples import worked_node
    from kitlib.kubelet.loop.kubelet import Kubelet
    from kitlib.node.simulated.kernel import Kernel
    from kitlib.node.simulated.runtime import SimulatedRuntime

    config = worked_node()
    machine = Kernel(config.machine, version)  # type: ignore[arg-type]
    reports = _Reports(machine)
    loop = Kubelet(config, machine.cgroups, SimulatedRuntime(machine), reports, lambda: machine.now)  # type: ignore
    manifest = {
        "metadata": {
            "name": "hog",
            "namespace": "default",
            "uid": "9a6c1a4e-6a66-4a39-9d3c-0c8d1e4b7a01",
            "annotations": {"kitlib.dev/workload.c": "5s memory=50Mi; memory=300Mi"},
        },
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"memory": "128Mi"}}}]},
    }
    pod = set_defaults(from_dict(manifest, Pod))
    loop.sync([pod])
    for _ in range(20):
        machine.advance(1)
        loop.tick()
    one = reports.statuses["hog"].container_statuses[0]
    return {
        "reason": one.last_state["terminated"]["reason"],
        "exit code": one.last_state["terminated"]["exitCode"],
        "restarts": one.restart_count,
        "kernel log": any("oom-killer" in line for line in machine.log),
    }


def scheduler() -> dict[str, Any]:
    """Five pods on three nodes with taint, affinity, spreading and requests that fit on one node only."""
    from kitlib.api.core import Node, Pod
    from kitlib.api.serialize import from_dict
    from kitlib.scheduler.scheduler import Scheduler

    def node(name: str, zone: str, cpu: str, taints: tuple[dict[str, str], ...] = ()) -> Node:
        labels = {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}
        allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
        return from_dict(
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": list(taints)},
                "status": {"allocatable": allocatable, "capacity": allocatable},
            },
            Node,
        )

    nodes = [
        node("a", "z1", "4"),
        node("b", "z1", "8", ({"key": "gpu", "value": "yes", "effect": "NoSchedule"},)),
        node("c", "z2", "500m"),
    ]
    made = from_dict(
        {
            "metadata": {"name": "p", "namespace": "default", "uid": "p", "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "20Gi"}}}]},
        },
        Pod,
    )
    decision = Scheduler(nodes).explain(made)
    return {"chosen": decision.suggested_host, "b": decision.reasons_of("b"), "c": decision.reasons_of("c")}


def cluster() -> dict[str, Any]:
    """The same through a whole simulated cluster: applied, scheduled, run, killed."""
    from kitlib.cluster import Cluster

    limits = {"memory": "128Mi"}
    note = {"kitlib.dev/workload.c": "5s memory=50Mi; memory=300Mi"}
    with Cluster.simulated(nodes=2) as made:
        made.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "hog", "annotations": note},
                "spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}]},
            }
        )
        made.advance(20)
        pod = made.pod("hog")
        return {
            "node": bool(pod.spec.node_name),
            "reason": pod.status.container_statuses[0].last_state["terminated"]["reason"],
            "differences": sum(len(made.node(n.metadata.name).differences()) for n in made.list("Node")),
        }


def lab() -> dict[str, Any]:
    """A lesson and a lab as a notebook has them: which kernel, points of the start and of the reference solution."""
    from kitlib.lab import Lab, Lesson
    from kitlib.lab.definition import LabFolder
    from kitlib.lab.launch import course_source

    kept, sys.platform = sys.platform, "emscripten"
    try:
        one = Lab("01-make-it-guaranteed")
        before = one.check()
        LabFolder.read(course_source("labs") / one.name, one.seed).answers().reference(one.cluster)
        after = one.check()
        return {"kernel": Lesson("01").kernel, "before": before.score[0], "after": after.score, "passed": after.passed}
    finally:
        sys.platform = kept


def sweep() -> dict[str, Any]:
    """A scenario over a grid and seeds, where there are no processes: in this one."""
    from kitlib.study import sweep

    pods = [{"count": 4, "name": "p${i}", "cpu": "${between(1, 2)}"}]
    data = {"nodes": [{"count": 2, "name": "n${i}", "cpu": "${cpu}"}], "pods": pods}
    results = sweep(data, {"cpu": [1, 2, 4]}, ["pending", "nodes_used"], seeds=5)
    values = [[row.values["pending"], row.values["nodes_used"]] for row in results.rows if not row.error]
    return {"values": values, "complete": results.complete, "note": results.note}


def cases(folder: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Cases that real Kubernetes computed: (passed, failed) of each kind."""
    from kitlib.conformance import runner

    found = {}
    for kind in kinds:
        result = runner.run_file(Path(folder) / f"{kind}.jsonl.gz")
        found[kind] = [result.passed, result.failed, *map(str, result.differences[:3])]
    return found


def main(parts: list[str]) -> None:
    """Run the named parts and print what they found and how long each took."""
    found: dict[str, Any] = {}
    for part in parts:
        began = time.perf_counter()
        found[part] = globals()[part]()
        found[part]["seconds"] = round(time.perf_counter() - began, 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Process ids and memory that run short on a real node: the limit of a pod, eviction, and its order."""

from __future__ import annotations

from collections.abc import Callable

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import pod

MIB = 2**20


def condition(cluster: DockerCluster, kind: str) -> str:
    """The status of a condition of the only node."""
    return next(c.status for c in cluster.nodes[0].status.conditions if c.type == kind)


def test_process_ids_of_a_pod_end_at_its_limit(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, kubelet=["--pod-max-pids=30"])
    cluster.apply(pod(name="many", workload="pids=100"))
    node = cluster.node()

    def current(_: DockerCluster) -> bool:
        found = [c.path for c in node.desired().of_kind("pod")]
        return bool(found) and int(node.read(found[0], "pids.current")) == 30

    cluster.wait(current, 20)
    assert cluster.pod("many").status.phase == "Running"


def test_a_node_short_of_process_ids_evicts_who_has_most(start: Callable[..., DockerCluster]) -> None:
    cluster = start([{"max_pid": 300, "kubelet": ["--eviction-hard=pid.available<150"]}])
    cluster.apply([pod(name="few", workload="pids=5"), pod(name="many", workload="pids=200")])
    cluster.wait(lambda c: c.pod("many").status.reason == "Evicted", 60)
    assert cluster.pod("many").status.message.startswith(
        "The node was low on resource: pids. Threshold quantity: 150, "
    )
    assert cluster.pod("few").status.phase == "Running"
    cluster.wait(lambda c: condition(c, "PIDPressure") == "True", 30)  # told with the node's next status


def test_under_real_memory_pressure_those_above_their_requests_go_in_order(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="512Mi", kubelet=["--eviction-hard=memory.available<150Mi"])
    watch, gone = cluster.watch("Pod"), list[str]()

    def evicted(_: DockerCluster) -> int:
        for event in watch.poll():
            if event.object.status.reason == "Evicted" and event.object.name not in gone:
                gone.append(event.object.name)
        return len(gone)

    def begin(name: str, uses: int, asks: int) -> None:
        requests = {"memory": f"{asks}Mi"} if asks else None
        cluster.apply(pod(name=name, workload=f"memory={uses}Mi", requests=requests, nodeName="node-1"))
        cluster.wait(lambda c: any(p.pod == name and p.memory > (uses - 6) * MIB for p in c.node().processes()), 20)

    begin("within", 120, 130)
    begin("over", 100, 20)
    begin("best", 60, 0)
    begin("grower", 110, 120)
    cluster.wait(lambda c: evicted(c) == 1, 40)
    message = cluster.pod("over").status.message
    assert message.startswith("The node was low on resource: memory. Threshold quantity: 150Mi, available: ")
    assert "Container c was using " in message
    assert message.endswith("request is 20Mi, has larger consumption of memory. ")
    begin("late", 90, 100)
    cluster.wait(lambda c: evicted(c) == 2, 40)
    assert gone == ["over", "best"]
    assert {p.name: p.status.phase for p in cluster.pods() if p.name not in gone} == {
        "within": "Running",
        "grower": "Running",
        "late": "Running",
    }
    assert [t.key for t in cluster.nodes[0].spec.taints] == ["node.kubernetes.io/memory-pressure"]


def test_a_node_without_memory_left_tells_of_a_system_oom(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="256Mi", kubelet=["--eviction-hard="])
    log = cluster.node().kernel_log()
    if log and "cannot be read" in log[0]:
        assert any("kernel's log" in text for text in cluster.node().fidelity)
        return
    grows = "5s memory=20Mi; memory=200Mi"  # the node itself has some more than its pods may use
    cluster.apply([pod(name=name, workload=grows, restartPolicy="Never") for name in ("a", "b")])
    node = cluster.node()
    kubepods, file = node.desired().of_kind("kubepods")[0].path, "memory.max"
    value = "max"
    if node.cgroupfs.version == 1:
        file, value = "memory.limit_in_bytes", "-1"
    node.write(kubepods, file, value)  # else the limit of all pods would be reached first
    cluster.wait(lambda c: any(p.status.phase == "Failed" for p in c.pods()), 30)
    cluster.wait(lambda c: [e for e in c.list("Event") if e.reason == "SystemOOM"], 10)
    event = next(e for e in cluster.list("Event") if e.reason == "SystemOOM")
    assert event.message.startswith("System OOM encountered, victim process: python3, pid: ")
    assert (event.type, event.involved_object.kind) == ("Warning", "Node")


def test_an_evicted_pods_files_are_given_back_before_another_is_looked_at(start: Callable[..., DockerCluster]) -> None:
    """An emptyDir is memory here; its pod's object stays, and the next pod keeps running. Source: SyncTerminatedPod."""
    cluster = start(1, memory="768Mi", kubelet=["--eviction-hard=memory.available<200Mi"])
    big = pod(
        "dd if=/dev/zero of=/v/a bs=1M count=520; sleep 1000", name="big", volumes=[{"name": "v", "emptyDir": {}}]
    )
    big["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    cluster.apply([pod(name="small", workload="memory=60Mi"), big])
    cluster.wait(lambda c: c.pod("big").status.reason == "Evicted", 60)
    cluster.wait(lambda c: c.node().usage("/kubepods") < 200 * 2**20, 15)
    cluster.advance(15)  # the eviction manager looks every ten seconds
    assert cluster.pod("small").status.phase == "Running"

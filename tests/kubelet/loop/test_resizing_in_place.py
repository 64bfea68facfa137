"""Resources changed in place: by the pod's specification, as the kubelet does it, and by hand in the cgroup files."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import Forbidden, Invalid, KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.node.common.errors import CgroupError

MI = 2**20
MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
SWAP = "memory.memsw.limit_in_bytes"
SWAPPING = {"swap": "2Gi", "kubelet": ["--fail-swap-on=false"]}


def pod(name: str, cpu: str, memory: str, workload: str = "memory=200Mi", **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}
    container = {"name": "c", "image": "x", "resources": resources, **more}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def both(cpu: str, memory: str) -> dict[str, Any]:
    return {"c": {kind: {"cpu": cpu, "memory": memory} for kind in ("requests", "limits")}}


def made(
    version: int = 2, machine: dict[str, Any] | None = None, release: str | None = None, **more: Any
) -> SimulatedCluster:
    machines = [{"cpus": 4, "memory": "8Gi", **(machine or {})}]
    cluster = Cluster.simulated(machines, cgroup_version=version, release=release)
    cluster.apply(pod("a", "1", "512Mi", **more))
    return cluster


def files(cluster: SimulatedCluster, name: str) -> tuple[str, str]:
    """Of the pod's cgroup and its container's."""
    node = cluster.node()
    wanted = [node.desired().of_kind(kind)[0] for kind in ("pod", "container")]
    return node.read(wanted[0].path, name), node.read(wanted[1].path, name)


def condition(cluster: SimulatedCluster, kind: str, name: str = "a") -> tuple[str, str] | None:
    return next(((c.reason, c.message) for c in cluster.pod(name).status.conditions if c.type == kind), None)


def reasons(cluster: SimulatedCluster, name: str = "a") -> list[str]:
    return [e.reason for e in cluster.events(name) if e.reason.startswith("Resize")]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("cpu", "memory"), [("2", "1Gi"), ("500m", "300Mi"), ("2", "300Mi"), ("500m", "1Gi")])
def test_a_resize_reaches_every_level_without_a_restart(version: int, cpu: str, memory: str) -> None:
    cluster = made(version, SWAPPING)
    found = cluster.resize("a", both(cpu, memory))
    size = str({"1Gi": 1024, "300Mi": 300}[memory] * MI)
    assert files(cluster, MEMORY[version]) == (size, size)
    quota = 100_000 * {"2": 4, "500m": 1}[cpu] // 2
    if version == 1:
        assert files(cluster, "cpu.cfs_quota_us") == (str(quota), str(quota))
        assert files(cluster, SWAP)[1] == size
    else:
        assert files(cluster, "cpu.max") == (f"{quota} 100000", f"{quota} 100000")
    assert cluster.node().differences() == []
    status = found.status.container_statuses[0]
    assert (status.restart_count, str(status.allocated_resources["cpu"])) == (0, cpu)
    assert status.resources is not None
    assert str(status.resources.limits["memory"]) == memory
    assert reasons(cluster) == ["ResizeStarted", "ResizeCompleted"]
    message = next(e.message for e in cluster.events("a") if e.reason == "ResizeCompleted")
    assert message == (
        'Pod resize completed: {"containers":[{"name":"c","resources":{"limits":'
        f'{{"cpu":"{cpu}","memory":"{memory}"}},"requests":{{"cpu":"{cpu}","memory":"{memory}"}}}}}}],"generation":2}}'
    )


def test_the_pod_is_widened_before_its_container_and_narrowed_after_it() -> None:
    cluster = made()
    order: list[str] = []
    node = cluster.node()
    write = node.cgroupfs.write

    def noted(path: str, file: str, value: str) -> None:
        if file == "memory.max":
            order.append("container" if path.count("/") == 3 else "pod")
        write(path, file, value)

    node.cgroupfs.write = noted
    cluster.resize("a", both("1", "1Gi"))
    cluster.resize("a", both("1", "512Mi"))
    assert order == ["pod", "container", "container", "pod"]


def test_a_memory_limit_is_not_lowered_below_what_is_in_use() -> None:
    cluster = made(workload="60s memory=200Mi; memory=50Mi")
    cluster.resize("a", both("1", "128Mi"))
    text = (
        f"cannot decrease memory limits: [attempting to set pod memory limit ({128 * MI}) below current usage "
        f'({200 * MI + 256 * 1024}), attempting to set container "c" memory limit ({128 * MI}) below current usage '
        f"({200 * MI})]"
    )
    assert condition(cluster, "PodResizeInProgress") == ("Error", text)
    assert files(cluster, "memory.max") == (str(512 * MI), str(512 * MI))
    assert reasons(cluster) == ["ResizeStarted", "ResizeError"]
    cluster.advance(62)
    assert condition(cluster, "PodResizeInProgress") is None
    assert files(cluster, "memory.max") == (str(128 * MI), str(128 * MI))
    assert cluster.pod("a").status.container_statuses[0].restart_count == 0


def test_what_never_fits_is_refused_by_the_api_server() -> None:
    cluster = made()
    text = (
        'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 8000, allocatable: 4000'
    )
    with pytest.raises(Forbidden) as caught:
        cluster.resize("a", both("8", "512Mi"))
    assert str(caught.value) == text
    with pytest.raises(Forbidden) as caught:
        cluster.resize("a", both("8", "64Gi"))
    assert str(caught.value).startswith(f"{text}; memory, requested: {64 * 1024 * MI}, allocatable: ")
    assert reasons(cluster) == []


def test_before_1_36_what_never_fits_is_infeasible_and_taken_back_is_forgotten() -> None:
    cluster = made(release="1.35")
    cluster.resize("a", both("8", "512Mi"))
    text = "Node didn't have enough capacity: cpu, requested: 8000, capacity: 4000"
    assert condition(cluster, "PodResizePending") == ("Infeasible", text)
    assert reasons(cluster) == ["ResizeInfeasible"]
    assert files(cluster, "cpu.max") == ("100000 100000", "100000 100000")
    cluster.resize("a", both("1", "512Mi"))
    assert condition(cluster, "PodResizePending") is None


def test_what_does_not_fit_now_waits_until_another_pod_goes() -> None:
    cluster = made()
    cluster.apply(pod("b", "2", "512Mi"))
    cluster.resize("a", both("3", "512Mi"))
    text = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert condition(cluster, "PodResizePending") == ("Deferred", text)
    (event,) = [e for e in cluster.events("a") if e.reason == "ResizeDeferred"]
    assert event.message.startswith('Pod resize OutOfcpu: {"containers":[{"name":"c",')
    assert event.message.endswith(f'"generation":2,"error":"{text}"}}')
    cluster.delete("pod", "b")
    cluster.advance(1)
    assert condition(cluster, "PodResizePending") is None
    assert files(cluster, "cpu.max") == ("300000 100000", "300000 100000")


def test_a_container_that_wants_it_is_restarted_with_its_new_resources() -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    cluster = made(workload="memory=100Mi", resizePolicy=policy)
    cluster.resize("a", both("2", "512Mi"))
    assert cluster.pod("a").status.container_statuses[0].restart_count == 0
    cluster.resize("a", both("2", "128Mi"))
    assert any("resize requires restart" in e.message for e in cluster.events("a"))
    cluster.advance(1)
    assert cluster.pod("a").status.container_statuses[0].restart_count == 1
    assert files(cluster, "memory.max") == (str(128 * MI), str(128 * MI))


def test_with_exclusive_cpus_a_guaranteed_pod_keeps_what_it_has() -> None:
    cluster = made(machine={"kubelet": ["--cpu-manager-policy=static", "--reserved-cpus=0"]})
    cluster.resize("a", both("2", "512Mi"))
    text = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
    assert condition(cluster, "PodResizePending") == ("Infeasible", text)
    cluster.resize("a", both("1", "600Mi"))
    assert files(cluster, "memory.max") == (str(600 * MI), str(600 * MI))


@pytest.mark.parametrize("cpu", ["2", "500m"])
def test_the_gate_lets_the_resize_through_and_the_exclusive_cpus_stay_as_they_were(cpu: str) -> None:
    """Until KEP-5554 is in, the CPU manager does not follow: the shares change, the CPUs do not."""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    flags += ["--feature-gates=InPlacePodVerticalScalingExclusiveCPUs=true"]
    cluster = made(machine={"kubelet": flags})
    before = int(files(cluster, "cpu.weight")[1])
    cluster.resize("a", both(cpu, "512Mi"))
    assert condition(cluster, "PodResizePending") is None
    assert reasons(cluster) == ["ResizeStarted", "ResizeCompleted"]
    assert (int(files(cluster, "cpu.weight")[1]) > before) == (cpu == "2")
    assert files(cluster, "cpuset.cpus")[1] == "1"
    assert files(cluster, "cpu.max") == ("max 100000", "max 100000"), "CPUs of its own: no quota"


# By hand.


def test_on_v1_the_sum_with_swap_is_raised_before_the_limit_and_lowered_after_it() -> None:
    cluster = made(1, SWAPPING)
    node = cluster.node()
    container = node.desired().of_kind("container")[0].path
    more, less = str(2048 * MI), str(256 * MI)
    with pytest.raises(CgroupError, match="EINVAL"):
        node.write(container, "memory.limit_in_bytes", more)
    node.write(container, SWAP, more)
    node.write(container, "memory.limit_in_bytes", more)
    with pytest.raises(CgroupError, match="EINVAL"):
        node.write(container, SWAP, less)
    node.write(container, "memory.limit_in_bytes", less)
    node.write(container, SWAP, less)
    used = int(node.read(container, "memory.memsw.usage_in_bytes"))
    node.write(container, "memory.limit_in_bytes", str(100 * MI))  # the node has swap: the rest goes there
    assert int(node.read(container, "memory.usage_in_bytes")) <= 100 * MI
    assert int(node.read(container, "memory.memsw.usage_in_bytes")) == used > 100 * MI
    with pytest.raises(CgroupError, match="EBUSY"):
        node.write(container, SWAP, str(100 * MI))


@pytest.mark.parametrize("version", [1, 2])
def test_the_kubelet_restores_the_qos_cgroups_every_minute_and_leaves_all_else_alone(version: int) -> None:
    cluster = made(version)
    node = cluster.node()
    kubepods, pod_path, container = (node.desired().of_kind(kind)[0].path for kind in ("kubepods", "pod", "container"))
    best_effort = next(c.path for c in node.desired().of_kind("qos") if c.qos == "BestEffort")
    weight = "cpu.shares" if version == 1 else "cpu.weight"
    for path in (kubepods, pod_path, container, best_effort):
        node.write(path, weight, "777")
    cluster.advance(61)
    assert {d.path for d in node.differences()} == {kubepods, pod_path, container}
    (note,) = [e for e in node.kubelet.timeline if "every minute" in e.action and e.about == best_effort]
    assert note.source == "UpdateCgroups"
    cluster.resize("a", both("2", "512Mi"))  # what changes is written, by hand or not
    assert {d.path for d in node.differences()} == {kubepods}  # it is written when the kubelet starts, and not again


def test_a_limit_raised_by_hand_at_one_level_still_holds_at_the_other() -> None:
    cluster = made(workload="30s memory=200Mi; memory=700Mi")
    node = cluster.node()
    pod_path, container = (node.desired().of_kind(kind)[0].path for kind in ("pod", "container"))
    node.write(container, "memory.max", str(1024 * MI))
    cluster.advance(31)
    assert cluster.pod("a").status.container_statuses[0].restart_count == 1
    assert f"oom_memcg={pod_path}," in "\n".join(node.kernel_log())


def whole(cpu: str, memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": cpu, "memory": memory}}


def with_pod_level(policy: str = "NotRequired") -> SimulatedCluster:
    """A pod with limits of its own, and two containers: `free` has none, `own` has."""
    cluster = Cluster.simulated([{"cpus": 4, "memory": "8Gi"}])
    own = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    resize = [{"resourceName": "memory", "restartPolicy": policy}]
    containers = [
        {"name": "free", "image": "x", "resizePolicy": resize},
        {"name": "own", "image": "x", "resources": own, "resizePolicy": resize},
    ]
    spec = {"containers": containers, "resources": whole("1", "512Mi")}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    return cluster


def limits(cluster: SimulatedCluster, file: str) -> dict[str, str]:
    """Of the pod's cgroup and its containers'."""
    node = cluster.node()
    levels = [*node.desired().of_kind("pod"), *node.desired().of_kind("container")]
    return {one.container or "pod": node.read(one.path, file) for one in levels}


@pytest.mark.parametrize(("cpu", "memory"), [("2", "1Gi"), ("500m", "300Mi"), ("2", "300Mi")])
def test_pod_level_limits_are_resized_with_the_containers_that_have_none(cpu: str, memory: str) -> None:
    cluster = with_pod_level()
    found = cluster.resize("a", pod=whole(cpu, memory))
    size = str({"1Gi": 1024, "300Mi": 300}[memory] * MI)
    quota = f"{ {'2': 200_000, '500m': 50_000}[cpu] } 100000"
    assert limits(cluster, "memory.max") == {"pod": size, "free": size, "own": str(128 * MI)}
    assert limits(cluster, "cpu.max") == {"pod": quota, "free": quota, "own": "20000 100000"}
    assert cluster.node().differences() == []
    assert found.status.resources is not None
    assert {name: str(amount) for name, amount in found.status.resources.limits.items()} == {
        "cpu": cpu,
        "memory": memory,
    }
    assert str(found.status.allocated_resources["cpu"]) == "500m"
    assert [one.restart_count for one in found.status.container_statuses] == [0, 0]
    assert reasons(cluster) == ["ResizeStarted", "ResizeCompleted"]


def test_a_container_without_a_limit_restarts_with_the_pods_limit_where_its_policy_says_so() -> None:
    cluster = with_pod_level("RestartContainer")
    cluster.resize("a", pod=whole("1", "1Gi"))
    cluster.advance(1)
    statuses = {one.name: one.restart_count for one in cluster.pod("a").status.container_statuses}
    assert statuses == {"free": 1, "own": 0}


def test_a_pod_level_request_that_does_not_fit_now_is_deferred() -> None:
    cluster = with_pod_level()
    cluster.apply(pod("b", "2", "512Mi"))
    cluster.resize("a", pod={"requests": {"cpu": "3", "memory": "256Mi"}, "limits": {"cpu": "3", "memory": "512Mi"}})
    told = condition(cluster, "PodResizePending")
    assert told == ("Deferred", "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000")
    assert str(cluster.pod("a").status.allocated_resources["cpu"]) == "500m"
    cluster.delete("Pod", "b")
    cluster.advance(200)
    assert condition(cluster, "PodResizePending") is None
    assert str(cluster.pod("a").status.allocated_resources["cpu"]) == "3"


def test_before_1_36_pod_level_resources_are_not_resized_nor_shown() -> None:
    cluster = made(release="1.35")
    assert cluster.pod("a").status.resources is None
    assert not cluster.pod("a").status.allocated_resources


def test_a_resize_of_something_else_is_refused() -> None:
    with pytest.raises(KitError, match="container 'd' not found"):
        made().resize("a", {"d": {"requests": {"cpu": "1"}}})


@pytest.mark.parametrize(
    ("wanted", "texts"),
    [
        (
            {"limits": {"cpu": None}},
            ["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"],
        ),
        ({"limits": {"cpu": "2"}}, ['spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result']),
        ({"requests": {"example.com/x": "1"}}, ["spec: Forbidden: only cpu and memory resources are mutable"]),
    ],
)
def test_a_resize_keeps_the_class_and_takes_nothing_away(wanted: dict[str, Any], texts: list[str]) -> None:
    """Source: ValidatePodResize."""
    with pytest.raises(Invalid) as caught:
        made().resize("a", {"c": wanted})
    assert [text for text in texts if text not in str(caught.value)] == []


def test_a_limit_range_holds_for_a_resize_too() -> None:
    """Source: LimitRanger SupportsAttributes."""
    cluster = made()
    limits = {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}
    cluster.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "r"}, "spec": limits})
    with pytest.raises(Forbidden, match="maximum cpu usage per Container is 2, but limit is 3"):
        cluster.resize("a", both("3", "512Mi"))


def test_a_write_that_the_kernel_refuses_is_a_resize_error_until_it_takes_it() -> None:
    """The container is written whole, so a quota that stands in its pod's cgroup by hand is in its way.

    Source: doPodResizeAction, which aborts and is tried again.
    """
    cluster = made(1)
    node = cluster.node()
    pod_path, container = (node.desired().of_kind(kind)[0].path for kind in ("pod", "container"))
    node.write(container, "cpu.cfs_quota_us", "40000")
    node.write(pod_path, "cpu.cfs_quota_us", "50000")
    cluster.resize("a", both("1", "600Mi"))
    reason, message = condition(cluster, "PodResizeInProgress") or ("", "")
    assert (reason, "cpu.cfs_quota_us" in message, "EINVAL" in message) == ("Error", True, True)
    assert files(cluster, "cpu.cfs_quota_us") == ("50000", "40000")
    assert files(cluster, MEMORY[1]) == (str(600 * MI), str(512 * MI))
    held = cluster.pod("a").status.container_statuses[0].resources
    assert held is not None
    assert str(held.limits["memory"]) == "512Mi", "what the runtime holds"
    cluster.advance(5)
    assert reasons(cluster) == ["ResizeStarted", "ResizeError"]
    node.write(pod_path, "cpu.cfs_quota_us", "100000")
    cluster.advance(2)
    assert condition(cluster, "PodResizeInProgress") is None
    assert files(cluster, MEMORY[1]) == (str(600 * MI), str(600 * MI))
    assert files(cluster, "cpu.cfs_quota_us") == ("100000", "100000")
    assert reasons(cluster) == ["ResizeStarted", "ResizeError", "ResizeCompleted"]


def test_a_pod_that_is_not_limited_as_a_whole_has_no_limit_to_check() -> None:
    """Source: validateMemoryResizeAction, where ResourceConfigForPod names no memory."""
    cluster = Cluster.simulated([{"cpus": 4, "memory": "8Gi"}])
    manifest = pod("a", "1", "512Mi", "60s memory=200Mi; memory=50Mi")
    manifest["spec"]["containers"].append({"name": "d", "image": "x"})
    cluster.apply(manifest)
    cluster.resize("a", both("1", "128Mi"))
    text = (
        f'cannot decrease memory limits: attempting to set container "c" memory limit ({128 * MI}) below current usage'
    )
    assert condition(cluster, "PodResizeInProgress") == ("Error", f"{text} ({200 * MI})")

"""The eviction manager: who goes when, how long the condition stays, who is admitted under pressure."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.ranking import ContainerStats, PodStats
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.loop.eviction import EvictionManager

MI = 2**20
RELEASE = Release("1.36")
HARD = {"eviction_hard": {"memory.available": "100Mi"}}
SOFT = {
    "eviction_hard": {},
    "eviction_soft": {"memory.available": "100Mi"},
    "eviction_soft_grace_period": {"memory.available": "30s"},
    "eviction_max_pod_grace_period": 20,
}


def pod(name: str, *, memory: str = "", priority: int | None = None, storage: str = "", **spec: Any) -> Pod:
    resources: dict[str, Any] = {"requests": {"memory": memory}} if memory else {}
    if storage:
        resources["limits"] = {"ephemeral-storage": storage}
    container = {"name": "c", "image": "x", "resources": resources}
    whole = {"containers": [container], **({"priority": priority} if priority is not None else {}), **spec}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": whole}
    made: Pod = from_dict(data)
    return made


def manager(settings: dict[str, Any]) -> EvictionManager:
    return EvictionManager(KubeletSettings(enforce_node_allocatable=(), **settings), RELEASE)


def look(made: EvictionManager, now: float, available: int, pods: list[Pod], **used: int) -> str:
    """The name of the pod that goes; "" = none."""
    stats = {one.metadata.uid: PodStats(memory=used.get(one.metadata.uid, 0) * MI) for one in pods}
    found = made.look(now, {"memory.available": Observation(available * MI, 1024 * MI)}, pods, lambda: stats)
    return found.pod.metadata.name if found is not None else ""


PODS = [pod("a", memory="500Mi"), pod("b"), pod("critical", priority=2_000_001_000)]


def test_a_hard_threshold_evicts_at_once_the_pod_above_its_request_and_no_critical_one() -> None:
    made = manager(HARD)
    assert look(made, 0, 100, PODS, a=400, b=10, critical=400) == ""
    assert made.conditions == ()
    assert look(made, 10, 99, PODS, a=400, b=10, critical=400) == "b"
    assert (made.conditions, made.reclaiming) == (("MemoryPressure",), "memory")
    assert look(made, 20, 99, PODS[2:], critical=400) == ""


def test_a_soft_threshold_evicts_after_its_grace_period_without_a_break() -> None:
    made = manager(SOFT)
    assert [look(made, now, 50, PODS, b=10) for now in (0.0, 29.0)] == ["", ""]
    assert made.conditions == ("MemoryPressure",)
    assert look(made, 30.0, 50, PODS, b=10) == "b"
    assert look(made, 40.0, 200, PODS, b=10) == ""
    assert [look(made, now, 50, PODS, b=10) for now in (50.0, 79.0, 80.0)] == ["", "", "b"]


@pytest.mark.parametrize(("seconds", "grace"), [(5, 5.0), (60, 20.0)])
def test_the_grace_of_a_soft_eviction_is_the_smaller_of_the_pods_and_the_maximum(seconds: int, grace: float) -> None:
    made, one = manager(SOFT), pod("x", terminationGracePeriodSeconds=seconds)
    seen = {"memory.available": Observation(0, 1024 * MI)}
    made.look(0, seen, [one], lambda: {"x": PodStats(memory=1)})
    found = made.look(30, seen, [one], lambda: {"x": PodStats(memory=1)})
    assert found is not None and found.grace == grace


@pytest.mark.parametrize(("after", "conditions"), [(299.0, ("MemoryPressure",)), (300.0, ())])
def test_the_condition_stays_for_the_transition_period(after: float, conditions: tuple[str, ...]) -> None:
    made = manager({**HARD, "eviction_pressure_transition_period": 300.0})
    look(made, 1.0, 50, PODS, b=10)
    look(made, 1.0 + after, 200, PODS)
    assert made.conditions == conditions


def test_with_a_transition_period_of_0_no_condition_is_reported() -> None:
    """Source: nodeConditionsObservedSince, whose window is then empty; pods are evicted all the same."""
    made = manager({**HARD, "eviction_pressure_transition_period": 0.0})
    assert (look(made, 1.0, 50, PODS, b=10), made.conditions) == ("b", ())


def test_with_a_minimum_reclaim_an_eviction_goes_on_above_the_line() -> None:
    made = manager({**HARD, "eviction_minimum_reclaim": {"memory.available": "50Mi"}})
    assert look(made, 0, 120, PODS, b=10) == ""
    assert look(made, 10, 99, PODS, b=10) == "b"
    assert [look(made, 20, available, PODS, b=10) for available in (149, 150)] == ["b", ""]


def test_what_is_reclaimed_otherwise_spares_the_pods() -> None:
    made = EvictionManager(
        KubeletSettings(enforce_node_allocatable=(), eviction_hard={"nodefs.available": "100Mi"}), RELEASE
    )
    seen = {"nodefs.available": Observation(50 * MI, 1024 * MI)}
    freed: dict[str, Observation] = {"nodefs.available": Observation(100 * MI, 1024 * MI)}
    assert made.look(0, seen, PODS, dict, lambda signal: freed) is None and made.relieved
    freed["nodefs.available"] = Observation(100 * MI - 1, 1024 * MI)
    assert made.look(10, seen, PODS, dict, lambda signal: freed) is not None and not made.relieved


@pytest.mark.parametrize(
    ("logs", "rootfs", "volumes", "message"),
    [
        (5, 5, 0, ""),
        (5, 6, 0, "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. "),
        (1, 1, 8, ""),
        (1, 1, 9, "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. "),
    ],
)
def test_a_pod_that_writes_more_than_its_own_limit_goes(logs: int, rootfs: int, volumes: int, message: str) -> None:
    container = ContainerStats("c", rootfs=rootfs * MI, logs=logs * MI)
    stats = {"w": PodStats(containers=(container,), volumes=volumes * MI)}
    found = manager(HARD).look(0, {}, [pod("w", storage="10Mi")], lambda: stats)
    assert (found.message if found is not None else "") == message


@pytest.mark.parametrize(("size", "used", "goes"), [("5Mi", 5, False), ("5Mi", 6, True)])
def test_a_volume_larger_than_its_limit_ends_its_pod(size: str, used: int, goes: bool) -> None:
    one = pod("v", volumes=[{"name": "data", "emptyDir": {"sizeLimit": size}}])
    found = manager(HARD).look(0, {}, [one], lambda: {"v": PodStats(volumes=used * MI)})
    message = f'Usage of EmptyDir volume "data" exceeds the limit "{size}". '
    assert (found.message if found is not None else "") == (message if goes else "")


TOLERATES = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("one", "conditions", "admitted"),
    [
        (pod("b"), (), True),
        (pod("b"), ("MemoryPressure",), False),
        (pod("b", tolerations=TOLERATES), ("MemoryPressure",), True),
        (pod("a", memory="1Mi"), ("MemoryPressure",), True),
        (pod("a", memory="1Mi"), ("DiskPressure",), False),
        (pod("a", memory="1Mi"), ("MemoryPressure", "DiskPressure"), False),
        (pod("c", priority=2_000_001_000), ("DiskPressure",), True),
    ],
)
def test_who_is_admitted_under_pressure(one: Pod, conditions: tuple[str, ...], admitted: bool) -> None:
    """Source: eviction managerImpl.Admit."""
    made = manager(HARD)
    made.conditions = conditions
    assert (made.admit(one) == "") is admitted
    if not admitted:
        assert made.admit(one) == f"The node had condition: [{' '.join(conditions)}]. "


@pytest.mark.parametrize(
    ("dedicated", "signal", "first"),
    [
        (False, "nodefs.available", "both"),
        (True, "nodefs.available", "logs"),
        (True, "imagefs.available", "layers"),
    ],
)
def test_the_pod_goes_that_fills_the_disk_that_is_short(dedicated: bool, signal: str, first: str) -> None:
    """Source: buildSignalToRankFunc: with a file system of their own, layers count for imagefs only."""
    made = EvictionManager(
        KubeletSettings(enforce_node_allocatable=(), eviction_hard={signal: "100Mi"}), RELEASE, dedicated=dedicated
    )
    stats = {
        "layers": PodStats(containers=(ContainerStats("c", rootfs=500 * MI, logs=1 * MI),)),
        "logs": PodStats(containers=(ContainerStats("c", rootfs=1 * MI, logs=600 * MI),)),
        "both": PodStats(containers=(ContainerStats("c", rootfs=400 * MI, logs=400 * MI),)),
    }
    seen = {signal: Observation(50 * MI, 1024 * MI)}
    found = made.look(0, seen, [pod("logs"), pod("layers"), pod("both")], lambda: stats)
    assert found is not None and found.pod.metadata.name == first


@pytest.mark.parametrize(
    ("rootfs", "logs", "exceeds"),
    [(11, None, True), (None, 11, True), (6, 5, True), (5, 5, False), (None, None, False)],
)
def test_layers_and_logs_of_a_container_together_count_against_its_limit(
    rootfs: int | None, logs: int | None, exceeds: bool
) -> None:
    """The limits of both containers together are far away. Source: containerEphemeralStorageLimitEviction."""
    limits = [{"limits": {"ephemeral-storage": amount}} for amount in ("10Mi", "1Gi")]
    made = pod("w", storage="10Mi", containers=[{"name": n, "resources": r} for n, r in zip("cd", limits, strict=True)])
    used = ContainerStats("c", rootfs=rootfs and rootfs * MI, logs=logs and logs * MI)
    found = manager(HARD).look(0, {}, [made], lambda: {"w": PodStats(containers=(used,))})
    message = 'Container c exceeded its local ephemeral storage limit "10Mi". '
    assert (found.message if found is not None else "") == (message if exceeds else "")

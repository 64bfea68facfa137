"""The resources that the runtime gets for a container and for a sandbox: defaults, the pod's limits, huge pages."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.container_config import LinuxContainerResources, linux_container_resources, sandbox_resources
from kitlib.kubelet.cm.container_context import ContainerContext

MI = 2**20


def of(
    resources: dict[str, Any], *, exclusive: bool = False, spec: dict[str, Any] | None = None, **context: Any
) -> Any:
    pod = from_dict({"spec": {"containers": [{"name": "c", "resources": resources}], **(spec or {})}}, Pod)
    given = ContainerContext(**{"memory_capacity": 1000 * MI, **context})
    return linux_container_resources(pod, pod.spec.containers[0], given, exclusive_cpus=exclusive)


@pytest.mark.parametrize(
    ("resources", "shares", "quota", "memory"),
    [
        ({}, 2, 0, 0),
        ({"requests": {"cpu": "1"}}, 1024, 0, 0),
        ({"limits": {"cpu": "1"}}, 1024, 100_000, 0),
        ({"requests": {"cpu": "0"}, "limits": {"cpu": "1"}}, 2, 100_000, 0),
        ({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "5"}}, 512, 100_000, 5),
    ],
    ids=["nothing", "request", "a missing request is the limit", "a request of 0 is none", "both"],
)
def test_shares_quota_and_memory(resources: dict[str, Any], shares: int, quota: int, memory: int) -> None:
    """Source: calculateLinuxResources."""
    found = of(resources)
    assert (found.cpu_shares, found.cpu_quota, found.cpu_period, found.memory_limit) == (shares, quota, 100_000, memory)


def test_without_quotas_neither_quota_nor_period_is_sent() -> None:
    found = of({"limits": {"cpu": "1"}}, cpu_cfs_quota=False)
    assert (found.cpu_quota, found.cpu_period, found.cpu_shares) == (0, 0, 1024)


@pytest.mark.parametrize(
    ("exclusive", "gate", "quota"), [(True, True, -1), (True, False, 100_000), (False, True, 100_000)]
)
def test_exclusive_processors_have_no_quota_where_the_release_says_so(exclusive: bool, gate: bool, quota: int) -> None:
    release = Release("1.36").with_gates({"DisableCPUQuotaWithExclusiveCPUs": gate})
    assert of({"limits": {"cpu": "1"}}, exclusive=exclusive, release=release).cpu_quota == quota


@pytest.mark.parametrize(
    ("version", "single", "files"),
    [(2, False, {"memory.oom.group": "1"}), (2, True, {}), (1, False, {}), (1, True, {})],
)
def test_the_whole_container_is_killed_on_v2_only(version: int, single: bool, files: dict[str, str]) -> None:
    assert of({}, cgroup_version=version, oom_group=not single).unified.items() >= files.items()
    assert ("memory.oom.group" in of({}, cgroup_version=version, oom_group=not single).unified) is bool(files)


@pytest.mark.parametrize(
    ("own", "of_pod", "expected"),
    [("5", "9", 5), ("0", "9", 9), (None, "9", 9), (None, None, 0), ("0", None, 0)],
)
def test_a_container_without_a_limit_has_that_of_the_pod(own: str | None, of_pod: str | None, expected: int) -> None:
    spec = {"resources": {"limits": {"memory": of_pod}}} if of_pod else {}
    assert of({"limits": {"memory": own}} if own else {}, spec=spec).memory_limit == expected


def test_every_page_size_of_the_machine_has_a_limit() -> None:
    sizes = {"huge_page_sizes": (2 * MI, 1024 * MI)}
    assert of({}, **sizes).huge_page_limits == {"2MB": 0, "1GB": 0}
    own = {"limits": {"hugepages-2Mi": "4Mi"}}
    assert of(own, **sizes).huge_page_limits == {"2MB": 4 * MI, "1GB": 0}
    spec = {"resources": {"limits": {"hugepages-2Mi": "8Mi", "hugepages-1Gi": "1Gi", "cpu": "1"}}}
    assert of(own, spec=spec, **sizes).huge_page_limits == {"2MB": 4 * MI, "1GB": 1024 * MI}
    assert of(own).huge_page_limits == {}


def test_weights_by_both_formulas() -> None:
    found = LinuxContainerResources(cpu_shares=1024)
    assert (found.cpu_weight(), found.cpu_weight("linear")) == (100, 39)


def test_a_sandbox_is_sized_by_the_pod_without_its_overhead() -> None:
    both = {"requests": {"cpu": "1", "memory": "5"}, "limits": {"cpu": "2", "memory": "7"}}
    containers = [{"name": name, "resources": both} for name in "ab"]
    pod = from_dict({"spec": {"containers": containers, "overhead": {"cpu": "1", "memory": "100"}}}, Pod)
    context = ContainerContext(memory_capacity=1000 * MI, release=Release("1.36"))
    found = sandbox_resources(pod, context)
    assert (found.cpu_shares, found.cpu_quota, found.memory_limit) == (2048, 400_000, 14)
    gated = ContainerContext(
        memory_capacity=1000 * MI, release=Release("1.36").with_gates({"DisableCPUQuotaWithExclusiveCPUs": True})
    )
    assert sandbox_resources(pod, gated, exclusive_cpus=True).cpu_quota == -1
    assert sandbox_resources(pod, gated).cpu_quota == 400_000
    empty = sandbox_resources(from_dict({"spec": {"containers": [{"name": "c"}]}}, Pod), context)
    assert (empty.cpu_shares, empty.cpu_quota, empty.memory_limit) == (2, 0, 0)

"""The configuration of a cgroup that the kubelet writes: when a quota and a memory limit exist, and what is absent."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cgroup_config import (
    ResourceConfig,
    pod_totals,
    resource_config_for_list,
    resource_config_for_pod,
)

BOTH = {"cpu": "500m", "memory": "100"}


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any) -> Any:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def pod(*containers: Any, **spec: Any) -> Pod:
    named = [{**one, "name": f"c{i}"} for i, one in enumerate(containers)]
    return from_dict({"spec": {"containers": named, **spec}}, Pod)


LIMITED, UNLIMITED_C = container(BOTH, BOTH), container()
SIDECAR = container({}, BOTH, restartPolicy="Always", name="s")


def test_a_guaranteed_pod() -> None:
    found = resource_config_for_pod(pod(LIMITED, LIMITED))
    assert found == ResourceConfig(cpu_shares=1024, cpu_quota=100_000, cpu_period=100_000, memory=200)
    assert found.cpu_weight == 39
    assert ResourceConfig().cpu_weight is None


def test_a_best_effort_pod_has_the_minimum_of_shares_and_no_limit() -> None:
    assert resource_config_for_pod(pod(UNLIMITED_C), pids_limit=9) == ResourceConfig(cpu_shares=2, pids_limit=9)


@pytest.mark.parametrize(
    ("made", "declared"),
    [
        (pod(container({}, BOTH)), (True, True)),
        (pod(LIMITED, UNLIMITED_C), (False, False)),
        (pod(LIMITED, container({}, {"cpu": "1"})), (True, False)),
        (pod(LIMITED, container({}, {"cpu": "0", "memory": "1"})), (False, True)),
        (pod(LIMITED, initContainers=[container(name="i")]), (False, False)),
        (pod(LIMITED, initContainers=[container({}, BOTH, name="i")]), (True, True)),
        (pod(LIMITED, initContainers=[SIDECAR, container(name="i")]), (True, True)),
        (pod(LIMITED, initContainers=[container(name="i"), SIDECAR]), (False, False)),
        (pod(LIMITED, initContainers=[container({}, BOTH, name="i"), container(name="j")]), (False, False)),
        (pod(UNLIMITED_C, resources={"limits": BOTH}), (True, True)),
        (pod(UNLIMITED_C, resources={"limits": {"cpu": "1"}}), (True, False)),
        (pod(LIMITED, resources={"limits": {"cpu": "0"}}), (True, True)),
    ],
    ids=["limits only", "one without", "one without memory", "0 is none", "init without", "init with",
         "a sidecar's counts after it", "but not before it", "an init container's does not", "of the pod",
         "of the pod for CPU", "0 of the pod is none"],
)  # fmt: skip
def test_a_limit_of_the_pod_needs_one_of_each_container(made: Pod, declared: tuple[bool, bool]) -> None:
    """Source: ResourceConfigForPod."""
    totals = pod_totals(made)
    assert (totals.cpu_limits_declared, totals.memory_limits_declared) == declared
    if totals.qos == "Burstable":
        found = resource_config_for_pod(made)
        assert (found.cpu_quota is not None, found.memory is not None) == declared
        assert (found.cpu_period is not None) is declared[0]


def test_without_enforced_limits_the_quota_is_unlimited() -> None:
    found = resource_config_for_pod(pod(LIMITED), enforce_cpu_limits=False, cpu_period=5000)
    assert (found.cpu_quota, found.cpu_period, found.cpu_shares) == (-1, 5000, 512)
    assert resource_config_for_pod(pod(LIMITED), cpu_period=5000).cpu_quota == 2500


@pytest.mark.parametrize(
    ("made", "release", "expected"),
    [
        (pod(LIMITED), "1.36", {"memory.min": "100"}),
        (pod(container(BOTH)), "1.36", {"memory.low": "100"}),
        (pod(container(BOTH)), "1.35", {"memory.min": "100"}),
        (pod(container({"memory": "1"})), "1.36", {"memory.low": "1"}),
        (pod(container({"cpu": "1"})), "1.36", {}),
        (pod(UNLIMITED_C), "1.36", {}),
    ],
)
def test_the_request_is_protected_where_memory_is_reserved(made: Pod, release: str, expected: dict[str, str]) -> None:
    found = resource_config_for_pod(made, memory_reservation=True, release=Release(release))
    assert found.unified == expected
    assert resource_config_for_pod(made, release=Release(release)).unified == {}


def test_totals_of_what_is_missing_are_zero() -> None:
    totals = pod_totals(pod(container({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})))
    assert (totals.cpu_request, totals.cpu_limit, totals.memory_request, totals.memory_limit) == (0, 0, 0, 0)
    assert totals.huge_pages == {2**21: 2**22}


def test_a_list_of_resources() -> None:
    amounts = {
        name: Quantity(text) for name, text in {"cpu": "2", "memory": "5", "pid": "7", "hugepages-2Mi": "2Mi"}.items()
    }
    whole = ResourceConfig(cpu_shares=2048, memory=5, pids_limit=7, huge_page_limit={2**21: 2**21})
    assert resource_config_for_list(amounts) == whole
    assert resource_config_for_list(amounts, compressible_only=True) == ResourceConfig(cpu_shares=2048)
    assert resource_config_for_list({}) == ResourceConfig()

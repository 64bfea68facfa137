"""What the kubelet's start rejects, rule by rule, with both sides of every bound."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.app.settings_validation import validate
from kitlib.kubelet.config.settings import KubeletSettings, ReservedMemory

NOW = Release("1.36")
ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
RESERVED = {"system_reserved_cgroup": "/system", "kube_reserved_cgroup": "/kube"}


def problems(release: Release = NOW, **settings: Any) -> list[str]:
    """Return the messages without the words that all of them begin with."""
    return [text.removeprefix("invalid configuration: ") for text in validate(KubeletSettings(**settings), release)]


def test_the_defaults_are_valid_in_every_release() -> None:
    for name in ("1.24", "1.30", "1.36"):
        assert problems(Release(name)) == []


@pytest.mark.parametrize(
    ("settings", "valid"),
    [
        ({"cpu_cfs_quota_period": 999}, False),
        ({"cpu_cfs_quota_period": 1_000}, True),
        ({"cpu_cfs_quota_period": 1_000_000}, True),
        ({"cpu_cfs_quota_period": 1_000_001}, False),
        ({"max_pods": -1}, False),
        ({"max_pods": 0}, True),
        ({"pods_per_core": -1}, False),
        ({"pods_per_core": 0}, True),
        ({"oom_score_adj": -1001}, False),
        ({"oom_score_adj": -1000}, True),
        ({"oom_score_adj": 1000}, True),
        ({"oom_score_adj": 1001}, False),
        ({"image_gc_high_threshold_percent": 100, "image_gc_low_threshold_percent": 99}, True),
        ({"image_gc_high_threshold_percent": 101, "image_gc_low_threshold_percent": 99}, False),
        ({"image_gc_high_threshold_percent": 1, "image_gc_low_threshold_percent": 0}, True),
        ({"image_gc_high_threshold_percent": 1, "image_gc_low_threshold_percent": -1}, False),
        ({"image_gc_high_threshold_percent": 80, "image_gc_low_threshold_percent": 80}, False),
        ({"image_gc_high_threshold_percent": 81, "image_gc_low_threshold_percent": 80}, True),
        ({"image_minimum_gc_age": -1}, False),
        ({"image_minimum_gc_age": 0}, True),
        ({"image_minimum_gc_age": -2, "image_maximum_gc_age": -1}, False),
        ({"image_minimum_gc_age": 60, "image_maximum_gc_age": 60}, False),
        ({"image_minimum_gc_age": 60, "image_maximum_gc_age": 61}, True),
        ({"memory_throttling_factor": 0.0}, False),
        ({"memory_throttling_factor": 0.01}, True),
        ({"memory_throttling_factor": 1.0}, True),
        ({"memory_throttling_factor": 1.01}, False),
        ({"system_cgroups": "/system"}, False),
        ({"system_cgroups": "/system", "cgroup_root": "/"}, True),
        ({"cgroup_root": "/"}, True),
    ],
)
def test_a_bound_includes_its_limits(settings: dict[str, Any], valid: bool) -> None:
    assert (problems(feature_gates={"CustomCPUCFSQuotaPeriod": True}, **settings) == []) is valid


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_pods": -5}, "maxPods (--max-pods) -5 must not be a negative number"),
        ({"pods_per_core": -5}, "podsPerCore (--pods-per-core) -5 must not be a negative number"),
        ({"oom_score_adj": 2000}, "oomScoreAdj (--oom-score-adj) 2000 must be between -1000 and 1000, inclusive"),
        ({"image_minimum_gc_age": -60}, "imageMinimumGCAge -1m0s must not be negative"),
        ({"image_maximum_gc_age": -60}, "imageMaximumGCAge -1m0s must not be negative"),
        (
            {"image_maximum_gc_age": 100},
            "imageMaximumGCAge 1m40s must be greater than imageMinimumGCAge 2m0s",
        ),
        ({"cgroup_driver": "systemctl"}, 'unrecognized cgroup driver "systemctl": use cgroupfs or systemd'),
        ({"cpu_manager_policy": "Static"}, 'unknown policy: "Static"'),
        ({"memory_manager_policy": "static"}, 'unknown policy: "static"'),
        (
            {"topology_manager_policy": "best"},
            'topologyManagerPolicy (--topology-manager-policy) "best" must be one of: '
            '["none" "best-effort" "restricted" "single-numa-node"]',
        ),
        (
            {"topology_manager_scope": "node"},
            'topologyManagerScope (--topology-manager-scope) "node" must be one of: "container", or "pod"',
        ),
        (
            {"memory_swap_behavior": "Swap"},
            'memorySwap.swapBehavior "Swap" must be one of: "", "LimitedSwap" or "NoSwap"',
        ),
        (
            {"memory_reservation_policy": "All"},
            'option "All" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"',
        ),
        (
            {"kube_reserved": {"cores": Quantity("1")}},
            '--kube-reserved value failed to parse: cannot reserve "cores" resource',
        ),
        (
            {"system_reserved": {"pid": Quantity("-1")}},
            '--system-reserved value failed to parse: resource quantity for "pid" cannot be negative: -1',
        ),
        (
            {"reserved_memory": (ReservedMemory(1, {"hugepages": Quantity("1")}),)},
            'the limit type "hugepages" for NUMA node 1 is not supported, '
            "only [memory hugepages-<HugePageSize>] is accepted",
        ),
        (
            {"reserved_memory": (ReservedMemory(1, {"hugepages-2Mi": Quantity("0")}),)},
            'reserved memory may not be zero for NUMA node 1 and resource "hugepages-2Mi"',
        ),
        (
            {"reserved_memory": (ReservedMemory(0, {"memory": Quantity("1")}),) * 2},
            'the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
        ),
    ],
)
def test_a_message_is_the_kubelets(settings: dict[str, Any], expected: str) -> None:
    assert problems(**settings) == [expected]


def test_what_can_be_reserved() -> None:
    amounts = {name: Quantity("0") for name in ("cpu", "memory", "ephemeral-storage", "pid")}
    assert problems(kube_reserved=amounts, system_reserved=amounts) == []
    other_node = (ReservedMemory(0, {"memory": Quantity("1")}), ReservedMemory(1, {"memory": Quantity("1")}))
    assert problems(reserved_memory=other_node) == []


@pytest.mark.parametrize(
    ("gates", "seconds", "expected"),
    [
        (True, 1, []),
        (True, 0.5, ["CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) must be set between 1s and 300s"]),
        (True, 300, []),
        (True, 301, ["CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s"]),
        (False, 300, []),
        (
            False,
            60,
            [
                "FeatureGate KubeletCrashLoopBackOffMax not enabled, "
                "CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
            ],
        ),
    ],
)
def test_the_longest_restart_back_off(gates: bool, seconds: float, expected: list[str]) -> None:
    found = problems(crash_loop_back_off_max=seconds, feature_gates={"KubeletCrashLoopBackOffMax": gates})
    assert found == expected


@pytest.mark.parametrize(
    ("gate", "settings", "expected"),
    [
        (
            "CustomCPUCFSQuotaPeriod",
            {"cpu_cfs_quota_period": 10_000},
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {10ms} requires feature gate CustomCPUCFSQuotaPeriod",
        ),
        (
            "MemoryQoS",
            {"memory_reservation_policy": "TieredReservation"},
            'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
        ),
    ],
)
def test_a_setting_needs_its_gate(gate: str, settings: dict[str, Any], expected: str) -> None:
    assert problems(**settings, feature_gates={gate: False}) == [expected]
    assert problems(**settings, feature_gates={gate: True}) == []


def test_settings_of_gates_that_a_release_does_not_enable() -> None:
    gate = "ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge"
    assert problems(Release("1.29"), image_maximum_gc_age=300) == [gate]
    swap = "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    assert problems(Release("1.27"), memory_swap_behavior="NoSwap") == [swap]
    assert problems(Release("1.27")) == []
    assert problems(image_maximum_gc_age=300, memory_swap_behavior="NoSwap") == []


def needs(kind: str) -> str:
    whole, part = f'"{kind}-reserved"', f'"{kind}-reserved-compressible"'
    setting = f"{kind}ReservedCgroup (--{kind}-reserved-cgroup)"
    return f"{setting} must be specified when {whole} or {part} included in {ENFORCE}"


@pytest.mark.parametrize(
    ("wanted", "settings", "expected"),
    [
        ("none", {}, []),
        ("none", {"cgroups_per_qos": False}, []),
        ("", {"cgroups_per_qos": False}, []),
        (
            "pods",
            {"cgroups_per_qos": False},
            [f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in {ENFORCE}'],
        ),
        ("pods none", {}, [f'{ENFORCE} may not contain additional enforcements when "none" is specified']),
        ("pods pods", {}, [f'duplicated enforcements "pods" in {ENFORCE}']),
        ("system-reserved", {}, [needs("system")]),
        ("system-reserved-compressible", {}, [needs("system")]),
        ("kube-reserved", {}, [needs("kube")]),
        ("kube-reserved-compressible", {}, [needs("kube")]),
        ("pods system-reserved kube-reserved-compressible", RESERVED, []),
        (
            "system-reserved-compressible system-reserved",
            RESERVED,
            [f'both "system-reserved" and "system-reserved-compressible" cannot be specified together in {ENFORCE}'],
        ),
        (
            "kube-reserved kube-reserved-compressible",
            RESERVED,
            [f'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together in {ENFORCE}'],
        ),
        (
            "all",
            {"cgroups_per_qos": False},
            [
                f'option "all" specified for {ENFORCE}. Valid options are "pods", "system-reserved", '
                '"system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"'
            ],
        ),
        (
            "kube-reserved",
            {"cgroups_per_qos": False},
            [
                needs("kube"),
                f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "kube-reserved" contained in {ENFORCE}',
            ],
        ),
    ],
)
def test_the_enforcement_of_node_allocatable(wanted: str, settings: dict[str, Any], expected: list[str]) -> None:
    assert problems(enforce_node_allocatable=tuple(wanted.split()), **settings) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"system_reserved_cgroup": "/s"}, [True]),
        ({"kube_reserved_cgroup": "/k"}, [True]),
    ],
)
def test_reserved_cpus_exclude_the_cgroups_of_reservations(settings: dict[str, Any], expected: list[bool]) -> None:
    found = problems(reserved_system_cpus="0-1", **settings)
    assert [text.startswith("can't use reservedSystemCPUs (--reserved-cpus) with") for text in found] == expected
    assert problems(**settings) == []


def test_a_list_of_cpus_is_parsed() -> None:
    (text,) = problems(reserved_system_cpus="3-1")
    assert text.startswith("unable to parse reservedSystemCPUs (--reserved-cpus) 3-1, error: invalid range")


@pytest.mark.parametrize(
    ("off", "on", "expected"),
    [
        ("PodLevelResources", "PodLevelResourceManagers", "[PodLevelResources]"),
        ("InPlacePodVerticalScaling", "InPlacePodVerticalScalingExclusiveCPUs", "[InPlacePodVerticalScaling]"),
        ("PodLevelResources", "PodLevelResources", ""),
    ],
)
def test_a_gate_depends_on_others(off: str, on: str, expected: str) -> None:
    """Source: features.defaultKubernetesFeatureGateDependencies, featureGate.Validate."""
    gates = NOW.with_gates({off: False, on: on != off})
    found = validate(KubeletSettings(), gates)
    wanted = f"{on} is enabled, but depends on features that are disabled: {expected}"
    assert (wanted in found) is bool(expected)


def test_an_unknown_gate_is_the_only_message_about_gates() -> None:
    gates = {"InPlacePodVerticalScaling": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
    assert problems(Release("1.24"), feature_gates=gates) == ["unrecognized feature gate: InPlacePodVerticalScaling"]


def test_other_parts_report_their_own_problems() -> None:
    assert problems(qos_reserved={"memory": "101%"})[0].startswith("--qos-reserved value failed to parse: ")
    assert problems(eviction_hard={"memory.free": "1Gi"}) == ["unsupported eviction signal memory.free"]
    (options,) = problems(cpu_manager_policy_options={"full-pcpus-only": "true"})
    assert options.startswith("new none policy error: ")
    assert problems(shutdown_grace_period=0.5) != []

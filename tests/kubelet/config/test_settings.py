"""Every setting of the kubelet does something: the rest of the rows, whether any is missing, what is refused."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import kitlib
from kitlib.api.errors import KitError
from kitlib.api.release import DEFAULTS, RELEASES, Release
from kitlib.kubelet.config.parsing import field_name
from kitlib.kubelet.config.settings import BY_RELEASE, KubeletSettings
from tests.kubelet.config import (
    test_settings_of_cgroups,
    test_settings_of_eviction,
    test_settings_of_garbage,
    test_settings_of_managers,
)
from tests.kubelet.config.settings_seen import (
    ALL,
    CRASHING,
    MEMORY_QOS,
    MI,
    Row,
    after,
    allocatable,
    check,
    file,
    names,
    phases,
    restarts,
    score,
    start,
)

ROWS = [
    Row(
        "cpu_cfs_quota",
        ["--cpu-cfs-quota=false"],
        ALL,
        file("cpu.max", kind="pod", of="b"),
        "100000 100000",
        "max 100000",
    ),
    Row(
        "cpu_cfs_quota_period",
        ["--cpu-cfs-quota-period=10ms"],
        ALL,
        file("cpu.max", kind="container", of="b"),
        "100000 100000",
        "10000 10000",
        ["--feature-gates=CustomCPUCFSQuotaPeriod=true"],
    ),
    Row("pod_pids_limit", ["--pod-max-pids=100"], ALL, file("pids.max", kind="pod", of="e"), "max", "100"),
    Row("max_pods", ["--max-pods=2"], ALL, phases, (3,), (2, "OutOfpods")),
    Row("pods_per_core", ["--pods-per-core=1"], ALL, allocatable("pods"), "110", "4"),
    Row("oom_score_adj", ["--oom-score-adj=-500"], ALL, score, -999, -500),
    Row(
        "memory_throttling_factor",
        {"memoryThrottlingFactor": 0.5},
        ALL,
        file("memory.high", kind="container", of="b"),
        "max",
        str((256 + 128) * MI),
    ),
    Row(
        "memory_reservation_policy",
        {"memoryReservationPolicy": "TieredReservation"},
        ALL,
        file("memory.low", kind="container", of="b"),
        "0",
        str(256 * MI),
        MEMORY_QOS,
    ),
    Row(
        "memory_swap_behavior",
        {"memorySwap": {"swapBehavior": "LimitedSwap"}},
        ALL,
        file("memory.swap.max", kind="container", of="b"),
        "0",
        str(256 * MI // 4),
        {"failSwapOn": False, "cgroupDriver": "systemd"},
        {"swap": "2Gi"},
    ),
    Row(
        "single_process_oom_kill",
        {"singleProcessOOMKill": True},
        ALL,
        file("memory.oom.group", kind="container", of="b"),
        "1",
        "0",
    ),
    Row(
        "crash_loop_back_off_max",
        {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}},
        [CRASHING],
        after(60, restarts),
        3,
        20,
        {"featureGates": {"KubeletCrashLoopBackOffMax": True}},
    ),
    Row(
        "feature_gates",
        {"featureGates": {"MemoryQoS": False}},
        ALL,
        file("memory.high", kind="container", of="b"),
        str((256 + 128) * MI),
        "max",
        {"memoryThrottlingFactor": 0.5},
    ),
]


REFUSALS = [
    # settings, what the machine is, cgroup version, the kubelet's words
    (["--cgroups-per-qos=false"], {}, 2, "cgroupsPerQOS (--cgroups-per-qos) must be set to true when"),
    (["--enforce-node-allocatable=system-reserved"], {}, 2, "systemReservedCgroup (--system-reserved-cgroup) must be"),
    (["--enforce-node-allocatable=kube-reserved"], {}, 2, "kubeReservedCgroup (--kube-reserved-cgroup) must be"),
    (["--enforce-node-allocatable=none,pods"], {}, 2, "may not contain additional enforcements when"),
    (["--system-cgroups=/sys"], {}, 2, "systemCgroups (--system-cgroups) was specified and cgroupRoot"),
    (["--system-cgroups=/", "--cgroup-root=/"], {}, 2, 'system container cannot be root ("/")'),
    (["--reserved-cpus=0", "--kube-reserved-cgroup=/k"], {}, 2, "can't use reservedSystemCPUs (--reserved-cpus) with"),
    (["--reserved-cpus=0-9"], {}, 2, "reserved-cpus: 0-9 is not a subset of online-cpus: 0-3"),
    (["--kube-reserved=cpu=5"], {}, 2, 'Resource "cpu" has a reservation of'),
    (["--qos-reserved=cpu=10%"], {}, 2, 'cannot reserve "cpu" resource'),
    (["--cpu-manager-policy=static"], {}, 2, "[cpumanager] unable to determine reserved CPU resources for static"),
    (
        ["--cpu-cfs-quota-period=10ms", "--feature-gates=CustomCPUCFSQuotaPeriod=false"],
        {},
        2,
        "requires feature gate CustomCPUCFSQuotaPeriod",
    ),
    (["--eviction-soft=memory.available<1Gi"], {}, 2, "grace period must be specified for the soft eviction threshold"),
    (
        ["--memory-manager-policy=Static"],
        {},
        2,
        'the total amount "0" of type "memory" is not equal to the value "100Mi"',
    ),
    (["--oom-score-adj=2000"], {}, 2, "oomScoreAdj (--oom-score-adj) 2000 must be between -1000 and 1000"),
    ([], {"swap": "1Gi"}, 2, "running with swap on is not supported"),
    ({"failCgroupV1": True}, {}, 1, "kubelet is configured to not run on a host using cgroup v1"),
    ({"singleProcessOOMKill": False}, {}, 1, "singleProcessOOMKill must not be explicitly set to false"),
    (["--image-gc-high-threshold=120"], {}, 2, "imageGCHighThresholdPercent (--image-gc-high-threshold) 120 must be"),
    (
        ["--image-gc-low-threshold=-1"],
        {},
        2,
        "imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be",
    ),
    (["--image-gc-low-threshold=90"], {}, 2, "90 must be less than imageGCHighThresholdPercent (--image-gc-high-"),
    ({"imageMaximumGCAge": "-1m"}, {}, 2, "imageMaximumGCAge -1m0s must not be negative"),
    ({"imageMaximumGCAge": "90s"}, {}, 2, "imageMaximumGCAge 1m30s must be greater than imageMinimumGCAge 2m0s"),
    (
        {
            "featureGates": {
                "PodLevelResources": False,
                "InPlacePodLevelResourcesVerticalScaling": False,
                "PodLevelResourceManagers": True,
            }
        },
        {},
        2,
        "PodLevelResourceManagers is enabled, but depends on features that are disabled: [PodLevelResources]",
    ),
    (
        {"memoryReservationPolicy": "TieredReservation", "featureGates": {"MemoryQoS": False}},
        {},
        2,
        "requires MemoryQoS feature gate to be enabled",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    check(row)


@pytest.mark.parametrize(("flags", "machine", "version", "message"), REFUSALS)
def test_a_node_does_not_start_with_a_wrong_combination(
    flags: Any, machine: dict[str, Any], version: int, message: str
) -> None:
    with pytest.raises(KitError) as caught:
        start(flags, machine, version)
    assert message in str(caught.value)


def test_every_setting_is_in_the_table() -> None:
    elsewhere = {
        "allowed_unsafe_sysctls",  # in tests/kubelet/loop/test_predicate.py
        "extra",  # what enforcement does not depend on
        "fail_swap_on",  # decide only whether the kubelet starts: among the refusals
        "fail_cgroup_v1",
        "reserved_memory",  # together with memory_manager_policy
        "cpu_manager_reconcile_period",  # in tests/kubelet/loop/test_cpu_reconciler.py
        "shutdown_grace_period",  # in tests/kubelet/loop/test_node_shutdown.py
        "shutdown_grace_period_critical_pods",
        "shutdown_grace_period_by_pod_priority",
        "back_off_base",  # the kit's own, no setting of the kubelet
    }
    subjects = (
        test_settings_of_cgroups,
        test_settings_of_eviction,
        test_settings_of_garbage,
        test_settings_of_managers,
    )
    rows = [*ROWS, *(row for subject in subjects for row in subject.ROWS)]
    assert {f.name for f in fields(KubeletSettings)} - elsewhere == {row.setting for row in rows}


OWN = {"failCgroupV1": "cgroup v1 and v2 are compared in every release"}
"""Settings that keep a default of the kit's own, with the reason."""


def test_a_default_that_the_table_of_releases_has_is_written_nowhere_else():
    """Each field named like a row of the table is None until the release is known."""
    literal = []
    for place in sorted(Path(kitlib.__file__).parent.rglob("*.py")):
        text = place.read_text(encoding="utf-8")
        if not any(field_name(name) in DEFAULTS for name in set(re.findall(r"(\w+)\s*:", text))):
            continue  # to parse every file takes seconds
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                row = field_name(node.target.id)
                if row in DEFAULTS and row not in OWN and ast.unparse(node.value) != "None":
                    literal.append(f"{place.name}: {ast.unparse(node)}")
    assert literal == []


def test_a_setting_that_was_not_given_has_the_releases_default():
    for attribute, row in BY_RELEASE.items():
        for release in RELEASES:
            assert getattr(KubeletSettings().with_defaults(Release(release)), attribute) == Release(release).default(
                row
            )
    assert KubeletSettings(memory_throttling_factor=0.5).with_defaults(Release("1.36")).memory_throttling_factor == 0.5

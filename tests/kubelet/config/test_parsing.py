"""The kubelet's settings from flags and from configuration fields: names, types, precedence and messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kitlib.api.resource import Quantity
from kitlib.kubelet.config.parsing import field_name, from_configuration, from_flags, load_file, load_text
from kitlib.kubelet.config.settings import DEFAULT_EVICTION_HARD, KubeletSettings, ReservedMemory, SettingsError


@pytest.mark.parametrize(
    ("attribute", "field"),
    [
        ("max_pods", "maxPods"),
        ("cgroups_per_qos", "cgroupsPerQOS"),
        ("reserved_system_cpus", "reservedSystemCPUs"),
        ("cpu_cfs_quota", "cpuCFSQuota"),
        ("single_process_oom_kill", "singleProcessOOMKill"),
        ("image_minimum_gc_age", "imageMinimumGCAge"),
        ("fail_cgroup_v1", "failCgroupV1"),
        ("pod_pids_limit", "podPidsLimit"),
    ],
)
def test_a_field_has_its_name_in_camel_case(attribute: str, field: str) -> None:
    assert field_name(attribute) == field


@pytest.mark.parametrize(
    ("flags", "attribute", "expected"),
    [
        ("--max-pods=0x10", "max_pods", 16),
        ("--max-pods 010", "max_pods", 8),
        ("--max-pods=+7", "max_pods", 7),
        ("--oom-score-adj=-999", "oom_score_adj", -999),
        ("--pod-max-pids=-1", "pod_pids_limit", -1),
        ("--cgroups-per-qos", "cgroups_per_qos", True),
        ("--cgroups-per-qos=f", "cgroups_per_qos", False),
        ("--fail-swap-on=FALSE", "fail_swap_on", False),
        ("--cpu-cfs-quota-period=10ms", "cpu_cfs_quota_period", 10_000),
        ("--node-status-update-frequency=1m30s", "node_status_update_frequency", 90),
        ("--allowed-unsafe-sysctls=net.*,,kernel.shm*", "allowed_unsafe_sysctls", ("net.*", "kernel.shm*")),
        ("--enforce-node-allocatable=", "enforce_node_allocatable", ()),
        ("--eviction-hard=", "eviction_hard", {}),
        ("--eviction-hard=a<1,b<2%", "eviction_hard", {"a": "1", "b": "2%"}),
        ("--eviction-soft-grace-period=a=1m", "eviction_soft_grace_period", {"a": "1m"}),
        ("--eviction-minimum-reclaim=a=1,", "eviction_minimum_reclaim", {"a": "1"}),
        ("--eviction-max-pod-grace-period=5", "eviction_max_pod_grace_period", 5),
        ("--eviction-pressure-transition-period=5s", "eviction_pressure_transition_period", 5),
        ("--feature-gates=A=true,B=0", "feature_gates", {"A": True, "B": False}),
        ("--kube-reserved=cpu=1,memory=2Gi", "kube_reserved", {"cpu": Quantity("1"), "memory": Quantity("2Gi")}),
        ("--qos-reserved=memory=50%", "qos_reserved", {"memory": "50%"}),
        ("--reserved-cpus=0-1", "reserved_system_cpus", "0-1"),
        ("--reserved-memory=", "reserved_memory", ()),
        (
            "--reserved-memory=0:memory=1Gi,hugepages-1Mi=2Gi;1:memory=2Gi",
            "reserved_memory",
            (
                ReservedMemory(0, {"memory": Quantity("1Gi"), "hugepages-1Mi": Quantity("2Gi")}),
                ReservedMemory(1, {"memory": Quantity("2Gi")}),
            ),
        ),
    ],
)
def test_the_text_of_a_flag_becomes_a_value(flags: str, attribute: str, expected: Any) -> None:
    assert getattr(from_flags(flags.split()), attribute) == expected


@pytest.mark.parametrize(
    ("flags", "attribute", "expected"),
    [
        ("--max-pods=1 --max-pods=2", "max_pods", 2),
        (
            "--kube-reserved=cpu=1 --kube-reserved=cpu=2,pid=9",
            "kube_reserved",
            {"cpu": Quantity("2"), "pid": Quantity("9")},
        ),
        ("--eviction-hard=a<1 --eviction-hard=b<2", "eviction_hard", {"a": "1", "b": "2"}),
        ("--feature-gates=A=true --feature-gates=B=true", "feature_gates", {"A": True, "B": True}),
        (
            "--enforce-node-allocatable=pods --enforce-node-allocatable=kube-reserved",
            "enforce_node_allocatable",
            ("pods", "kube-reserved"),
        ),
        (
            "--reserved-memory=0:memory=1 --reserved-memory=1:memory=2",
            "reserved_memory",
            (ReservedMemory(0, {"memory": Quantity("1")}), ReservedMemory(1, {"memory": Quantity("2")})),
        ),
    ],
)
def test_a_repeated_flag_adds_to_maps_and_lists(flags: str, attribute: str, expected: Any) -> None:
    """Source: MapStringString.Set, which empties the map at its first call only; pflag's stringSliceValue.Set."""
    assert getattr(from_flags(flags.split()), attribute) == expected


BOOL = 'strconv.ParseBool: parsing "{}": invalid syntax'


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("max-pods", "many", 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("max-pods", "09", 'strconv.ParseInt: parsing "09": invalid syntax'),
        ("max-pods", "1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("cpu-cfs-quota", "tRue", BOOL.format("tRue")),
        ("feature-gates", "A=maybe", f"invalid value of A: maybe, err: {BOOL.format('maybe')}"),
        ("feature-gates", "A", "malformed pair, expect string=bool"),
        ("kube-reserved", "cpu", "malformed pair, expect string=string"),
        ("eviction-hard", "memory.available=1Gi", "malformed pair, expect string<string"),
        ("eviction-soft", "memory.available", "malformed pair, expect string<string"),
        ("eviction-minimum-reclaim", "memory.available<1Gi", "malformed pair, expect string=string"),
        (
            "reserved-memory",
            "memory=1Gi",
            "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], "
            "got memory=1Gi",
        ),
        ("reserved-memory", "a:memory=1Gi", "failed to convert the NUMA node ID, expected integer, got a"),
        ("reserved-memory", "0:memory", "the reserved limit has incorrect value, expected type=quantity, got memory"),
        ("reserved-memory", "0:cpu=1", 'memory type conversion error, unknown type: "cpu"'),
        ("reserved-memory", "0:memory=big", "failed to parse the quantity: big"),
    ],
)
def test_an_invalid_value_is_named_with_its_flag(flag: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        from_flags([f"--{flag}={value}"])
    assert error.value.problems == [f'invalid argument "{value}" for "--{flag}" flag: {message}']


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["max-pods=1"], "unknown command max-pods=1"),
        (["--max-podz=1"], "unknown flag: --max-podz"),
        (["--max-pods"], "flag needs an argument: --max-pods"),
        (["--cgroups-per-qos", "false"], "unknown command false"),
        (["--memory-throttling-factor=0.5"], "unknown flag: --memory-throttling-factor"),
        (["--image-maximum-gc-age=1h"], "unknown flag: --image-maximum-gc-age"),
    ],
)
def test_what_is_no_flag_is_rejected(flags: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as error:
        from_flags(flags)
    assert error.value.problems == [message]


def test_flags_without_effect_are_kept_as_they_are() -> None:
    made = from_flags(["--address=::", "--max-pods=3"], KubeletSettings(pods_per_core=2, extra={"port": 1}))
    assert (made.max_pods, made.pods_per_core, made.extra) == (3, 2, {"port": 1, "--address": "::"})


def test_flags_win_over_a_file_and_the_files_gates_stay(tmp_path: Path) -> None:
    """Source: kubeletConfigFlagPrecedence."""
    file = tmp_path / "kubelet.yaml"
    file.write_text("maxPods: 5\nkubeReserved: {cpu: 1, pid: 9}\nfeatureGates: {A: true, B: true}\n")
    made = from_flags(["--kube-reserved=cpu=2", "--feature-gates=B=false", f"--config={file}"])
    assert made.max_pods == 5
    assert made.kube_reserved == {"cpu": Quantity("2")}
    assert made.feature_gates == {"A": True, "B": False}
    assert from_flags([f"--config={tmp_path / 'none'}", "--config", str(file)]).max_pods == 5


@pytest.mark.parametrize(
    ("field", "value", "attribute", "expected"),
    [
        ("maxPods", 5, "max_pods", 5),
        ("maxPods", None, "max_pods", 110),
        ("memorySwap", {"swapBehavior": "NoSwap"}, "memory_swap_behavior", "NoSwap"),
        ("memorySwap", {}, "memory_swap_behavior", ""),
        ("crashLoopBackOff", {"maxContainerRestartPeriod": "1m"}, "crash_loop_back_off_max", 60),
        ("crashLoopBackOff", {}, "crash_loop_back_off_max", 300),
        ("evictionHard", {"memory.available": "1Gi"}, "eviction_hard", {"memory.available": "1Gi"}),
        ("enforceNodeAllocatable", ["pods", "none"], "enforce_node_allocatable", ("pods", "none")),
        ("featureGates", {"A": True}, "feature_gates", {"A": True}),
        ("memoryThrottlingFactor", 1, "memory_throttling_factor", 1.0),
        ("singleProcessOOMKill", False, "single_process_oom_kill", False),
        ("qosReserved", {"memory": "5%"}, "qos_reserved", {"memory": "5%"}),
        (
            "shutdownGracePeriodByPodPriority",
            [{"priority": 5, "shutdownGracePeriodSeconds": 10}],
            "shutdown_grace_period_by_pod_priority",
            ((5, 10),),
        ),
        (
            "reservedMemory",
            [{"numaNode": 1, "limits": {"memory": "1Gi"}}],
            "reserved_memory",
            (ReservedMemory(1, {"memory": Quantity("1Gi")}),),
        ),
    ],
)
def test_the_value_of_a_field_becomes_a_value(field: str, value: Any, attribute: str, expected: Any) -> None:
    made = from_configuration({"kind": "KubeletConfiguration", "apiVersion": "v1", field: value})
    assert getattr(made, attribute) == expected and made.extra == {}


def test_other_fields_are_kept_as_they_are() -> None:
    made = from_configuration({"port": 10250, "maximumDeadContainers": 3})
    assert made.extra == {"port": 10250, "maximumDeadContainers": 3}
    assert made.maximum_dead_containers == -1, "a flag only"


@pytest.mark.parametrize(
    ("merge", "expected"),
    [(True, {**DEFAULT_EVICTION_HARD, "nodefs.available": "1%"}), (False, {"nodefs.available": "1%"})],
)
def test_default_thresholds_are_merged_if_asked_for(merge: bool, expected: dict[str, str]) -> None:
    """Source: loadConfigFile."""
    data = {"evictionHard": {"nodefs.available": "1%"}, "mergeDefaultEvictionSettings": merge}
    assert from_configuration(data).eviction_hard == expected
    assert from_configuration({"mergeDefaultEvictionSettings": merge}).eviction_hard == DEFAULT_EVICTION_HARD


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("maxPods", "5", "a whole number is expected"),
        ("maxPods", True, "a whole number is expected"),
        ("cgroupsPerQOS", "true", "true or false is expected"),
        ("enforceNodeAllocatable", "pods", "a list of strings is expected"),
        ("enforceNodeAllocatable", [1], "a list of strings is expected"),
        ("kubeReserved", ["cpu"], "a mapping is expected"),
        ("reservedMemory", [1], "a list of mappings is expected"),
        ("reservedMemory", [{"limits": {}}], "'numaNode' is missing"),
        ("cpuManagerPolicy", {"a": 1}, "a string is expected"),
        ("cpuManagerPolicy", False, "a string is expected, found bool"),
        ("qosReserved", {"memory": ["5%"]}, "a string is expected, found list"),
    ],
)
def test_a_value_of_another_type_is_rejected(field: str, value: Any, problem: str) -> None:
    with pytest.raises(SettingsError) as error:
        from_configuration({field: value})
    assert error.value.problems == [f"{field}: Invalid value: {value!r}: {problem}"]


def test_another_kind_or_another_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a KubeletConfiguration is expected"):
        from_configuration({"kind": "Pod"})
    with pytest.raises(SettingsError, match=r"^x\.yaml: a mapping of configuration fields is expected$"):
        load_text("- maxPods", "x.yaml")
    missing = tmp_path / "none.yaml"
    with pytest.raises(SettingsError, match=r"failed to load kubelet config file .*: No such file or directory"):
        load_file(str(missing))

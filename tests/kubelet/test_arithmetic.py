"""Durations, CPU lists, conversions, names, thresholds: known figures, and what holds for any input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.kubelet.cm.cgroup_names import (
    CgroupNameError,
    Runtime,
    container_cgroup,
    new_cgroup_name,
    parse_cgroupfs,
    parse_systemd,
    to_cgroupfs,
    to_systemd,
)
from kitlib.kubelet.cm.conversions import (
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_milli_cpu,
    shares_to_weight,
    shares_to_weight_by_runtime,
)
from kitlib.kubelet.eviction.thresholds import (
    Observation,
    ThresholdError,
    node_conditions,
    parse_threshold_config,
    thresholds_met,
)
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus
from kitlib.kubelet.util.durations import duration, go_string, nanoseconds


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("1m30s", 90, "1m30s"),
        ("100ms", 0.1, "100ms"),
        ("5m", 300, "5m0s"),
        ("0", 0, "0s"),
        ("1.5h", 5400, "1h30m0s"),
        ("-5s", -5, "-5s"),
        ("1.5us", 1.5e-6, "1.5µs"),
        (7, 7, "7s"),
    ],
)
def test_durations_are_gos(text, seconds, shown):
    assert duration(text) == pytest.approx(seconds)
    assert go_string(duration(text)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", 'time: missing unit in duration "5"'),
        ("junk", 'time: invalid duration "junk"'),
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("3 days", 'time: unknown unit " days" in duration "3 days"'),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text, message):
    with pytest.raises(ValueError) as caught:
        nanoseconds(text)
    assert str(caught.value) == message


@given(st.integers(-(10**15), 10**15))
def test_a_duration_that_go_prints_is_read_back(microseconds):
    assert nanoseconds(go_string(microseconds / 1e6)) == pytest.approx(microseconds * 1000, abs=200)


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_is_read_back(cpus):
    assert parse_cpus(format_cpus(cpus)) == cpus


@pytest.mark.parametrize("text", ["0-", "-1", " 1", "a", "1,,2"])
def test_what_is_no_list_of_cpus_is_refused(text):
    with pytest.raises(ValueError, match="invalid syntax"):
        parse_cpus(text)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_cpu_is_never_a_smaller_figure(a, b):
    less, more = sorted((a, b))
    for convert in (milli_cpu_to_shares, milli_cpu_to_quota):
        assert convert(less) <= convert(more)
    for weight in (shares_to_weight, shares_to_weight_by_runtime):
        assert 1 <= weight(milli_cpu_to_shares(less)) <= weight(milli_cpu_to_shares(more)) <= 10_000


@given(st.integers(3, 256_000))
def test_shares_lose_at_most_a_thousandth_of_a_cpu(milli):
    assert shares_to_milli_cpu(milli_cpu_to_shares(milli)) in (milli - 1, milli)


_COMPONENT = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20).filter(
    lambda text: not text.startswith("-") and not text.endswith("-") and "--" not in text
)


@given(st.lists(_COMPONENT.filter(lambda text: "-" not in text), min_size=1, max_size=4), _COMPONENT)
def test_a_name_is_read_back_from_both_drivers_paths(above, leaf):
    name = new_cgroup_name(tuple(above), leaf)
    assert parse_cgroupfs(to_cgroupfs(name)) == name
    assert parse_systemd(to_systemd(name)) == name
    assert to_systemd(name).count("/") == len(name)


@pytest.mark.parametrize("component", ["a/b", "a_b"])
def test_a_component_that_would_be_read_as_two_is_refused(component):
    with pytest.raises(CgroupNameError):
        new_cgroup_name((), component)


POD, POD_SLICE = "/kubepods/podu", "/kubepods.slice/kubepods-podu.slice"
RUNTIMES = [
    # runtime, driver, pod's cgroup, container's cgroup
    (Runtime("containerd"), "systemd", POD_SLICE, f"{POD_SLICE}/cri-containerd-1f.scope"),
    (Runtime("cri-o"), "systemd", POD_SLICE, f"{POD_SLICE}/crio-1f.scope"),
    (Runtime("docker"), "systemd", POD_SLICE, f"{POD_SLICE}/docker-1f.scope"),
    (Runtime("containerd"), "cgroupfs", POD, f"{POD}/1f"),
    (Runtime("cri-o"), "cgroupfs", POD, f"{POD}/crio-1f"),
    (Runtime("docker"), "cgroupfs", POD, f"{POD}/1f"),
    (
        Runtime("containerd", cgroup_driver="cgroupfs"),
        "systemd",
        POD_SLICE,
        "/system.slice/containerd.service/kubepods-podu.slice:cri-containerd:1f",
    ),
]


@pytest.mark.parametrize(("runtime", "driver", "pod", "path"), RUNTIMES)
def test_each_runtime_names_containers_its_own_way(runtime, driver, pod, path):
    assert container_cgroup(pod, "1f", driver, runtime) == path


def test_a_systemd_runtime_under_a_cgroupfs_kubelet_is_refused():
    with pytest.raises(CgroupNameError, match="slice:prefix:name"):
        container_cgroup(POD, "1f", "cgroupfs", Runtime("containerd", cgroup_driver="systemd"))


def test_a_soft_threshold_has_its_grace_period_and_the_hard_memory_one_a_twin():
    found = parse_threshold_config(
        ["pods"],
        {"memory.available": "100Mi", "nodefs.available": "0%"},
        {"memory.available": "10%"},
        {"memory.available": "1m30s"},
        {"memory.available": "50Mi"},
    )
    assert [(t.signal, t.grace_period, str(t.value)) for t in found] == [
        ("memory.available", 0, "100Mi"),
        ("memory.available", 90, "10%"),
        ("allocatableMemory.available", 0, "100Mi"),
    ]


def test_minimum_reclaim_keeps_an_eviction_going():
    thresholds = parse_threshold_config((), {"memory.available": "100Mi"}, min_reclaim={"memory.available": "50Mi"})
    seen = {"memory.available": Observation(120 * 2**20, 2**30)}
    assert not thresholds_met(thresholds, seen)
    going_on = thresholds_met(thresholds, seen, min_reclaim=True)
    assert node_conditions(going_on) == ["MemoryPressure"]


def test_a_soft_threshold_without_a_grace_period_is_refused():
    with pytest.raises(ThresholdError, match="grace period must be specified for the soft eviction threshold"):
        parse_threshold_config((), {}, {"memory.available": "1Gi"})

"""Names of cgroups for both drivers, and of containers for each runtime."""

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


@pytest.mark.parametrize(
    ("runtime", "driver", "expected"),
    [
        ("containerd", "systemd", "/system.slice/cri-containerd-1f.scope"),
        ("cri-o", "systemd", "/system.slice/crio-1f.scope"),
        ("containerd", "cgroupfs", "/k8s.io/1f"),
        ("cri-o", "cgroupfs", "/cri-o/1f"),
        ("docker", "cgroupfs", "/docker/1f"),
    ],
)
def test_without_a_pods_cgroup_the_runtime_has_a_place_of_its_own(runtime, driver, expected):
    """Source: containerd getCgroupsPath; with --cgroups-per-qos=false."""
    assert container_cgroup("", "1f", driver, Runtime(runtime)) == expected


@pytest.mark.parametrize(
    ("runtime", "disabled", "expected"),
    [("containerd", True, False), ("containerd", False, True), ("cri-o", True, True), ("cri-o", False, True)],
)
def test_containerd_drops_limits_of_huge_pages_unless_it_is_told_otherwise(runtime, disabled, expected):
    assert Runtime(runtime, disable_hugetlb_controller=disabled).limits_huge_pages is expected

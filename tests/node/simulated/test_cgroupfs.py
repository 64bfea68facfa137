"""The cgroup files in memory behave as the kernel's: ranges, rounding, refusals; a desired tree reads back."""

import errno

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.examples import worked_node, worked_pods
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

UNLIMITED = "9223372036854771712"
MACHINE = MachineInfo.declare(4, "8Gi", huge_pages={"2Mi": 8})

KEPT = [
    # version, file, written, shown
    (1, "cpu.shares", "0", "2"),
    (1, "cpu.shares", "1", "2"),
    (1, "cpu.shares", "1000000", "262144"),
    (1, "cpu.cfs_quota_us", "-7", "-1"),
    (1, "cpu.cfs_quota_us", "50000", "50000"),
    (1, "memory.limit_in_bytes", "-1", UNLIMITED),
    (1, "memory.limit_in_bytes", "4097", "4096"),
    (1, "memory.limit_in_bytes", "1G", "1073741824"),
    (1, "hugetlb.2MB.limit_in_bytes", "3M", "2097152"),
    (1, "pids.max", "100", "100"),
    (2, "cpu.weight", "10000", "10000"),
    (2, "cpu.max", "50000", "50000 100000"),
    (2, "cpu.max", "max 20000", "max 20000"),
    (2, "memory.max", "max", "max"),
    (2, "memory.max", "10000", "8192"),
    (2, "memory.high", "1k", "0"),
    (2, "hugetlb.2MB.max", "9223372036854775807", "max"),
    (2, "pids.max", "max", "max"),
    (2, "cpuset.cpus", "3,0-1", "0-1,3"),
]
REFUSED = [
    (1, "cpu.shares", "-1", errno.EINVAL),
    (1, "cpu.shares", "many", errno.EINVAL),
    (1, "cpu.cfs_quota_us", "999", errno.EINVAL),
    (1, "cpu.cfs_period_us", "999", errno.EINVAL),
    (1, "cpu.cfs_period_us", "1000001", errno.EINVAL),
    (1, "memory.limit_in_bytes", "1x", errno.EINVAL),
    (1, "memory.usage_in_bytes", "0", errno.EINVAL),
    (1, "cpu.weight", "1", errno.ENOENT),
    (2, "cpu.weight", "0", errno.ERANGE),
    (2, "cpu.weight", "10001", errno.ERANGE),
    (2, "cpu.max", "500", errno.EINVAL),
    (2, "cpu.max", "max 0", errno.EINVAL),
    (2, "cpu.max", "1 2 3", errno.EINVAL),
    (2, "memory.max", "-1", errno.EINVAL),
    (2, "memory.oom.group", "2", errno.EINVAL),
    (2, "pids.max", "-1", errno.EINVAL),
    (2, "cpuset.cpus", "4", errno.ERANGE),
    (2, "cpuset.cpus", "3-1", errno.EINVAL),
    (2, "cpu.shares", "2", errno.ENOENT),
]


def file_system(version):
    made = SimulatedCgroupFS(version, MACHINE)
    made.makedirs("/a/b")
    return made


@pytest.mark.parametrize(("version", "file", "written", "shown"), KEPT)
def test_a_value_is_kept_as_the_kernel_does(version, file, written, shown):
    cgroups = file_system(version)
    cgroups.write("/a", file, written)
    assert cgroups.read("/a", file) == shown


@pytest.mark.parametrize(("version", "file", "written", "number"), REFUSED)
def test_a_value_is_refused_as_the_kernel_does(version, file, written, number):
    cgroups = file_system(version)
    with pytest.raises(CgroupError) as caught:
        cgroups.write("/a", file, written)
    assert caught.value.errno == number
    assert str(caught.value).startswith(errno.errorcode[number])


def test_v1_memory_and_swap_must_be_raised_first_and_lowered_last():
    cgroups = file_system(1)
    cgroups.write("/a", "memory.limit_in_bytes", "1M")
    cgroups.write("/a", "memory.memsw.limit_in_bytes", "1M")
    with pytest.raises(CgroupError, match="must not exceed"):
        cgroups.write("/a", "memory.limit_in_bytes", "2M")
    cgroups.write("/a", "memory.memsw.limit_in_bytes", "2M")
    cgroups.write("/a", "memory.limit_in_bytes", "2M")
    with pytest.raises(CgroupError, match="must not exceed"):
        cgroups.write("/a", "memory.memsw.limit_in_bytes", "1M")


def test_v1_a_child_may_not_have_more_of_a_cpu_than_its_parent():
    cgroups = file_system(1)
    cgroups.write("/a", "cpu.cfs_quota_us", "50000")
    with pytest.raises(CgroupError, match="more than /a may use"):
        cgroups.write("/a/b", "cpu.cfs_quota_us", "60000")
    cgroups.write("/a/b", "cpu.cfs_quota_us", "40000")
    with pytest.raises(CgroupError, match="less than /a/b may use"):
        cgroups.write("/a", "cpu.cfs_quota_us", "30000")


def test_v2_a_child_may_ask_for_more_than_its_parent_has():
    cgroups = file_system(2)
    cgroups.write("/a", "cpu.max", "50000")
    cgroups.write("/a/b", "cpu.max", "200000")
    assert cgroups.read("/a", "cpu.max").strip() == "50000 100000"
    assert cgroups.read("/a/b", "cpu.max").strip() == "200000 100000"


def test_v2_a_cgroup_with_processes_hands_no_memory_down_and_the_other_way_round():
    cgroups = SimulatedCgroupFS(2, MACHINE)
    cgroups.mkdir("/a")
    cgroups.attach("/a", 100)
    cgroups.enable("/")
    with pytest.raises(CgroupError, match="processes stand in it"):
        cgroups.write("/a", "cgroup.subtree_control", "+memory")
    cgroups.makedirs("/b/c")
    with pytest.raises(CgroupError, match="hands controllers down"):
        cgroups.attach("/b", 100)


def test_v2_files_appear_only_where_the_parent_hands_the_controller_down():
    cgroups = SimulatedCgroupFS(2, MACHINE)
    cgroups.mkdir("/a")
    with pytest.raises(CgroupError):
        cgroups.read("/a", "cpu.weight")
    cgroups.write("/", "cgroup.subtree_control", "+cpu")
    assert cgroups.read("/a", "cpu.weight") == "100"
    with pytest.raises(CgroupError):
        cgroups.read("/a", "memory.max")


@pytest.mark.parametrize(
    ("action", "number"),
    [
        (lambda c: c.mkdir("/a"), errno.EEXIST),
        (lambda c: c.mkdir("/x/y"), errno.ENOENT),
        (lambda c: c.rmdir("/a"), errno.EBUSY),
        (lambda c: c.rmdir("/"), errno.EBUSY),
        (lambda c: c.rmdir("/x"), errno.ENOENT),
        (lambda c: c.write("/", "cpu.shares", "5"), errno.EINVAL),
    ],
)
def test_directories_have_the_kernels_rules(action, number):
    with pytest.raises(CgroupError) as caught:
        action(file_system(1))
    assert caught.value.errno == number


def test_v1_a_cpuset_is_part_of_its_parents():
    cgroups = file_system(1)
    cgroups.write("/a/b", "cpuset.cpus", "2")
    with pytest.raises(CgroupError, match="uses others"):
        cgroups.write("/a", "cpuset.cpus", "0-1")
    cgroups.write("/a/b", "cpuset.cpus", "0")
    cgroups.write("/a", "cpuset.cpus", "0-1")
    with pytest.raises(CgroupError) as caught:
        cgroups.write("/a/b", "cpuset.cpus", "2")
    assert caught.value.errno == errno.EACCES


@pytest.mark.parametrize("version", [1, 2])
def test_the_worked_example_is_applied_and_reads_back_equal(version):
    node = worked_node()
    desired = desired_tree(node, worked_pods(), version=version)
    cgroups = SimulatedCgroupFS(version, node.machine)
    cgroups.apply(desired)
    assert desired.diff(cgroups.tree(desired.driver, desired)) == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_two_hundred_pods_read_back_equal(version, driver):
    pods = []
    for i in range(200):
        resources = {"requests": {"cpu": f"{i * 7 % 900}m", "memory": f"{i * 13 % 400}Mi"}}
        if i % 3:
            resources["limits"] = {"cpu": "2", "memory": "1Gi", **({"hugepages-2Mi": "4Mi"} if i % 5 == 0 else {})}
        data = {
            "metadata": {"name": f"p{i}", "uid": f"u{i}"},
            "spec": {"containers": [{"name": "c", "resources": resources}]},
        }
        pods.append(set_defaults(from_dict(data, Pod)))
    node = NodeConfig(machine=MACHINE)
    desired = desired_tree(node, pods, version=version, driver=driver)
    cgroups = SimulatedCgroupFS(version, MACHINE)
    cgroups.apply(desired)
    assert desired.diff(cgroups.tree(driver, desired)) == []
    cgroups.write("/kubepods" if driver == "cgroupfs" else "/kubepods.slice", "pids.max", "5")
    assert len(desired.diff(cgroups.tree(driver, desired))) <= 1

"""The virtual machine is what it was asked to be."""

import os

from kitlib.node.real.cgroupfs import RealCgroupFS


def test_the_machine_has_the_cgroup_version_that_its_boot_asked_for() -> None:
    assert f"v{RealCgroupFS().version}" == os.environ["KITLIB_VM"]


def test_every_controller_that_the_kubelet_writes_to_is_there() -> None:
    assert {"cpu", "cpuset", "memory", "hugetlb", "pids"} <= set(RealCgroupFS().controllers)

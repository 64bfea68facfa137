"""The machine is what its boot was asked to be."""

import os

import pytest

from kitlib.node.real.cgroupfs import RealCgroupFS

UML = os.environ.get("KITLIB_VM_MACHINE") == "uml"


def test_the_machine_has_the_cgroup_version_that_its_boot_asked_for() -> None:
    assert f"v{RealCgroupFS().version}" == os.environ["KITLIB_VM"]


@pytest.mark.parametrize("controller", ["cpu", "memory", "pids", *([] if UML else ["cpuset", "hugetlb"])])
def test_a_controller_that_the_kubelet_writes_to_is_there(controller: str) -> None:
    assert controller in RealCgroupFS().controllers

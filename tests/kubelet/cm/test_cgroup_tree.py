"""The kernel's files show other values than were written: whole pages, whole huge pages, clamped shares."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, kernel_shows

NO_LIMIT = 2**63 // 4096 * 4096 - 4096


@pytest.mark.parametrize(
    ("file", "value", "shown"),
    [
        ("memory.limit_in_bytes", "4096", "4096"),
        ("memory.limit_in_bytes", "8191", "4096"),
        ("memory.limit_in_bytes", "0", "0"),
        ("memory.limit_in_bytes", "-1", str(NO_LIMIT)),
        ("memory.limit_in_bytes", str(2**63 - 1), str(NO_LIMIT)),
        ("memory.max", "max", "max"),
        ("memory.max", "8191", "4096"),
        ("memory.high", "12288", "12288"),
        ("cpu.shares", "0", "2"),
        ("cpu.shares", "2", "2"),
        ("cpu.shares", "1024", "1024"),
        ("cpu.shares", "262145", "262144"),
        ("cpu.max", "50000", "50000 100000"),
        ("cpu.max", "50000 20000", "50000 20000"),
        ("cpu.weight", "79", "79"),
        ("hugetlb.2MB.max", "max", "max"),
        ("hugetlb.2MB.max", "3145728", "2097152"),
        ("hugetlb.2MB.max", str(2**63 - 1), "max"),
        ("hugetlb.2MB.max", str(2**40), str(2**40)),
        ("hugetlb.2MB.limit_in_bytes", str(2**63 - 1), str(2**63 - 2**21)),
        ("hugetlb.1GB.limit_in_bytes", "3221225471", "2147483648"),
    ],
)
def test_a_file_shows(file: str, value: str, shown: str) -> None:
    """Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; mm/hugetlb_cgroup.c."""
    assert kernel_shows(file, value) == shown


def observed(values: dict[str, dict[str, str]]) -> CgroupTree:
    return CgroupTree.observed(2, "cgroupfs", values)


@pytest.mark.parametrize(
    ("left", "right", "differences"),
    [
        ({"/a": {"cpu.weight": "1"}}, {"/a": {"cpu.weight": "1"}}, []),
        ({"/a": {"cpu.weight": "1"}}, {"/a": {"cpu.weight": "2"}}, ["/a/cpu.weight: 1 != 2"]),
        ({"/a": {"memory.max": "8191"}}, {"/a": {"memory.max": "4096"}}, []),
        ({"/a": {"memory.max": "8192"}}, {"/a": {"memory.max": "4096"}}, ["/a/memory.max: 8192 != 4096"]),
        ({"/a": {"cpu.weight": "1"}}, {"/a": {}}, ["/a/cpu.weight: 1 != missing"]),
        ({"/a": {}}, {"/a": {"cpu.weight": "1"}}, ["/a/cpu.weight: missing != 1"]),
        ({"/a": {}}, {}, ["/a: present != missing"]),
        ({}, {"/a": {}}, ["/a: missing != present"]),
    ],
)
def test_trees_differ_by_what_the_kernel_shows(
    left: dict[str, dict[str, str]], right: dict[str, dict[str, str]], differences: list[str]
) -> None:
    assert [str(one) for one in observed(left).diff(observed(right))] == differences
    assert (observed(left) == observed(right)) is not bool(differences)


def test_a_tree_by_parents_kinds_and_pods() -> None:
    cgroups = [
        Cgroup("/", "root"),
        Cgroup("/a", "pod", uid="u"),
        Cgroup("/a/b", "container", uid="u"),
        Cgroup("/c", "pod", uid="v"),
    ]
    tree = CgroupTree(2, "cgroupfs", cgroups)
    assert [one.path for one in tree.children("/")] == ["/a", "/c"]
    assert [one.path for one in tree.children("/a")] == ["/a/b"]
    assert [one.path for one in tree.of_kind("pod")] == ["/a", "/c"]
    assert [one.path for one in tree.of_pod("u")] == ["/a", "/a/b"]
    assert ("/a" in tree, ("a",) in tree, "/x" in tree, 3 in tree) == (True, True, False, False)
    assert tree.location("/a", "cpu.weight") == "/sys/fs/cgroup/a/cpu.weight"
    assert CgroupTree(1, "cgroupfs").location("/", "cpu.shares") == "/sys/fs/cgroup/cpu/cpu.shares"

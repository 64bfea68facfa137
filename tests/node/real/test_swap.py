"""A node that declares no swap gives its pods none, or reports that it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib.node.real import swap
from kitlib.node.real.cgroupfs import RealCgroupFS

COLUMNS = "Filename Type Size Used Priority\n"
SWAPS = {"swap": f"{COLUMNS}/dev/vdb partition 262140 0 -2\n", "no swap": COLUMNS, "no file": None}


def node(folder: Path, *, swap_max: str | None, swaps: str | None) -> tuple[RealCgroupFS, str]:
    """Return a cgroup v2 file system of ordinary files, and the machine's list of swap."""
    (folder / "cgroup.controllers").write_text("memory")
    (folder / "kubepods").mkdir()
    if swap_max is not None:
        (folder / "kubepods" / swap.SWAP_MAX).write_text(swap_max)
    listed = folder / "swaps"
    if swaps is not None:
        listed.write_text(swaps)
    return RealCgroupFS({"": str(folder)}), str(listed)


@pytest.mark.parametrize(
    ("there", "declared", "swap_max", "after", "says"),
    [
        ("swap", 0, "9", "0", "which no kubelet writes"),
        ("swap", 0, "0", "0", ""),
        ("swap", 2**28, "9", "9", ""),
        ("no swap", 0, "9", "9", ""),
        ("no file", 0, "9", "9", ""),
        ("swap", 0, None, None, "cannot be written"),
    ],
)
def test_pods_get_no_swap_where_the_node_declares_none(
    there: str, declared: int, swap_max: str | None, after: str | None, says: str, tmp_path: Path
) -> None:
    cgroups, swaps = node(tmp_path, swap_max=swap_max, swaps=SWAPS[there])
    said = swap.forbid(cgroups, "/kubepods", declared, swaps)
    file = tmp_path / "kubepods" / swap.SWAP_MAX
    assert (file.read_text() if after is not None else None) == after
    assert len(said) == bool(says) and all(says in one for one in said)


@pytest.mark.parametrize("counted", [True, False])
def test_on_v1_it_is_said_where_the_kernel_does_not_count_swap(counted: bool, tmp_path: Path) -> None:
    (tmp_path / "swaps").write_text(SWAPS["swap"] or "")
    if counted:
        (tmp_path / "memory.memsw.limit_in_bytes").write_text("0")
    cgroups = RealCgroupFS({"memory": str(tmp_path)})
    said = swap.forbid(cgroups, "/kubepods", 0, str(tmp_path / "swaps"))
    assert [("does not count it" in one) for one in said] == ([] if counted else [True])

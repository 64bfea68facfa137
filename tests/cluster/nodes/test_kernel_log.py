"""The kernel's log is the host's: a node shows the reports that are about itself."""

from __future__ import annotations

from kitlib.cluster.nodes.kernel_log import lines_of_node


def report(path: str, name: str) -> list[str]:
    return [
        f"<4>[1.0] {name} invoked oom-killer: gfp_mask=0xcc0",
        f"<6>[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg={path},task_memcg={path}/c,task={name},pid=7",
        f"<3>[1.0] Memory cgroup out of memory: Killed process 7 ({name})",
    ]


def test_reports_of_other_nodes_are_left_out() -> None:
    mine, pods = report("/docker/aaa/kubepods", "a"), report("/system.slice/x/poduid-1", "b")
    other = report("/docker/bbb/kubepods", "c")
    assert lines_of_node([*mine, *other, *pods], ["aaa", "uid-1"]) == [*mine, *pods]
    assert lines_of_node([], ["aaa"]) == []


def test_a_report_without_paths_is_shown_as_it_is() -> None:
    old = ["<4>[1.0] a invoked oom-killer", "<3>[1.0] Killed process 7 (a)"]
    assert lines_of_node(old, ["aaa"]) == old

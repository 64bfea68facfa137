"""What the kubelet does with system processes: who is moved, and who never is."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.system_cgroups import SystemProcess, kubelet_step, system_steps


def test_processes_of_the_root_cgroup_are_moved_but_process_1_and_kernel_threads() -> None:
    """Source: kubelet cm ensureSystemCgroups, isKernelPid."""
    processes = [
        SystemProcess(1, "systemd", "/"),
        SystemProcess(2, "kthreadd", "/", kernel=True),
        SystemProcess(300, "sshd", "/"),
        SystemProcess(400, "containerd", "/system.slice"),
    ]
    steps = system_steps(processes, "system/")
    assert [(step.process.pid, step.to) for step in steps] == [(1, ""), (2, ""), (300, "/system")]


@pytest.mark.parametrize(
    ("cgroup", "target", "to"),
    [("/", "", ""), ("/", "/kube", "/kube"), ("/kube", "kube", ""), ("/other", "kube", "/kube")],
)
def test_the_kubelet_moves_itself_only_where_it_is_not_there_yet(cgroup: str, target: str, to: str) -> None:
    """Source: kubelet cm ensureProcessInContainerWithOOMScore."""
    step = kubelet_step([SystemProcess(1, "systemd", "/"), SystemProcess(500, "kubelet", cgroup)], target, -999)
    assert step is not None and (step.process.pid, step.to, step.score) == (500, to, -999)


def test_without_a_kubelet_process_nothing_is_done() -> None:
    assert kubelet_step([SystemProcess(1, "systemd", "/")], "kube", -999) is None

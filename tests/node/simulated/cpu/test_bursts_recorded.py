"""Threads on two processors against a quota: what a real kernel was recorded to do, the simulated one does.

`recorded-bursts.txt` is what `python -m tests.vm.record_bursts` printed on Linux 6.18 (two processors, a tick of 4 ms),
while other programs ran beside it. Bursts begin at all moments of a period on both sides.

Measured against this record: medians lay 13 ms apart at most, means 12 ms, periods 0.25 a second, throttled ones
0.13, and the seconds that processors waited 0.06 a second; twice as far in two shorter recordings (Linux 6.18 stops a
thread when it goes back to user space, and the other programs took a part).
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.kernel import Kernel

RECORDED = Path(__file__).with_name("recorded-bursts.txt").read_text().splitlines()[1:]
SECONDS = 16.0


def _counted(kernel: Kernel) -> list[float]:
    stat = dict(line.split() for line in kernel.cgroups.read("/a", "cpu.stat").splitlines())
    return [float(stat["nr_periods"]), float(stat["nr_throttled"]), float(stat["throttled_usec"]) / 1e6]


@pytest.mark.parametrize("line", RECORDED, ids=lambda line: line.split(" | ")[0])
def test_threads_on_two_processors_are_throttled_as_on_a_real_kernel(line: str) -> None:
    workloads, quota, cpus, *figures = line.split(" | ")
    median, mean, periods, throttled, waited = map(float, figures)
    kernel = Kernel(MachineInfo.declare(int(cpus), "2Gi"), 2)
    kernel.cgroups.makedirs("/a")
    kernel.cgroups.write("/a", "cpu.max", quota)
    kernel.advance(0.05)
    first, *_ = [kernel.spawn(declared_workload(text), "/a") for text in workloads.split("; ")]
    kernel.advance(2.5)
    before, seen = _counted(kernel), len(kernel.processes[first].bursts)
    kernel.advance(SECONDS)
    took = kernel.processes[first].bursts[seen:]
    ours = [(b - a) / SECONDS for a, b in zip(before, _counted(kernel), strict=True)]
    assert statistics.median(took) == pytest.approx(median, abs=0.025)
    assert statistics.mean(took) == pytest.approx(mean, abs=0.02)
    assert ours[0] == pytest.approx(periods, abs=0.6)
    assert ours[1] == pytest.approx(throttled, abs=0.6)
    assert ours[2] == pytest.approx(waited, abs=0.08)

"""/proc/PID/oom_score of the real kernel is what the simulated one computes from the same memory and adjustment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kitlib.node.simulated import oom
from tests.vm.bench import Real, Simulated


@pytest.mark.parametrize("adjustment", [-1000, -999, -998, -500, 0, 2, 100, 500, 999, 1000])
@pytest.mark.parametrize("memory", ["1Mi", "50Mi", "300Mi"])
def test_the_score_of_a_process_is_the_kernels(real: Real, memory: str, adjustment: int) -> None:
    real.do_make("a")
    real.do_start(f"p a {memory} {adjustment}")
    pid = real.made["p"].pid
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    resident, tables = (int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmPTE"))
    one = oom.OOMCandidate(pid, "p", "/a", adjustment, resident, tables)
    shown = int(Path(f"/proc/{pid}/oom_score").read_text())
    assert abs(shown - oom.oom_score(one, os.sysconf("SC_PHYS_PAGES"))) <= 1


@pytest.mark.parametrize("adjustment", [-1001, 1001])
def test_an_adjustment_beyond_a_thousand_is_refused(real: Real, adjustment: int) -> None:
    script = f"!make a\nstart p a 1Mi {adjustment}"
    assert real.run(script) == Simulated(real.fs.version).run(script) == [(f"start p a 1Mi {adjustment}", "EINVAL")]

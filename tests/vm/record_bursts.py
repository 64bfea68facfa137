"""Record bursts on several processors of the kernel that this runs on (root, cgroup v1, at least two processors).

    python -m tests.vm.record_bursts > tests/node/simulated/cpu/recorded-bursts.txt

The cgroup gets the largest shares there are, so that what else the machine does takes little from it. Each line: the
workloads, the quota in µs, how many processors the machine has, the median and mean seconds of the first workload's
bursts, and, for each second, periods, throttled periods, and seconds that processors waited. A burst begins at another
moment of its period each time (`every=` is no multiple of 100 ms), so figures are means over all such moments.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path

from kitlib.node.common.workload import declared_workload
from kitlib.node.real.oci import workload_command

CGROUP = Path("/sys/fs/cgroup/cpu/kitlib-bursts")
SECONDS = 16.0
CASES = [
    (("cpu=2 burst=80ms every=530ms",), 50_000),
    (("cpu=2 burst=160ms every=730ms",), 50_000),
    (("cpu=2 burst=30ms every=330ms",), 20_000),
    (("cpu=8 burst=160ms every=730ms",), 50_000),
    (("cpu=2 burst=240ms every=1030ms",), 150_000),
    (("cpu=1 burst=4ms every=51ms", "cpu=2 burst=100ms every=530ms"), 50_000),
    (("cpu=2 burst=44ms every=330ms",), 50_000),
]
"""A garbage collector's threads against a quota, alone and beside a thread that answers requests."""


def counted() -> list[float]:
    """Periods, throttled periods, seconds waited."""
    stat = dict(line.split() for line in (CGROUP / "cpu.stat").read_text().splitlines())
    return [float(stat["nr_periods"]), float(stat["nr_throttled"]), float(stat["throttled_time"]) / 1e9]


def record(workloads: tuple[str, ...], quota: int) -> str:
    """One line of the table."""
    CGROUP.mkdir()
    (CGROUP / "cpu.shares").write_text("262144")
    enter = f'echo $$ > {CGROUP}/cgroup.procs; exec "$0" "$@"'
    commands = [["sh", "-c", enter, *workload_command(declared_workload(text))] for text in workloads]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE) for one in commands]
    try:
        time.sleep(1.0)  # Python starts without a quota
        (CGROUP / "cpu.cfs_quota_us").write_text(str(quota))
        time.sleep(1.5)
        lines = running[0].stdout
        assert lines is not None
        os.set_blocking(lines.fileno(), False)
        lines.read()
        before, began = counted(), time.monotonic()
        time.sleep(SECONDS)
        passed, after = time.monotonic() - began, counted()
        took = [float(line.split()[2]) for line in (lines.read() or b"").splitlines()]
    finally:
        for pid in (CGROUP / "cgroup.procs").read_text().split():
            os.kill(int(pid), 9)
        for one in running:
            one.wait()
        while (CGROUP / "cgroup.procs").read_text():
            time.sleep(0.01)
        CGROUP.rmdir()
    figures = [statistics.median(took), statistics.mean(took)]
    figures += [(b - a) / passed for a, b in zip(before, after, strict=True)]
    return " | ".join(["; ".join(workloads), str(quota), str(os.cpu_count()), *(f"{one:.3f}" for one in figures)])


if __name__ == "__main__":
    print(f"# Linux {os.uname().release}: workloads | quota | CPUs | median | mean | periods | throttled | waited")
    for workloads, quota in CASES:
        print(record(workloads, quota), flush=True)

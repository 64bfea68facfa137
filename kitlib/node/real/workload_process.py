"""A process that follows a declared workload: phases of CPU use and memory, then an exit code.

It runs inside a pod and imports nothing of the kit:
`python3 -I -S workload_process.py '[[10, 0.5, 104857600], [null, 1, 0]]' 0`.
A phase is a list: seconds (null = for ever), CPUs, bytes of memory, and optionally the number of processes. More than
one CPU takes more than one process; a fraction of a CPU is busy for that fraction of every 10 ms. If the kernel refuses
a process (pids.max), there are as many as it allows.

Two further numbers describe bursts: the CPU time of a burst, all processes together, and the seconds between the starts
of two bursts. Each burst prints its duration since its planned start: `burst took 0.308 s`. A last number is the bytes
of memory that are accessed repeatedly while the process is busy; without it the memory is only kept.
"""

import contextlib
import json
import math
import mmap
import os
import signal
import sys
import time
from collections.abc import Iterator

PERIOD = 0.01
OWN = 6 * 1024 * 1024
"""Bytes of the interpreter itself, which are part of a phase's memory."""


DEFAULTS = [1, 0, 0, 0]
"""Default processes, burst, every and hot of a phase."""


def main(text: str, code: int) -> int:
    """Follow the phases, and return the exit code."""
    began = time.monotonic()
    kept: list[mmap.mmap] = []
    idle: list[int] = []
    due = 0.0
    for seconds, cpus, memory, *given in json.loads(text):
        count, burst, every, hot = given + DEFAULTS[len(given) :]
        held = OWN + sum(len(block) for block in kept)
        if memory > held + mmap.PAGESIZE:
            kept.append(_touched(memory - held))
        while kept and memory < OWN + sum(len(block) for block in kept) - mmap.PAGESIZE:
            kept.pop().close()
        end = float("inf") if seconds is None else began + due + seconds
        due += seconds or 0.0
        _populate(idle, count - max(1, math.ceil(cpus)))
        visits = _visits(kept, hot)
        if burst:
            _work_in_bursts(max(1, math.ceil(cpus)), burst, every, end, visits)
        else:
            _work(cpus, end, visits)
    _populate(idle, 0)
    return code


def _populate(idle: list[int], wanted: int) -> None:
    """Start or kill idle processes until their number is `wanted`, or the kernel refuses more."""
    while len(idle) > max(wanted, 0):
        child = idle.pop()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        while len(idle) < wanted:
            child = os.fork()
            if child == 0:
                while True:
                    time.sleep(3600)
            idle.append(child)


def _touched(size: int) -> mmap.mmap:
    """Return private anonymous memory, as malloc allocates it.

    The default of mmap.mmap is shared memory, which the OOM reaper must not free (mm/oom_kill.c `__oom_reap_task_mm`):
    it would give up with the memory still charged, and the next process would be killed too.
    """
    block = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, len(block), mmap.PAGESIZE):
        block[at] = 1
    return block


def _visits(kept: list[mmap.mmap], hot: int) -> Iterator[None] | None:
    """Return an endless iterator that accesses one page of the first `hot` bytes a step; None without such bytes."""
    parts = []
    for block in kept:
        size = min(len(block), hot) // mmap.PAGESIZE * mmap.PAGESIZE
        hot -= size
        if size:
            parts.append((block, size))
    return _rounds(parts) if parts else None


def _rounds(parts: list[tuple[mmap.mmap, int]]) -> Iterator[None]:
    while True:
        for block, size in parts:
            for at in range(0, size, mmap.PAGESIZE):
                block[at]
                yield


def _work(cpus: float, end: float, visits: Iterator[None] | None) -> None:
    helpers = []
    while cpus > 1:
        child = os.fork()
        if child == 0:
            _burn(1.0, end, visits)
            os._exit(0)
        helpers.append(child)
        cpus -= 1
    if cpus > 0:
        _burn(cpus, end, visits)
    elif end == float("inf"):
        while True:
            time.sleep(3600)
    else:
        time.sleep(max(0.0, end - time.monotonic()))
    for child in helpers:
        os.waitpid(child, 0)


def _work_in_bursts(count: int, work: float, every: float, end: float, visits: Iterator[None] | None) -> None:
    """Run bursts until `end`: every `every` seconds `count` processes use `work` seconds of CPU time together."""
    begin, done = os.pipe(), os.pipe()
    workers = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            os.close(begin[1])
            while os.read(begin[0], 1):
                until = time.process_time() + work / count
                while time.process_time() < until:
                    _visit(visits)
                os.write(done[1], b".")
            os._exit(0)
        workers.append(child)
    due = time.monotonic()
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        os.write(begin[1], b"." * count)
        left = count
        while left:
            left -= len(os.read(done[0], left))
        print(f"burst took {time.monotonic() - due:.3f} s", flush=True)
        due += every
    for one in (*begin, *done):
        os.close(one)
    for child in workers:
        os.waitpid(child, 0)


def _visit(visits: Iterator[None] | None) -> None:
    """Access a few pages."""
    if visits is not None:
        for _ in range(8):
            next(visits)


def _burn(share: float, end: float, visits: Iterator[None] | None) -> None:
    while True:
        now = time.monotonic()
        if now >= end:
            return
        if share >= 1:
            busy = min(end, now + 1.0)
        else:
            busy = now + PERIOD * share
        while time.monotonic() < busy:
            _visit(visits)
        if share < 1:
            time.sleep(max(0.0, now + PERIOD - time.monotonic()))


if __name__ == "__main__":
    # the kernel discards SIGTERM for the first process of a pid namespace unless it has a handler
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

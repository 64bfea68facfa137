"""Signals to process 1 of a container."""

from __future__ import annotations

from signal import SIGKILL

from kitlib.node.common.workload import FOREVER, TERMINATED
from kitlib.node.simulated.container_machine import NO_PROCESS, ProcessOne
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.process import Process


def send(kernel: Kernel, process: Process, number: int, after: float = 0.0) -> None:
    """Send a terminating signal to process 1 of a container after so many seconds.

    Only SIGKILL from outside ends a process without a handler. Source: pid_namespaces(7).
    """
    seconds, code = process.workload.tidying, process.workload.tidy_code
    if number == SIGKILL or (not seconds and code == TERMINATED):
        seconds, code = 0.0, 128 + number
    if not after + seconds:
        kernel.kill(process.pid, code)
    elif seconds != FOREVER:
        kernel.end_in(process.pid, after + seconds, code)


def process_one(kernel: Kernel, pid: int) -> ProcessOne:
    """Return the process with this id as commands in its container see it."""
    process = kernel.processes.get(pid)
    if process is None:
        return NO_PROCESS
    return ProcessOne(
        process.name, process.workload.tidying, lambda seconds, number: send(kernel, process, number, seconds)
    )

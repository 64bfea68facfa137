"""The workload language: the declared CPU, memory and file usage of a container's process over time.

The annotation `kitlib.dev/workload.<container>` holds phases: `10s cpu=0.5 memory=100Mi; cpu=1`. A last phase without a
duration continues until the process is killed; `5s; exit=3` ends with that code. Further settings of a phase are cache=
(page cache), pids= (processes and threads), disk=, logs=, volume= (bytes written to the container's own layer, its log
and the pod's local volumes) and inodes= (number of files). Both kernels follow it: the simulated one as its model, the
real one through a process that uses the declared resources.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kitlib.api.errors import KitError, shortened
from kitlib.api.resource import Quantity, QuantityError

ANNOTATION = "kitlib.dev/workload."
IDLE_MEMORY = 3 * 2**20
"""Bytes of memory that a small process uses."""
FOREVER = math.inf
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


class WorkloadError(KitError, ValueError):
    """An error in a declared workload."""


KILLING = 0.125
"""Seconds from the OOM killer's choice until a shell goes on: an estimate for 100 MiB of pages that are given back."""


class Child(NamedTuple):
    """The largest process of a shell script, which the OOM killer ends in place of the shell.

    Attributes:
        rest: bytes of the container's other processes.
        job: number of its background job; 0 = the foreground.
    """

    rest: int
    job: int = 0


class Phase(NamedTuple):
    """The resource use of a process during an interval.

    Attributes:
        seconds: duration; infinite = until the process is killed.
        cpus: demand in CPUs: the usage without contention and limits (number of threads that are always busy).
        memory: anonymous memory in bytes.
        cache: page cache in bytes, which the kernel can reclaim.
        pids: number of processes and threads, itself included.
        disk, logs, volume: bytes written so far to the container's own layer, its log, and the pod's local volumes.
        inodes: number of files created so far.
        burst: CPU time of one burst in seconds, all threads together; 0 = the threads are always busy.
        every: seconds between the starts of two bursts.
        child: memory in bytes of a second process of the container, whose kill does not end the first one.
        shm: bytes of files in a tmpfs of the pod (an emptyDir of medium Memory); they outlive the process.
        hot: bytes of memory that the process accesses repeatedly; swapping out the rest does not slow it down.
        active: bytes of page cache that were read more than once.
        dirty: bytes of page cache that are not yet written to the disk, during the whole phase.
        mapped: bytes of `shm` files that are written through a mapping: a full tmpfs causes SIGBUS.
        tmpfs: bytes of files in each tmpfs, by volume name, "" = /dev/shm; `shm` belongs to the first one.
        forked: the child process with most of `memory`; None = process 1 has it.
    """

    seconds: float
    cpus: float = 0.0
    memory: int = IDLE_MEMORY
    cache: int = 0
    pids: int = 1
    disk: int = 0
    logs: int = 0
    volume: int = 0
    inodes: int = 0
    burst: float = 0.0
    every: float = 0.0
    child: int = 0
    shm: int = 0
    hot: int = 0
    active: int = 0
    dirty: int = 0
    mapped: int = 0
    tmpfs: tuple[tuple[str, int], ...] = ()
    forked: Child | None = None


TERMINATED = 128 + 15
"""Exit code of a process that SIGTERM ends because it has no handler."""


class Workload(NamedTuple):
    """The behaviour of a process.

    Attributes:
        phases: the phases in order.
        exit_code: exit code after the last phase.
        name: the process's name in `ps`.
        tidying: seconds from SIGTERM to the end; infinite = no handler, so the kernel discards the signal of process 1.
        note: a note for the user; "" = none.
        repeats: the index of the phase that follows the last one; None = the process ends.
        tidy_code: exit code after SIGTERM.
    """

    phases: tuple[Phase, ...]
    exit_code: int = 0
    name: str = "app"
    tidying: float = 0.0
    note: str = ""
    repeats: int | None = None
    tidy_code: int = TERMINATED

    @property
    def ends(self) -> bool:
        """Whether the process ends by itself."""
        return self.repeats is None and self.phases[-1].seconds != FOREVER


_LARGEST = {"cpus": 1e6, "pids": 4 * 2**20, "memory": 2**62, "cache": 2**62, "disk": 2**62, "logs": 2**62}
_LARGEST |= {"volume": 2**62, "inodes": 2**53, "burst": 1e6, "every": 1e6, "child": 2**62, "shm": 2**62, "hot": 2**62}
_LARGEST |= {"active": 2**62, "dirty": 2**62, "mapped": 2**62}
_BYTES = ("memory", "cache", "active", "dirty", "disk", "logs", "volume", "child", "shm", "mapped", "hot")
SHORTEST = 0.001
"""Minimum seconds between the starts of two bursts."""


def check_workload(workload: Workload) -> Workload:
    """Return a workload after checking the range of its numbers.

    Raises:
        WorkloadError: a number is negative, NaN, or too large for any machine, or settings contradict each other.
    """
    for phase in workload.phases:
        if not phase.seconds >= 0 or (phase.seconds > 1e12 and phase.seconds != FOREVER):
            raise WorkloadError(f"{phase.seconds} is not a duration")
        for name, largest in _LARGEST.items():
            value = getattr(phase, name)
            if not 0 <= value <= largest:
                raise WorkloadError(f"{name} must be from 0 to {largest:g}, got {value}")
        if phase.active + phase.dirty > phase.cache:
            raise WorkloadError(
                f"active= and dirty= are parts of cache=, got active={phase.active} dirty={phase.dirty} "
                f"cache={phase.cache}"
            )
        if (phase.burst or phase.every) and (phase.every < SHORTEST or not phase.burst or not phase.cpus):
            raise WorkloadError(
                f"burst= and every= go together, with cpu= threads and every= at least {SHORTEST:g} s, got "
                f"burst={phase.burst:g} every={phase.every:g} cpu={phase.cpus:g}"
            )
    if not workload.tidying >= 0 or not -(2**31) <= workload.exit_code < 2**31:
        raise WorkloadError(f"exit code {workload.exit_code} is out of range")
    return workload


IDLE = Workload((Phase(FOREVER),))


def declared_workload(text: str, where: str = "workload") -> Workload:
    """Parse phases: `10s cpu=0.5 memory=100Mi; cpu=1 exit=0`; a phase inherits the values of the one before.

    Args:
        text: the phases.
        where: name of the annotation, for errors.

    Raises:
        WorkloadError: the text is invalid.
    """
    phases: list[Phase] = []
    exit_code, before = 0, Phase(FOREVER)
    for part in text.split(";"):
        length, values = FOREVER, before._asdict()
        for word in part.split():
            name, mark, value = word.partition("=")
            try:
                if not mark:
                    length = parse_seconds(name)
                elif name == "cpu":
                    values["cpus"] = Quantity(value).milli_value() / 1000
                elif name in _BYTES:
                    values[name] = Quantity(value).value()
                elif name in ("pids", "inodes"):
                    values[name] = _count(value, 1 if name == "pids" else 0)
                elif name in ("burst", "every"):
                    values[name] = parse_seconds(value)
                elif name == "exit":
                    exit_code = int(value)
                else:
                    raise ValueError(
                        "known are a duration, cpu=, memory=, cache=, pids=, disk=, logs=, volume=, inodes=, burst=, "
                        "every=, child=, shm=, mapped=, hot=, active=, dirty=, exit="
                    )
            except (ValueError, ArithmeticError, QuantityError) as error:
                raise WorkloadError(f"{where}: Invalid value: {shortened(word, 200)!r}: {error}") from None
        if phases and phases[-1].seconds != FOREVER and part.strip().startswith("exit=") and len(part.split()) == 1:
            continue  # the process ends when the phase before is over
        before = Phase(**{**values, "seconds": length})
        phases.append(before)
    if any(phase.seconds == FOREVER for phase in phases[:-1]):
        raise WorkloadError(f"{where}: only the last phase may have no duration")
    try:
        return check_workload(Workload(tuple(phases), exit_code))
    except WorkloadError as error:
        raise WorkloadError(f"{where}: Invalid value: {shortened(text, 200)!r}: {error}") from None


def _count(text: str, least: int) -> int:
    number = Quantity(text).value()
    if number < least:
        raise ValueError(f"must be at least {least}")
    return number


def parse_seconds(text: str) -> float:
    """Parse a duration in seconds: `10`, `10s`, `200ms`, `2m`, `infinity`."""
    if text.startswith("inf"):
        return FOREVER
    unit = "ms" if text.endswith("ms") else text[-1:]
    return float(text.removesuffix(unit)) * _SECONDS[unit] if unit in _SECONDS else float(text)

"""The workload language: what a container's process does to CPU, memory and files over time, as declared.

The annotation `kitlib.dev/workload.<container>` holds phases: `10s cpu=0.5 memory=100Mi; cpu=1`. The last phase without
a duration goes on until the process is killed; `5s; exit=3` ends with that code. A phase may also say cache= (page
cache), pids= (processes and threads), disk=, logs=, volume= (bytes written to the container's own layer, its log and
the pod's local volumes) and inodes= (files made). Both kernels follow it: the simulated one as its model, the real
one through a process that does what it says.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kitlib.api.errors import KitError, shortened
from kitlib.api.resource import Quantity, QuantityError

ANNOTATION = "kitlib.dev/workload."
IDLE_MEMORY = 3 * 2**20
"""Bytes that a small process needs for itself."""
FOREVER = math.inf
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


class WorkloadError(KitError, ValueError):
    """A declared workload that cannot be read."""


class Phase(NamedTuple):
    """The resource use of a process during an interval.

    Attributes:
        seconds: how long; infinite = until it is killed.
        cpus: CPUs that it would use if nobody were in its way (threads that are always busy).
        memory: bytes that it touches and keeps.
        cache: bytes of page cache that it fills; they can be given back.
        pids: how many processes and threads it is, itself included.
        disk, logs, volume: bytes that it has written to its own layer, its log, and the pod's local volumes.
        inodes: files that it has made.
        burst: seconds of CPU time that its threads together need each time; 0 = they are busy all the time.
        every: seconds from when one burst is due to the next.
        child: bytes that a second process of the container takes; the first does not notice when it is killed.
        shm: bytes of files in a tmpfs of the pod (an emptyDir of medium Memory): they stay when the process ends.
        hot: bytes of its memory that it goes over again and again; the rest may lie in swap without harm.
        active: bytes of its page cache that it has read more than once.
        dirty: bytes of its page cache that it has written and that the disk does not have yet, as long as the phase
            lasts.
        mapped: bytes of `shm` files that it writes through a mapping: where the tmpfs is full it dies of SIGBUS.
        tmpfs: bytes of files in each tmpfs, by the volume's name, "" = /dev/shm; `shm` is meant for the first of them.
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


TERMINATED = 128 + 15
"""Exit code of a process without a handler of SIGTERM, which the signal ends."""


class Workload(NamedTuple):
    """The behaviour of a process.

    Attributes:
        phases: in order.
        exit_code: with which it then ends.
        name: that `ps` shows.
        tidying: seconds from SIGTERM to its end; infinite = it has no handler, and the kernel discards the signal.
        note: what a user should know about it; "" = nothing.
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
        """Whether it ends by itself."""
        return self.repeats is None and self.phases[-1].seconds != FOREVER


_LARGEST = {"cpus": 1e6, "pids": 4 * 2**20, "memory": 2**62, "cache": 2**62, "disk": 2**62, "logs": 2**62}
_LARGEST |= {"volume": 2**62, "inodes": 2**53, "burst": 1e6, "every": 1e6, "child": 2**62, "shm": 2**62, "hot": 2**62}
_LARGEST |= {"active": 2**62, "dirty": 2**62, "mapped": 2**62}
_BYTES = ("memory", "cache", "active", "dirty", "disk", "logs", "volume", "child", "shm", "mapped", "hot")
SHORTEST = 0.001
"""Seconds: bursts come no more often."""


def check_workload(workload: Workload) -> Workload:
    """A workload whose numbers a kernel can do something with.

    Raises:
        WorkloadError: for a number that is negative, not a number, or beyond any machine.
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
    """Read phases: `10s cpu=0.5 memory=100Mi; cpu=1 exit=0`."""
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
    """`10`, `10s`, `200ms`, `2m`, `infinity`."""
    if text.startswith("inf"):
        return FOREVER
    unit = "ms" if text.endswith("ms") else text[-1:]
    return float(text.removesuffix(unit)) * _SECONDS[unit] if unit in _SECONDS else float(text)

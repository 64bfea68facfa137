"""Background jobs beside the foreground: their demands are added, as if they were those of one process."""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.node.common.workload import FOREVER, Phase
from kitlib.node.simulated.programs.recorder import RecordingMachine

MAX_ROUNDS = 200
"""Maximum number of unrolled iterations of a loop that runs beside another one."""


def together(recorder: RecordingMachine) -> tuple[tuple[Phase, ...], int | None]:
    """Return the phases of a machine with its background jobs, and the index of the phase after the last one."""
    jobs = list(_all(recorder))
    own = recorder.phases or [Phase(0.0)]
    if not any(job.phases for job in jobs):
        return tuple(own), recorder.repeats
    end = FOREVER if recorder.endless else sum(phase.seconds for phase in own)
    tracks = [_written_out(own, recorder.repeats, 0.0), *(_written_out(j.phases, j.repeats, j.start) for j in jobs)]
    marks = sorted({mark for track in tracks for mark, _ in track if mark < end})
    if not marks:
        return tuple(own), None
    found: list[Phase] = []
    for mark, following in zip(marks, [*marks[1:], end], strict=True):
        running = [one for track in tracks if (one := _at(track, mark)) is not None]
        found.append(_sum(running, following - mark) if running else Phase(following - mark))
    return tuple(found), None


def _all(recorder: RecordingMachine) -> Iterator[RecordingMachine]:
    for job in recorder.jobs:
        yield job
        yield from _all(job)


def _written_out(phases: list[Phase], repeats: int | None, start: float) -> list[tuple[float, Phase | None]]:
    """Return (start, phase) of every phase, with loops unrolled; None = the machine has ended."""
    found: list[tuple[float, Phase | None]] = []
    rounds = [phases] + ([phases[repeats:]] * MAX_ROUNDS if repeats is not None else [])
    for one in (phase for round_ in rounds for phase in round_):
        found.append((start, one))
        start += one.seconds
    if start != FOREVER:
        found.append((start, found[-1][1] if repeats is not None and found else None))
    return found


def _at(track: list[tuple[float, Phase | None]], moment: float) -> Phase | None:
    current = None
    for mark, phase in track:
        if mark > moment:
            break
        current = phase
    return current


def _sum(running: list[Phase], seconds: float) -> Phase:
    tmpfs: dict[str, int] = {}
    for one in running:
        for name, size in one.tmpfs:
            tmpfs[name] = tmpfs.get(name, 0) + size
    counted = ("memory", "cache", "active", "pids", "disk", "logs", "volume", "inodes")
    return Phase(
        seconds,
        sum(one.cpus for one in running),
        **{name: sum(getattr(one, name) for one in running) for name in counted},
        tmpfs=tuple(sorted(tmpfs.items())),
    )

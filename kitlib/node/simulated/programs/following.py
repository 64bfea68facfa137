"""The behaviour of a container's command, from one run on a machine that records its resource usage and files."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.node.common.workload import FOREVER, Phase, Workload, check_workload
from kitlib.node.simulated.programs import Behaviour, Kill, catalogue, note_of
from kitlib.node.simulated.programs.jobs import together
from kitlib.node.simulated.programs.recorder import ROUNDING, Mount, RecordingMachine
from kitlib.node.simulated.shell.interpreter import BOMB, SIGKILLED, Shell
from kitlib.node.simulated.shell.machine import (
    Bombed,
    ChildKilled,
    Forever,
    Input,
    Machine,
    NotFollowed,
    ProgramError,
    Result,
    ShellExit,
    TimeUp,
)


def follow(
    words: tuple[str, ...],
    mounts: tuple[Mount, ...],
    environment: dict[str, str],
    host: str,
    shown: dict[str, str],
    kills: tuple[Kill, ...] = (),
) -> Behaviour:
    """Return the behaviour of a command line.

    Args:
        words: the words of the command.
        mounts: file systems in the container.
        environment: variables that the command refers to.
        host: the pod's name.
        shown: content of the files that the node shows in the container, by path.
        kills: the kills of its programs, by SIGKILL.
    """
    text, notes = {"/etc/hostname": f"{host}\n", **shown}, list[str]()
    by_number = {number: sorted(at for job, at in kills if job == number) for number, _ in kills}
    recorder = RecordingMachine(mounts, text, kills=by_number)

    def unknown(command: Sequence[str], machine: Machine) -> Result:
        notes.append(note_of(command))
        machine.spend(FOREVER)
        return Result()

    shell = Shell(recorder, catalogue.find, unknown, environment)
    shell.replaced = True
    name = words[0].rpartition("/")[2]
    code = 0
    try:
        result = shell.program(words, recorder, Input())
        recorder.log(result.out)
        code = result.code
    except NotFollowed as error:
        notes.append(note_of(words, str(error)))
        recorder.phases.append(Phase(FOREVER))
    except (ProgramError, ShellExit) as error:
        code = error.code
    except ChildKilled:
        code = SIGKILLED
    except Bombed:
        recorder.jobs.clear()
        recorder.phases.append(Phase(FOREVER, cpus=1.0, pids=BOMB))
    except (Forever, TimeUp):
        pass
    phases, repeats = together(recorder)
    length = sum(phase.seconds for phase in recorder.phases[recorder.repeats or 0 :])
    begins = sum(phase.seconds for phase in recorder.phases[: recorder.repeats or 0])
    tidying, tidy_code = _tidying(shell, mounts, environment)
    workload = Workload(
        phases,
        code,
        (recorder.program or name)[:15],
        tidying,
        notes[0] if notes else "",
        repeats,
        tidy_code,
    )
    changes = tuple(
        sorted([*recorder.changes, *(c for job in recorder.jobs for c in job.changes)], key=lambda one: one.time)
    )
    jobs = [line for job in recorder.jobs for line in job.output]
    output = tuple(sorted([*recorder.output, *jobs], key=lambda one: one[0]))
    loop = (begins, length) if recorder.repeats is not None else None
    output_loop = None if jobs else recorder.output_loop
    return Behaviour(check_workload(workload), changes, loop, output, output_loop, traps="TERM" in shell.traps)


def continued(workload: Workload, seconds: float) -> Workload | None:
    """Return the rest of a workload after so many seconds; None = it has ended."""
    at, repeats = 0.0, workload.repeats
    if repeats is not None:
        length = sum(phase.seconds for phase in workload.phases[repeats:])
        begins = sum(phase.seconds for phase in workload.phases[:repeats])
        if seconds + ROUNDING > begins + length:
            seconds = begins + (seconds + ROUNDING - begins) % length
    for number, phase in enumerate(workload.phases):
        at += phase.seconds
        if at > seconds + ROUNDING:
            first, rest = phase._replace(seconds=at - seconds), workload.phases[number + 1 :]
            if repeats is None or repeats > number:
                return workload._replace(phases=(first, *rest), repeats=None if repeats is None else repeats - number)
            return workload._replace(phases=(first, *rest, *workload.phases[repeats:]), repeats=1 + len(rest))
    return None


def _tidying(shell: Shell, mounts: tuple[Mount, ...], environment: dict[str, str]) -> tuple[float, int]:
    """Return the time that process 1 takes to exit after SIGTERM, in seconds, and its exit code.

    Without a trap the program decides that process 1 has become, if any. A trap that is empty ignores the signal; one
    that does not exit lets a loop go on. It runs when the foreground command is over, at once only in `wait`; of a loop
    the rest of a round is neglected.

    Source: POSIX.1-2017, XCU 2.11.
    """
    script = shell.traps.get("TERM")
    if script is None:
        code = catalogue.on_sigterm(shell.process)
        return (FOREVER, 0) if code is None else (0.0, code)
    if not script.strip() or not (shell.looping or shell.waiting):
        return FOREVER, 0
    machine = RecordingMachine(mounts)
    tidying = Shell(machine, catalogue.find, lambda words, there: Result(), environment, functions=shell)
    try:
        tidying.run_here(script)
    except ShellExit as end:
        return machine.now, end.code
    except (Forever, TimeUp):
        return FOREVER, 0
    return (FOREVER, 0) if shell.looping else (machine.now, 0)

"""The behaviour of a container: as declared by annotation, else as its command or its image's program implies.

The command runs once on a machine that records (`programs/recorder.py`): the phases are the container's workload, the
files that it makes and removes are what `kubectl exec` and exec probes find. A program that is not known idles with
little memory until it is killed, and the workload's note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kitlib.api.core import Container, Pod
from kitlib.api.errors import shortened
from kitlib.node.common.workload import (
    ANNOTATION,
    FOREVER,
    IDLE,
    Phase,
    Workload,
    check_workload,
    declared_workload,
)
from kitlib.node.simulated.mounts import mounts_of
from kitlib.node.simulated.programs import images

if TYPE_CHECKING:  # the shell is loaded with the first command that is looked into
    from kitlib.node.simulated.programs.recorder import Change, Mount
    from kitlib.node.simulated.shell.interpreter import Shell
    from kitlib.node.simulated.shell.machine import Data, Machine, Result

MAX_WORDS, MAX_LENGTH = 10_000, 20_000
"""Of a command that is looked into; a longer one is not, so that its quotes cost nothing."""
_SHELLS = ("sh", "bash", "ash", "dash")
_NAME = re.compile(r"\$\{?#?(\w+)")


class Behaviour(NamedTuple):
    """The behaviour of a container.

    Attributes:
        workload: the resource use over time.
        changes: changes of files, by seconds since the container's start.
        loop: (start, seconds of a round) of the endless loop; None = no loop.
    """

    workload: Workload
    changes: tuple[Change, ...] = ()
    loop: tuple[float, float] | None = None

    def files_at(self, seconds: float) -> dict[str, Data | None]:
        """Return path -> content so long after the container's start; None = it was removed, or is not there yet."""
        if self.loop is not None and seconds >= sum(self.loop):
            begins, length = self.loop
            seconds = begins + length + (seconds - begins) % length if length else seconds
            seconds -= length
        found: dict[str, Data | None] = {}
        for one in self.changes:
            if one.time <= seconds:
                found[one.path] = one.data
            else:
                found.setdefault(one.path, None)
        return found


def workload_of(pod: Pod, container: Container, environment: Mapping[str, str] | None = None) -> Workload:
    """Return what a container of a pod does: as declared by annotation, else as its command says.

    Raises:
        WorkloadError: for an annotation that cannot be read.
    """
    declared = pod.metadata.annotations.get(ANNOTATION + container.name)
    if declared is not None:
        # a declaration says what is used, the command's trap still says how the process takes SIGTERM
        own = behaviour_of(pod, container, environment).workload
        workload = declared_workload(declared, f"{pod.key}: metadata.annotations[{ANNOTATION}{container.name}]")
        return workload._replace(tidying=own.tidying, tidy_code=own.tidy_code)
    return behaviour_of(pod, container, environment).workload


def behaviour_of(pod: Pod, container: Container, environment: Mapping[str, str] | None = None) -> Behaviour:
    """Return what a container's command does, whatever its annotation declares."""
    words = images.command_line(container)
    if words is None:
        note = f'Image "{shortened(container.image, 60)}" is not known: its program idles' if container.image else ""
        return Behaviour(IDLE._replace(note=note))
    text = " ".join(words[:MAX_WORDS])[: 2 * MAX_LENGTH]
    wanted = set(_NAME.findall(text)) if "$" in text else set()
    given = tuple(sorted((name, value) for name, value in (environment or {}).items() if name in wanted))
    waits = container.stdin and len(words) == 1 and words[0].rpartition("/")[2] in _SHELLS
    return behaviour(tuple(words), mounts_of(pod, container), given, pod.name, waits=waits)


def ways_out(container: str) -> str:
    """Return the two ways to declare what a program does that is not known."""
    return (
        f'declare what it uses with the annotation {ANNOTATION}{container}: "10s cpu=500m memory=100Mi; memory=200Mi", '
        "or give the container a command that is known, such as stress, dd, sleep or a shell script of them"
    )


@lru_cache(maxsize=512)
def behaviour(
    words: tuple[str, ...],
    mounts: tuple[Mount, ...] = (),
    environment: tuple[tuple[str, str], ...] = (),
    host: str = "",
    *,
    waits: bool = False,
) -> Behaviour:
    """Return what a command line does; one that cannot be followed idles, with a note that says so.

    Args:
        words: the words of the command.
        mounts: file systems in the container.
        environment: variables that the command refers to.
        host: the pod's name.
        waits: whether it is a shell that reads its input.
    """
    if waits:  # a shell that reads what is typed
        return Behaviour(IDLE._replace(name=words[0].rpartition("/")[2][:15] if words else "sh"))
    if len(words) > MAX_WORDS or sum(map(len, words)) > MAX_LENGTH:
        return Behaviour(_unknown(words, f"longer than {MAX_LENGTH} characters"))
    words = tuple(word for at, word in enumerate(words) if word or at)
    if not words:
        return Behaviour(IDLE)
    try:
        return _recorded(words, mounts, dict(environment), host)
    except RecursionError:
        return Behaviour(_unknown(words, "nested too deeply"))
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        return Behaviour(_unknown(words, str(error) or type(error).__name__))


def _unknown(command: Sequence[str], why: str) -> Workload:
    name = str(command[0]).rpartition("/")[2][:15] if command else "app"
    return IDLE._replace(name=name or "app", note=_note(command, why))


def _note(command: Sequence[str], why: str = "") -> str:
    shown = shortened(" ".join(map(str, command[:20])), 100)
    return f"Unknown command {shown!r}: it idles" + (f" ({shortened(why, 200)})" if why else "")


def _recorded(words: tuple[str, ...], mounts: tuple[Mount, ...], environment: dict[str, str], host: str) -> Behaviour:
    from kitlib.node.simulated.programs import catalogue
    from kitlib.node.simulated.programs.jobs import together
    from kitlib.node.simulated.programs.languages import NotFollowed
    from kitlib.node.simulated.programs.recorder import Recorder
    from kitlib.node.simulated.shell.interpreter import BOMB, SHELLS, Shell
    from kitlib.node.simulated.shell.machine import Bombed, Data, Ended, Forever, ProgramError, Result, TimeUp

    recorder, notes = Recorder(mounts, {"/etc/hostname": f"{host}\n"}), list[str]()

    def unknown(command: Sequence[str], machine: Machine) -> Result:
        notes.append(_note(command))
        machine.spend(FOREVER)
        return Result()

    shell = Shell(recorder, catalogue.find, unknown, environment)
    name = words[0].rpartition("/")[2]
    code = 0
    try:
        result = shell.program(words, recorder, Data())
        recorder.log(result.out)
        code = result.code
    except NotFollowed as error:
        notes.append(_note(words, str(error)))
        recorder.phases.append(Phase(FOREVER))
    except (ProgramError, Ended) as error:
        code = error.code
    except Bombed:
        recorder.jobs.clear()
        recorder.phases.append(Phase(FOREVER, cpus=1.0, pids=BOMB))
    except (Forever, TimeUp):
        pass
    phases, repeats = together(recorder)
    length = sum(phase.seconds for phase in recorder.phases[recorder.repeats or 0 :])
    begins = sum(phase.seconds for phase in recorder.phases[: recorder.repeats or 0])
    tidying, tidy_code = _tidying(shell, mounts, environment) if name in SHELLS else (0.0, 0)
    workload = Workload(
        phases,
        code,
        (recorder.program or name)[:15],
        tidying,
        notes[0] if notes else "",
        repeats,
        tidy_code,
    )
    changes = tuple(sorted([*recorder.changes, *(c for job in recorder.jobs for c in job.changes)]))
    return Behaviour(check_workload(workload), changes, (begins, length) if recorder.repeats is not None else None)


def _tidying(shell: Shell, mounts: tuple[Mount, ...], environment: dict[str, str]) -> tuple[float, int]:
    """Return how long the script of a trap takes, and with what code it ends.

    One that is empty lets the signal pass unheard, and so does one that does not exit where the script loops for ever.
    """
    from kitlib.node.simulated.programs import catalogue
    from kitlib.node.simulated.programs.recorder import Recorder
    from kitlib.node.simulated.shell.interpreter import Shell
    from kitlib.node.simulated.shell.machine import Ended, Forever, Result, TimeUp

    script = shell.traps.get("TERM")
    if script is None:
        return 0.0, 0
    if not script.strip():
        return FOREVER, 0
    machine = Recorder(mounts)
    tidying = Shell(machine, catalogue.find, lambda words, there: Result(), environment, functions=shell)
    try:
        tidying.run_here(script)
    except Ended as end:
        return machine.now, end.code
    except (Forever, TimeUp):
        return FOREVER, 0
    return (FOREVER, 0) if shell.looping else (machine.now, 0)

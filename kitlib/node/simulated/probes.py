"""The answers of a simulated container to probes.

    declared by annotation     the declared answer (see kitlib.node.common.probes)
    exec                       the result of the command in the shell of simulated containers, on the current files of
                               the container; an unknown program succeeds
    httpGet                    the status of a server that is known to change it (agnhost liveness), of a server of
                               files after a command in the container has removed the file, else success
    tcpSocket, grpc            success while the container runs, from its start on

An unknown file is assumed to be in the image, except in folders that only a program writes to (/tmp, /dev/shm, a
volume) if the container's program is known.

Source: kubelet prober.runProbe, pkg/probe/exec.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

from kitlib.api.core import Container, Pod
from kitlib.kubelet.prober.worker import Answer, ProbeType, probes_of
from kitlib.node.common.probes import declared_answer, timed_out
from kitlib.node.simulated.commands import behaviour_of
from kitlib.node.simulated.container_machine import NO_PROCESS, ContainerMachine, ProcessOne
from kitlib.node.simulated.programs import catalogue
from kitlib.node.simulated.programs.images import command_line
from kitlib.node.simulated.programs.waiting import file_status, http_status
from kitlib.node.simulated.shell.interpreter import Shell
from kitlib.node.simulated.shell.machine import (
    Data,
    Forever,
    Input,
    NotFollowed,
    ProgramError,
    Result,
    ShellExit,
    TimeUp,
)

_LONGEST = 20_000


class _Assumed:
    """The files of a container, with those of the image assumed to exist. Implements `container_machine.View`.

    Args:
        container: the probed container.
        known: whether the behaviour of its program is fully known.
        mounted: files of ConfigMaps, Secrets and the downward API, by path.
    """

    def __init__(self, container: Container, known: bool, mounted: Mapping[str, str]) -> None:
        self._mounted = mounted
        places = [mount.mount_path.rstrip("/") for mount in container.volume_mounts]
        self._empty = tuple(f"{place}/" for place in ("/tmp", "/dev/shm", *places)) if known else ()

    def text(self, path: str) -> str | None:
        """Return a mounted file."""
        return self._mounted.get(path)

    def names(self, path: str) -> list[str] | None:
        """Return None: the contents of directories are unknown."""
        return None

    def has(self, path: str) -> bool:
        """Return whether the image may contain the file."""
        return not path.startswith(self._empty) if self._empty else True


def answer(
    pod: Pod,
    container: Container,
    kind: ProbeType,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    written: MutableMapping[str, Data | None] | None = None,
    mounted: Mapping[str, str] | None = None,
    process: ProcessOne = NO_PROCESS,
) -> Answer:
    """Return a probe's result.

    Args:
        pod: the container's pod.
        container: the probed container.
        kind: the type of the probe.
        seconds: time since the container's start in seconds.
        environment: the container's environment variables.
        written: files that `kubectl exec` has written there.
        mounted: text of files in volumes and of /proc, by path.
        process: process 1 of the container.
    """
    declared = declared_answer(pod, container, kind, seconds)
    if declared is not None:
        return declared
    probe = probes_of(container)[kind]
    if probe.exec is None:
        status, words = 200, command_line(container) or [""]
        if probe.http_get is not None:
            removed = {path for path, data in (written or {}).items() if data is None}
            status = max(http_status(words, seconds), file_status(words, probe.http_get.path or "/", removed))
        return Answer("success") if status < 400 else Answer("failure", f"HTTP probe failed with statuscode: {status}")
    command = list(probe.exec.command)
    if not command or sum(map(len, command)) > _LONGEST:
        return Answer("success")
    ran = run_in_container(
        pod, container, command, seconds, environment, written, mounted, float(probe.timeout_seconds or 1), process
    )
    return timed_out(pod, container, probe) if ran.endless else ran.answer


class Ran(NamedTuple):
    """The run of a command in a container.

    Attributes:
        answer: its result; success if the command cannot be followed.
        seconds: its duration in seconds.
        endless: whether it takes longer than its limit.
    """

    answer: Answer
    seconds: float = 0.0
    endless: bool = False


def run_in_container(
    pod: Pod,
    container: Container,
    command: list[str],
    seconds: float,
    environment: Mapping[str, str] | None,
    written: MutableMapping[str, Data | None] | None,
    mounted: Mapping[str, str] | None,
    longest: float,
    process: ProcessOne,
) -> Ran:
    """Run a command in the shell of simulated containers, on the current files of a container.

    Args:
        pod: the container's pod.
        container: the container.
        command: the words of the command.
        seconds: time since the container's start.
        environment: the container's variables.
        written: files that earlier commands have written there; those of this one are added.
        mounted: text of files in volumes and of /proc, by path.
        longest: maximum duration in seconds.
        process: process 1 of the container.
    """
    behaviour = behaviour_of(pod, container, environment, mounted)
    view = _Assumed(container, not behaviour.workload.note, mounted or {})
    machine = ContainerMachine(view, behaviour.files_at(seconds), {} if written is None else written, longest, process)
    shell = Shell(machine, catalogue.find, lambda words, there: Result(), environment or {})
    try:
        result = shell.program(command, machine, Input())
        machine.log(result.out)
        code, said = result.code, machine.out.text + machine.err.text + result.err
    except NotFollowed:
        return Ran(Answer("success"))
    except (TimeUp, Forever):
        return Ran(Answer("failure"), longest, endless=True)
    except ShellExit as end:
        code, said = end.code, machine.out.text + machine.err.text
    except ProgramError as error:
        code, said = error.code, f"{command[0].rpartition('/')[2]}: {error}\n"
    return Ran(Answer("success") if not code else Answer("failure", said), machine.now)

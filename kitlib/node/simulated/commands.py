"""The behaviour of a container: as declared by annotation, else as its command or its image's program implies.

The command runs once on a recording machine (`programs/recorder.py`): the phases are the container's workload, and
`kubectl exec` and exec probes see the files that it creates and removes. An unknown program idles with little memory
until it is killed, and the workload's note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kitlib.api.core import Container, EphemeralContainer, Pod
from kitlib.api.errors import shortened
from kitlib.node.common.workload import (
    ANNOTATION,
    FOREVER,
    IDLE,
    TERMINATED,
    Workload,
    declared_workload,
)
from kitlib.node.simulated.programs import Behaviour, Kill, images, note_of

if TYPE_CHECKING:  # the shell is imported with the first command
    from kitlib.node.simulated.programs.recorder import Mount

MAX_WORDS, MAX_LENGTH = 10_000, 20_000
"""Maximum size of a command that is analysed: a longer one idles, so that it costs no time to parse."""
_SHELLS = ("sh", "bash", "ash", "dash")
_PROC = {"/proc/self/nproc": re.compile("nproc|/"), "/proc/meminfo": re.compile("meminfo|%|/")}
"""Files of /proc that a command may read, with a pattern of the commands that read it."""
_NAME = re.compile(r"\$\{?#?(\w+)")
_ENV = re.compile(r"\b(?:print)?env\b")


def workload_of(
    pod: Pod,
    container: Container,
    environment: Mapping[str, str] | None = None,
    shown: Mapping[str, str] | None = None,
) -> Workload:
    """Return a container's workload: as declared by annotation, else as its command implies.

    Args:
        pod: the pod.
        container: the container.
        environment: environment variables of the container.
        shown: content of files by path: mounted volumes, /proc.

    Raises:
        WorkloadError: the annotation is invalid.
    """
    found = behaviour_of(pod, container, environment, shown)
    declared = pod.metadata.annotations.get(ANNOTATION + container.name)
    if declared is not None:
        # the annotation declares resources only; the reaction to SIGTERM is still that of the command's trap
        workload = declared_workload(declared, f"{pod.key}: metadata.annotations[{ANNOTATION}{container.name}]")
        if found.traps:
            workload = workload._replace(tidying=found.workload.tidying, tidy_code=found.workload.tidy_code)
        return workload
    if found.workload.tidying == FOREVER and not found.traps and not _is_process_1(pod, container):
        return found.workload._replace(tidying=0.0, tidy_code=TERMINATED)
    return found.workload


def _is_process_1(pod: Pod, container: Container) -> bool:
    """Return whether a container has a PID namespace of its own. Source: kuberuntime PidNamespaceForPod."""
    targets = isinstance(container, EphemeralContainer) and container.target_container_name
    return not (pod.spec.share_process_namespace or pod.spec.host_pid or targets)


def behaviour_of(
    pod: Pod,
    container: Container,
    environment: Mapping[str, str] | None = None,
    shown: Mapping[str, str] | None = None,
    kills: tuple[Kill, ...] = (),
) -> Behaviour:
    """Return the behaviour of a container's command, regardless of its annotation; see `workload_of`."""
    words = images.command_line(container)
    if words is None:
        note = f'Image "{shortened(container.image, 60)}" is not known: its program idles' if container.image else ""
        return Behaviour(IDLE._replace(note=note, tidy_code=0))  # a server, as most images are
    text = " ".join(words[:MAX_WORDS])[: 2 * MAX_LENGTH]
    wanted = set(environment or ()) if _ENV.search(text) else set(_NAME.findall(text)) if "$" in text else set()
    given = tuple(sorted((name, value) for name, value in (environment or {}).items() if name in wanted))
    waits = container.stdin and len(words) == 1 and words[0].rpartition("/")[2] in _SHELLS
    places = [mount.mount_path for mount in container.volume_mounts if mount.mount_path in text]
    files = tuple(
        sorted(
            (path, content)
            for path, content in (shown or {}).items()
            if path.startswith(tuple(places)) or (path in _PROC and _PROC[path].search(text))
        )
    )
    mounts: tuple[Mount, ...] = ()
    if container.volume_mounts:
        from kitlib.node.simulated.mounts import mounts_of  # loaded with the first mount

        mounts = mounts_of(pod, container)
    return behaviour(tuple(words), mounts, given, pod.name, files, kills, waits=waits)


def not_found(pod: Pod, container: Container) -> str:
    """Return the runtime's message for a command that no image has: a whole line as one word. "" = it may be there.

    Source: opencontainers/runc libcontainer (exec.LookPath on the first word).
    """
    first = next(iter(container.command), "")
    if not re.search(r"\S\s+\S", first) or ANNOTATION + container.name in pod.metadata.annotations:
        return ""
    if "/" in first:
        return f'exec: "{shortened(first, 200)}": stat {shortened(first, 200)}: no such file or directory'
    return f'exec: "{shortened(first, 200)}": executable file not found in $PATH'


def ways_out(container: str) -> str:
    """Return a sentence with two ways to declare the behaviour of an unknown program."""
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
    shown: tuple[tuple[str, str], ...] = (),
    kills: tuple[Kill, ...] = (),
    *,
    waits: bool = False,
) -> Behaviour:
    """Return the behaviour of a command line; a command that is not supported idles, with a note for the user.

    Args:
        words: the words of the command.
        mounts: file systems in the container.
        environment: variables that the command refers to.
        host: the pod's name.
        shown: (path, content) of files that the node shows in the container.
        kills: the kills of its programs.
        waits: whether it is a shell that reads its input.
    """
    if waits:  # an interactive shell
        return Behaviour(IDLE._replace(name=words[0].rpartition("/")[2][:15] if words else "sh", tidying=FOREVER))
    if len(words) > MAX_WORDS or sum(map(len, words)) > MAX_LENGTH:
        return Behaviour(_unknown(words, f"longer than {MAX_LENGTH} characters"))
    words = tuple(word for at, word in enumerate(words) if word or at)
    if not words:
        return Behaviour(IDLE)
    try:
        from kitlib.node.simulated.programs.following import follow

        return follow(words, mounts, dict(environment), host, dict(shown), kills)
    except RecursionError:
        return Behaviour(_unknown(words, "nested too deeply"))
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        return Behaviour(_unknown(words, str(error) or type(error).__name__))


def _unknown(command: Sequence[str], why: str) -> Workload:
    name = str(command[0]).rpartition("/")[2][:15] if command else "app"
    return IDLE._replace(name=name or "app", note=note_of(command, why))

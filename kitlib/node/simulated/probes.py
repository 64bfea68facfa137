"""What probes find in a simulated container.

    declared by annotation     that (see kitlib.node.common.probes)
    exec: cat, ls, stat, test  whether the file is there: as the container's own script made and removed it, or mounted
    exec: false, exit N        fails
    other programs, httpGet,   succeed while the container runs: it serves from its start on
    tcpSocket, grpc

Source: kubelet prober.runProbe, pkg/probe/exec.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from kitlib.api.core import Container, Pod
from kitlib.kubelet.prober.worker import Answer, ProbeType, probes_of
from kitlib.node.common.probes import declared_answer
from kitlib.node.common.workload import parse_seconds

_SHELLS = ("sh", "bash", "ash", "dash")
_LONGEST = 20_000


def answer(pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer:
    """What a probe finds so many seconds after the container's start."""
    declared = declared_answer(pod, container, kind, seconds)
    if declared is not None:
        return declared
    probe = probes_of(container)[kind]
    return Answer("success") if probe.exec is None else _execute(probe.exec.command, _files(container, seconds))


def _execute(command: Sequence[str], files: Mapping[str, bool]) -> Answer:
    """A command that looks at files; programs that are not simulated succeed."""
    words = list(command)
    name = words[0].rpartition("/")[2] if words else "true"
    if name in _SHELLS and "-c" in words[:-1]:
        return _script(words[words.index("-c") + 1], files)
    if name == "false":
        return Answer("failure")
    if name == "exit":
        return Answer("success" if words[1:2] in ([], ["0"]) else "failure")
    paths = [word for word in words[1:] if word.startswith("/")]
    missing = [path for path in paths if not files.get(path, True)]
    if not missing or name not in ("cat", "ls", "stat", "test", "["):
        return Answer("success")
    if name in ("test", "["):
        return Answer("success" if "!" in words else "failure")
    opened = {"cat": "can't open '{}'", "ls": "{}", "stat": "can't stat '{}'"}[name].format(missing[0])
    return Answer("failure", f"{name}: {opened}: No such file or directory\n")


def _script(text: str, files: Mapping[str, bool]) -> Answer:
    found = Answer("success")
    for part in text[:_LONGEST].replace("\n", ";").split(";"):
        for one in part.split("&&"):
            for alternative in one.split("||"):
                found = _execute(_words(alternative), files)
                if found.outcome == "success":
                    break
            if found.outcome != "success":
                break
    return found


def _files(container: Container, seconds: float) -> dict[str, bool]:
    """Path -> whether it is there, of the files that a container's script makes or removes.

    One that the script makes later is not there yet.
    """
    words = [*container.command, *container.args]
    if not (words and words[0].rpartition("/")[2] in _SHELLS and "-c" in words[:-1]):
        return {}
    found: dict[str, bool] = {}
    at = 0.0
    for part in words[words.index("-c") + 1][:_LONGEST].replace("\n", ";").replace("&&", ";").split(";"):
        line = _words(part)
        name = line[0].rpartition("/")[2] if line else ""
        paths = [word for word in line[1:] if word.startswith("/")]
        if name == "sleep":
            try:
                at += sum(parse_seconds(word) for word in line[1:])
            except ValueError:
                return found
        there = name != "rm"
        if name in ("touch", "rm") or ">" in line:
            for path in paths[-1:] if ">" in line else paths:
                if at <= seconds:
                    found[path] = there
                elif there:
                    found.setdefault(path, False)
    return found


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.replace(">>", ">").replace(">", " > "))
    except ValueError:
        return text.split()

"""The process that grades journals for `grading_process`: one child per request, of bounded memory and processor time.

On a busy machine a right solution may wait minutes for a processor, so the limit is one of processor time. A second
limit, by the clock, ends a child that waits for something else.

It imports the kit and nothing of its caller's, forks for each request, and ends when its caller ends, or after a while
without requests. Without `fork` it answers one request.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import grade_journal

_BYTES = 4 << 30
"""Limit of the address space: 40 times that of the largest lab's replay, mostly reserved by numpy and not used."""
_IDLE = 20.0
"""Seconds without a request after which the server ends, since the room shares the memory."""


def main() -> None:
    """Answer requests from standard input until it ends, or no request comes for a while."""
    _limit_resources()
    if not hasattr(os, "fork"):
        print(_answer(sys.stdin.buffer.readline()), flush=True)
        return
    _warm_up()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller
    requests = sys.stdin.buffer
    while select.select([requests], [], [], _IDLE)[0] and (request := requests.readline()):
        print(_forked(request), flush=True)


def _warm_up() -> None:
    """Import and compile what every replay needs, once, before the first fork."""
    from kitlib.cluster import Cluster

    containers = [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "1m"}}}]
    labels = {"app": "warm"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    cluster = Cluster.simulated()
    cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "warm"}, "spec": spec})
    cluster.advance(1)
    cluster.close()


def _limit_resources() -> None:
    """Limit memory and file writes: a journal is untrusted data."""
    sys.dont_write_bytecode = True
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        # The limit applies to regular files only, so the response can still be written to the pipe.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _forked(request: bytes) -> str:
    """Return the response of a forked child, or how the child ended."""
    inward, outward = os.pipe()
    child = os.fork()
    if not child:
        os.close(inward)
        _serve(request, outward)
    os.close(outward)
    with os.fdopen(inward, "rb") as pipe:
        # Read before waitpid: a child with a large response blocks on the full pipe until it is read.
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not code:
        return said.decode()
    return json.dumps({"ended": _why(code, *_limits(request))})


def _why(code: int, seconds: float, clock: float) -> str:
    """Return why a child ended with an exit code other than 0."""
    if code == -signal.SIGPROF:
        return (
            f"the check used more than {seconds:g} s of processor time to replay the actions; lab.reset() starts again"
        )
    if code == -signal.SIGALRM:
        return (
            f"the check took longer than {clock:g} s, but used less than {seconds:g} s of processor time: "
            "it waited; check again when the machine is less busy"
        )
    return f"the grader ended with {code}"


def _serve(request: bytes, outward: int) -> NoReturn:
    """Write one response in the child and exit; output of a check is discarded."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        # The signals keep their default action, which ends the process inside C code too; the parent recognizes them.
        # A timer of 0 would be disarmed.
        seconds, clock = _limits(request)
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-3))
        signal.setitimer(signal.ITIMER_REAL, max(clock, 1e-3))
        answer = _answer(request).encode()
        while answer:
            answer = answer[os.write(outward, answer) :]
        code = 0
    finally:
        # Not sys.exit: handlers and buffers inherited from the parent must not run or be flushed a second time.
        os._exit(code)


def _limits(request: bytes) -> tuple[float, float]:
    """Return the seconds of processor time that a replay may use, and those by the clock that it may take."""
    asked = json.loads(request)
    return float(asked["seconds"]), float(asked["clock"])


def _answer(request: bytes) -> str:
    try:
        asked = json.loads(request)
        ground = convert(asked["ground"], Ground)
        folder = LabFolder.read(asked["lab"], asked["seed"])
        if asked.get("look"):
            from kitlib.lab.look import shown

            return json.dumps({"shown": shown(folder, asked["journal"], ground)})
        found = grade_journal(folder, asked["journal"], tuple(asked["tasks"]), ground)
        return json.dumps(msgspec.to_builtins(found), default=str)
    except KitError as error:
        return json.dumps({"error": str(error)})
    except Exception as error:
        return json.dumps({"ended": f"the grader ended with {type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()

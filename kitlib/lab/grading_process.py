"""Grades journals in a separate process of bounded memory and processor time, without access to the caller's variables.

`python -I` starts a server, which imports the kit and nothing of the caller's. It forks a child for each request:
replays cannot affect each other, and the kit is imported once for all checks of a learner. The server ends when its
caller ends, or after a while without requests. Without `fork` (Windows) it answers one request. In a browser (Pyodide)
there are no processes: the replay runs in the notebook's own, and `kitlib lab-report --recheck` is what counts.

Requests and answers are lines of JSON on standard input and output.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.lab.definition import SIMULATED, Ground, LabFolder
from kitlib.lab.grader import Grade, grade_journal
from kitlib.lab.room import VARIABLE
from kitlib.study.line_process import close, exchange

SECONDS = 60.0
"""Processor time that one replay may use: solutions take 0.2 to 5 s, a day of restarts 2 s."""
_CLOCK = 10.0
"""The limit by the clock as a multiple of the processor time."""
_SLOW = 3.0
"""Seconds after which the learner is told to wait; a single check takes one."""
_START = "import sys; sys.path.insert(0, sys.argv[1]); from kitlib.lab.grading_server import main; main()"
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def grade_apart(
    folder: LabFolder,
    journal: list[dict[str, Any]],
    tasks: tuple[str, ...] = (),
    ground: Ground = SIMULATED,
    *,
    seconds: float = SECONDS,
) -> Grade:
    """Run `grade_journal` in a separate process; in a browser, in this one.

    Args:
        folder: the lab.
        journal: the learner's actions, in order.
        tasks: keys of the tasks to grade; () = all.
        ground: the conditions under which the lab was done.
        seconds: processor time that the replay may use.

    Raises:
        KitError: the grader could not run, or used more processor time.
    """
    if sys.platform == "emscripten":
        return grade_journal(folder, json.loads(json.dumps(journal, default=str)), tasks, ground)
    with _patience():
        return convert(_replayed(folder, journal, ground, seconds, tasks=tasks), Grade)


@contextmanager
def _patience(tell: Callable[[str], None] = print) -> Iterator[None]:
    """Tell learners of a room that a check waits for a processor, if it takes longer than `_SLOW` seconds.

    The host's kernel divides its processors evenly among the checks that run. A queue of our own, with a turn for each
    processor, was measured: beside other work, which then got most of the processors, the last of thirty waited three
    times as long.
    """
    timer = threading.Timer(_SLOW, lambda: tell(_busy()))
    timer.daemon = True
    if os.environ.get(VARIABLE):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _busy() -> str:
    load = f" (load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors)" if hasattr(os, "getloadavg") else ""
    return (
        f"The check waits for a processor: many people use this machine{load}. Nothing is lost; it goes on by itself."
    )


def look_apart(
    folder: LabFolder, journal: list[dict[str, Any]], ground: Ground = SIMULATED, *, seconds: float = SECONDS
) -> str:
    """Run `look.shown` in a separate process and return the cluster after a journal, as text.

    Args:
        folder: the lab.
        journal: the learner's actions, in order.
        ground: the conditions under which the lab was done.
        seconds: processor time that the replay may use.

    Raises:
        KitError: the grader could not run, or used more processor time.
    """
    return str(_replayed(folder, journal, ground, seconds, look=True)["shown"])


def _replayed(
    folder: LabFolder, journal: list[dict[str, Any]], ground: Ground, seconds: float, **wanted: Any
) -> dict[str, Any]:
    request = {
        "lab": str(folder.path),
        "seed": folder.seed,
        "journal": journal,
        "ground": msgspec.to_builtins(ground),
        "seconds": seconds,
        "clock": _CLOCK * seconds,
        **wanted,
    }
    answer = _asked(json.dumps(request, default=str).encode())
    if "ended" in answer:
        raise KitError(f"lab {folder.name}: {answer['ended']}")
    if "error" in answer:
        raise KitError(answer["error"])
    return answer


class _Server:
    """A running grading server.

    Attributes:
        owner: process id of the process that started it.
        pid: the server's process id.

    Raises:
        KitError: the server cannot be started.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        package = str(Path(__file__).resolve().parents[2])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            raise KitError(f"the grader cannot be started: {error.strerror or error}") from error
        self.pid = self._process.pid

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the response line; b"" if the server has ended."""
        return exchange(self._process, request)

    def last_words(self) -> str:
        """Return how the server ended, with the last line of its standard error."""
        assert self._process.stderr is not None
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "the grader does not answer"
        said = self._process.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
        return f"the grader ended with code {code}: {said[0] if said else 'it printed no reason'}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        close(self._process.stdin, self._process.stdout, self._process.stderr)


_LOCK = threading.Lock()
_servers: list[_Server] = []
"""The server of this process, if any; a server inherited from a parent process is not used."""


def _asked(request: bytes) -> dict[str, Any]:
    """Send a request and return the response; a server that has ended since the last request is restarted."""
    with _LOCK:
        # After a fork both processes hold the pipes of the parent's server: a child that used them would mix up
        # responses.
        fresh = not _servers or _servers[0].owner != os.getpid()
        line, why = b"", ""
        try:
            # Only a server of an earlier request gets a second try: it may have ended because it was idle.
            for new in (True,) if fresh else (False, True):
                if new:
                    _end()
                    _servers[:] = [_Server()]
                line = _servers[0].ask(request)
                if line:
                    return json.loads(line)
            why = _servers[0].last_words()
        finally:
            # Also after an interrupt: the late response would otherwise be read as the answer to the next request.
            if not line or not hasattr(os, "fork"):  # it has ended, or its response is not wanted
                _end()
    return {"ended": why}


@atexit.register
def _end() -> None:
    """End this process's server."""
    for server in _servers:
        if server.owner == os.getpid():
            server.close()
    _servers.clear()

"""A rehearsal of a room: a hub from the recipe, simulated learners who all come at once, and the machine's capacity.

The rehearsal uses the recipe's configuration with the trainer's changes, and real servers, kernels and checks. Only
the learners' folder, the roster, the passwords and the ports are temporary.

    servers start beforehand -> all log in within 10 s -> all open a lab and its widget -> all check at once, twice
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from kitlib.api.errors import KitError
from kitlib.workshop import hub_client, roster

ARRIVE = 10.0
"""Seconds within which all learners log in."""
HUB_SECONDS, BEFOREHAND_SECONDS, STEP_SECONDS, END_SECONDS = 60.0, 600.0, 600.0, 180.0
SLOW_SERVER, SLOW_WIDGET, SLOW_CHECK = 20.0, 60.0, 30.0
"""Acceptable seconds for the last learner's page, first widget, and check."""
LITTLE_MEMORY = 0.10
"""Fraction of the machine's memory that should remain free."""
LAB = "01-make-it-guaranteed"
STEPS = {
    "kernel and lab": f"from kitlib.lab import Lab; lab = Lab({LAB!r})",
    "widget": "lab.edit()",
    "first check": "lab.check()",
    "second check": "lab.check()",
}


@dataclass
class RehearsalResult:
    """The measurements of a rehearsal.

    Attributes:
        learners: number of learners.
        processors: number of processors of the machine.
        memory: memory of the machine in bytes.
        available: available bytes before the hub started.
        least: minimum of available bytes since then.
        beforehand: seconds until all servers ran, before the first learner came.
        problems: problems of learners, as text.
        refused: number of repeated requests because too many servers were starting.
        seconds: step -> seconds of each learner.
    """

    learners: int
    processors: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    memory: int = 0
    available: int = 0
    least: int = 0
    beforehand: float = 0.0
    problems: list[str] = field(default_factory=list)
    refused: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def slowest(self, step: str) -> float:
        """Return the seconds of the slowest learner; 0 = no learner has finished the step."""
        return max(self.seconds.get(step, ()), default=0.0)

    @property
    def per_learner(self) -> float:
        """The bytes per learner at the time of the highest memory use."""
        return max(0.0, (self.available - self.least) / self.learners)

    def carries(self) -> int:
        """Return the number of learners for which the memory suffices, with a tenth of it in reserve."""
        room = self.available - LITTLE_MEMORY * self.memory
        return int(room / self.per_learner) if self.per_learner else 0

    def findings(self) -> list[str]:
        """Return the bottlenecks with the settings to change, the worst first; [] = none."""
        found = []
        if self.problems:
            found.append(
                f"{len(self.problems)} of {self.learners} learners met an error: {'; '.join(self.problems[:3])}"
            )
        if self.least < LITTLE_MEMORY * self.memory:
            found.append(
                f"Memory: {_gb(self.least)} of {_gb(self.memory)} were left. At most {self.carries()} learners, or "
                f"{_gb(self.per_learner * self.learners + LITTLE_MEMORY * self.memory - self.available + self.memory)}"
            )
        if self.refused:
            found.append(
                f"{self.refused} times a page had to ask again: raise c.JupyterHub.concurrent_spawn_limit in "
                "jupyterhub_config.py"
            )
        for step, limit, change in (
            ("page", SLOW_SERVER, "start servers beforehand (--roster), or take more processors"),
            ("first widget", SLOW_WIDGET, "take more processors, or let people begin one after the other"),
            ("first check", SLOW_CHECK, "take more processors; no check is lost"),
        ):
            if (slowest := self.slowest(step)) > limit:
                wanted = -(-self.processors * slowest // limit)
                found.append(
                    f"{step}: the last learner waited {slowest:.0f} s (more than {limit:.0f}): {change}, {wanted:.0f}"
                )
        return found

    def __str__(self) -> str:
        lines = [
            f"{self.learners} learners on {self.processors} processors and {_gb(self.memory)} of memory, "
            f"load {os.getloadavg()[0]:.1f}",
            f"  {'servers started beforehand':34} {self.beforehand:6.1f} s",
        ]
        for step, seconds in self.seconds.items():
            lines.append(f"  {step:34} {max(seconds):6.1f} s for the last, {median(seconds):.1f} s in the middle")
        lines += [
            f"  {'memory of a learner':34} {self.per_learner / 1e6:6.0f} MB",
            f"  {'learners that the memory carries':34} {self.carries():6d}",
        ]
        found = self.findings()
        lines += ["What to change:", *(f"  * {text}" for text in found)] if found else ["Nothing to change."]
        return "\n".join(lines)


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f} GB"


def rehearse(
    recipe: Path, learners: int, tell: Callable[[str], None] = lambda _: None, *, expected: bool = True
) -> RehearsalResult:
    """Rehearse a room with a recipe.

    Args:
        recipe: the folder that `kitlib workshop` wrote; KITLIB_HUB_SPAWNER chooses the servers, as for the hub itself.
        learners: number of learners.
        tell: called with a sentence about the current step.
        expected: whether the learners are on a roster; otherwise every server starts at the login of its learner.

    Raises:
        KitError: the recipe, JupyterHub or its proxy does not exist, or the hub does not start.
    """
    config = recipe / "jupyterhub_config.py"
    if not config.exists():
        raise KitError(f"{config}: no such file; create it with kitlib workshop {recipe}")
    for program in ("jupyterhub", "configurable-http-proxy"):
        if shutil.which(program) is None:
            raise KitError(f"{program} is not on PATH; install the hub as described in {recipe / 'guide.md'}")
    measured = RehearsalResult(learners)
    memory = _memory()
    measured.memory, measured.available = memory["MemTotal"], memory["MemAvailable"]
    measured.least = measured.available
    people = [roster.Person(f"learner-{number:02}", f"Learner {number}") for number in range(1, learners + 1)]
    words = {"KITLIB_HUB_PASSWORD": secrets.token_hex(8), "KITLIB_HUB_ADMIN_PASSWORD": secrets.token_hex(20)}
    with tempfile.TemporaryDirectory(prefix="kitlib-rehearsal-") as place, _watched(measured):
        folder = Path(place)
        folder.chmod(0o755)  # learners' containers read the room's folder
        (folder / roster.FILE).write_text(roster.to_csv(people), encoding="utf-8")
        with _hub(config.resolve(), folder, words, expected) as hub:
            if expected:
                tell("The hub runs; servers are started beforehand.")
                measured.beforehand = _started_beforehand(hub, words["KITLIB_HUB_ADMIN_PASSWORD"], learners)
            else:
                tell("The hub runs without a roster; no server is started beforehand.")
            tell(f"{learners} learners log in within {ARRIVE:.0f} s, open a lab and check it.")
            live_a_day(hub, words["KITLIB_HUB_PASSWORD"], [person.account for person in people], measured)
            tell("The hub ends.")
    return measured


def _memory() -> dict[str, int]:
    """Return the lines of /proc/meminfo in bytes."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}


@contextmanager
def _watched(measured: RehearsalResult) -> Iterator[None]:
    """Record the minimum of available memory during the block."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            measured.least = min(measured.least, _memory()["MemAvailable"])

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ports() -> tuple[int, int]:
    """Return a free port for learners, and one for the hub whose two successors are free (proxy's, room's)."""
    for _ in range(50):
        with ExitStack() as opened:
            first, second, *others = (opened.enter_context(socket.socket()) for _ in range(4))
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            with suppress(OSError, OverflowError):
                for further, one in enumerate(others, start=1):
                    one.bind(("127.0.0.1", second.getsockname()[1] + further))
                return first.getsockname()[1], second.getsockname()[1]
    raise KitError("cannot find three consecutive free ports on this machine")


@contextmanager
def _hub(config: Path, folder: Path, words: Mapping[str, str], expected: bool) -> Iterator[str]:
    """Run a hub and yield its address.

    Raises:
        KitError: the hub does not start; the message has the end of its log.
    """
    port, api = _ports()
    settings = {
        **words,
        "KITLIB_HUB_PORT": str(port),
        "KITLIB_HUB_API_PORT": str(api),
        "KITLIB_HUB_FOLDER": str(folder / "learners"),
        "KITLIB_HUB_ROSTER": str(folder / roster.FILE) if expected else "",
        "KITLIB_HUB_START": "1",
    }
    log, session = folder / "hub.log", hub_client.session()
    with log.open("w") as written:
        process = subprocess.Popen(
            [shutil.which("jupyterhub") or "jupyterhub", "-f", str(config)],
            cwd=folder,
            env=os.environ | settings,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        if not _until(
            lambda: process.poll() is not None or _answers(session, f"{address}/hub/health"), HUB_SECONDS
        ) or (process.poll() is not None):
            raise KitError(f"the hub did not start:\n{log.read_text(errors='replace')[-1500:]}")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            print("the hub does not end by itself and is killed", file=sys.stderr)
            process.kill()
            process.wait()
            _kill_processes_of(folder)


def _kill_processes_of(folder: Path) -> None:
    """Kill the processes that a killed hub left (proxy, service, servers): their environment names `folder`."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or belongs to another user
            if os.fsencode(folder) in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


def _answers(session: Any, address: str) -> bool:
    with suppress(OSError):  # requests' errors are OSErrors
        return bool(session.get(address, timeout=5).ok)
    return False


def _until(happened: Callable[[], Any], seconds: float) -> Any:
    """Wait until a condition holds or a timeout; return its last value."""
    end = time.monotonic() + seconds
    while not (found := happened()) and time.monotonic() < end:
        time.sleep(0.3)
    return found


def _started_beforehand(hub: str, word: str, learners: int) -> float:
    """Wait until the room's page reports that all servers have started or failed; return the seconds."""
    began, session = time.monotonic(), hub_client.session()
    if hub_client.log_in(session, hub, roster.TRAINER, word, "") != 302:
        raise KitError("the trainer cannot log in; check that room_login.py is the recipe's own file")
    session.get(f"{hub}/services/room/")

    def done() -> bool:
        said = session.get(f"{hub}/services/room/board.json").json()["servers"]
        counts = re.match(r"(\d+) of \d+ servers were started(?:, (\d+) failed)?", said)
        return counts is not None and int(counts[1]) + int(counts[2] or 0) >= learners

    _until(done, BEFOREHAND_SECONDS)
    return time.monotonic() - began


def live_a_day(hub: str, word: str, accounts: list[str], measured: RehearsalResult) -> None:
    """Simulate all learners, each in a thread, who go through the steps together.

    Args:
        hub: address of the hub.
        word: password of the room.
        accounts: accounts of the learners; each has the personal password "ACCOUNT's own word".
        measured: the result to fill in.
    """
    barrier, lock = threading.Barrier(len(accounts)), threading.Lock()

    def note(step: str, began: float) -> None:
        with lock:
            measured.seconds.setdefault(step, []).append(round(time.monotonic() - began, 2))

    def together() -> float:
        with suppress(threading.BrokenBarrierError):  # a learner who failed does not stop the others
            barrier.wait(STEP_SECONDS)
        return time.monotonic()

    def learner(number: int, account: str) -> None:
        step = "login"
        try:
            time.sleep(ARRIVE * number / len(accounts))
            began, session = time.monotonic(), hub_client.session()
            if (status := hub_client.log_in(session, hub, account, f"{account}'s own word", word)) != 302:
                raise KitError(f"status {status}")
            note("login", began)
            step = "server"
            status, refused = hub_client.start(session, hub, account)
            with lock:
                measured.refused += refused
            if status != 200:
                raise KitError(f"status {status}")
            note("page", began)
            step, began = "kernel", together()
            kernel = hub_client.RemoteKernel(session, hub, account)
            for step, code in STEPS.items():
                if step.endswith("check"):
                    together()
                    kernel.connect()  # the server has closed a connection on which no ping was answered
                start = time.monotonic()
                ended, _ = kernel.run(code)
                if ended != "ok":
                    raise KitError(ended)
                note(step, start)
                if step == "widget":
                    note("first widget", began)
        except Exception as error:  # a rehearsal reports every error
            with lock:
                measured.problems.append(f"{account}: {step}: {error}"[:200])
            # Without it the other learners would wait for this one until their timeout.
            barrier.abort()

    with ThreadPoolExecutor(len(accounts)) as pool:
        list(pool.map(learner, range(len(accounts)), accounts))

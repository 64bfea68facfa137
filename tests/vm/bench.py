"""The same operations on the real kernel's cgroups and on the simulated one's: make, write, read, remove, processes.

An operation is a line of text (`write a cpu.shares 1`); its outcome is text too: what the file shows afterwards, or the
name of the error. So a test is a short script, and a table of two outcomes side by side needs no interpretation.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kitlib.api.resource import Quantity
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.oci import workload_command
from kitlib.node.simulated.kernel import Kernel
from tests.vm.puppet import FILE as PUPPET_FILE

BASE = "/bench"
PATIENCE = 60.0
"""Seconds after which something is stuck; nothing is measured against it."""


class Puppet:
    """A process on the real kernel that does as it is told.

    Args:
        line: the connection that it has made.
    """

    def __init__(self, line: socket.socket) -> None:
        self.line, self._stream = line, line.makefile("rw")
        self.pid = int(self._stream.readline())
        self.dead = False

    def tell(self, command: str) -> str:
        """Have it do something; "" where it died over it."""
        try:
            self._stream.write(command + "\n")
            self._stream.flush()
            answer = self._stream.readline().strip()
        except OSError:
            answer = ""
        self.dead = self.dead or not answer
        return answer

    def end(self) -> None:
        """Kill it, and wait until it has gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, 9)
        self.gone(PATIENCE)
        self.line.close()
        until = time.monotonic() + PATIENCE  # it leaves its cgroup after its files are closed (kernel/exit.c do_exit)
        while os.path.exists(f"/proc/{self.pid}") and time.monotonic() < until:
            time.sleep(0.001)

    def gone(self, seconds: float) -> bool:
        """Whether it has gone within so many seconds."""
        if not self.dead:
            self.dead = bool(select.select([self.line], [], [], seconds)[0]) and not self.line.recv(1, socket.MSG_PEEK)
        return self.dead


class Puppets:
    """The server that puppets are forked from."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()
        path = f"{self._place.name}/puppets"
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(path)
        self._door.listen(64)
        server = [sys.executable, "-I", "-S", str(Path(__file__).with_name("puppet.py")), path]
        self._server = subprocess.Popen(server, stdin=subprocess.PIPE, text=True)

    def new(self) -> Puppet:
        """One more."""
        assert self._server.stdin is not None
        self._server.stdin.write("\n")
        self._server.stdin.flush()
        return Puppet(self._door.accept()[0])

    def close(self) -> None:
        """End the server; puppets end with their connections."""
        self._server.kill()
        self._server.wait()
        self._door.close()
        self._place.cleanup()


def machine() -> MachineInfo:
    """This machine, as the simulated kernel is to be: its processors, memory, and pool of huge pages."""
    meminfo = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total = os.sysconf("SC_PHYS_PAGES") * 4096
    pages = {"2Mi": int(meminfo["HugePages_Total"])} if "HugePages_Total" in meminfo else {}
    return MachineInfo.declare(os.cpu_count() or 1, total, huge_pages=pages)


class Side:
    """One of the two kernels; the operations are its methods that begin with `do_`.

    Attributes:
        fs: its cgroup files.
        base: the cgroup that everything stands in.
    """

    fs: Any
    base = BASE

    def run(self, script: str) -> list[tuple[str, str]]:
        """Run a script: (operation, outcome), line by line; a line `!x` is x without its outcome being noted."""
        found = []
        for line in filter(None, map(str.strip, script.splitlines())):
            quiet, words = line.startswith("!"), line.lstrip("!").split(" ", 1)
            try:
                outcome = getattr(self, f"do_{words[0]}")(*([words[1]] if len(words) > 1 else []))
            except OSError as error:
                outcome = errno.errorcode.get(error.errno or 0, str(error))
            if not quiet:
                found.append((line, outcome))
        return found

    def path(self, name: str) -> str:
        """The cgroup of a name in a script; "." is the one that everything stands in."""
        return self.base if name == "." else f"{self.base}/{name}"

    def do_make(self, name: str) -> str:
        """A cgroup with every controller, as a container runtime makes it."""
        self.fs.makedirs(self.path(name))
        return "made"

    def do_write(self, words: str) -> str:
        """`write CGROUP FILE VALUE`: what the file shows then, or the error and what the file shows still."""
        name, file, *value = words.split(" ", 2)
        written = value[0].replace("\\n", "\n") if value else ""
        try:
            self.fs.write(self.path(name), file, written)
            refused = ""
        except CgroupError as error:
            refused = errno.errorcode[error.errno or 0]
        try:
            shown = self.fs.read(self.path(name), file)
        except CgroupError as error:
            shown = errno.errorcode[error.errno or 0]
        if file in ("cgroup.procs", "tasks", "cgroup.kill", "memory.reclaim"):
            shown = ""
        return f"{refused} {shown}".strip() or '""'

    def do_read(self, words: str) -> str:
        """`read CGROUP FILE`, or `read CGROUP FILE KEY` for one figure of several."""
        name, file, *key = words.split()
        text = self.fs.read(self.path(name), file)
        if key:
            return dict(line.rsplit(" ", 1) for line in text.splitlines()).get(key[0], "no such key")
        return " ".join(text.split()) or '""'

    def do_rmdir(self, name: str) -> str:
        """Remove a cgroup."""
        self.fs.rmdir(self.path(name))
        return "removed"


def _size(text: str) -> int:
    return int(Quantity(text).value())


class Real(Side):
    """The kernel that this process runs on.

    Args:
        puppets: who starts processes.
    """

    def __init__(self, puppets: Puppets) -> None:
        self.fs = RealCgroupFS()
        self._puppets = puppets
        self.made: dict[str, Puppet] = {}
        self.begin()

    def begin(self) -> None:
        """An empty bench, whatever was on it."""
        self.clear()
        self.fs.makedirs(BASE)

    def clear(self) -> None:
        """End every process of the bench, remove every cgroup of it."""
        for one in self.made.values():
            one.end()
            Path(f"{PUPPET_FILE}{one.pid}").unlink(missing_ok=True)  # hundreds of them fill the disk
        self.made.clear()
        if self.fs.exists(BASE):
            self._remove(BASE)

    def _remove(self, path: str) -> None:
        for below in self.fs.children(path):
            self._remove(below)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.fs.rmdir(path)
                return
            except CgroupError:
                if time.monotonic() > until:
                    raise
                for pid in self.fs.procs(path):
                    with suppress(ProcessLookupError):
                        os.kill(pid, 9)
                time.sleep(0.005)

    def attach(self, name: str, pid: int) -> None:
        """Move a process, in every hierarchy, as a container runtime does."""
        for root in sorted(set(self.fs.hierarchies.values())):
            try:
                with open(f"{root}{self.path(name)}/cgroup.procs", "w") as file:
                    file.write(str(pid))
            except OSError as error:
                raise CgroupError(error.errno or 0, name, "cgroup.procs", str(pid)) from None

    @contextmanager
    def working(self, cgroup: str, workload: Workload) -> Iterator[subprocess.Popen[str]]:
        """A process that follows a declared workload, as on a real node, from its first instruction in a cgroup."""
        wait = "import os, sys; sys.stdin.read(1); os.execv(sys.argv[1], sys.argv[1:])"
        started = [sys.executable, "-I", "-S", "-c", wait, *workload_command(workload)]
        with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            self.attach(cgroup, process.pid)
            process.stdin.write("x")
            process.stdin.close()
            try:
                yield process
            finally:
                for pid in self.fs.procs(self.path(cgroup)):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def do_mkdir(self, name: str) -> str:
        """A cgroup as mkdir(2) leaves it."""
        for root in sorted(set(self.fs.hierarchies.values())):
            os.mkdir(root + self.path(name))
        return "made"

    def do_rmdir(self, name: str) -> str:
        """A cgroup is removed as rmdir(2) does it."""
        for root in sorted(set(self.fs.hierarchies.values())):
            os.rmdir(root + self.path(name))
        return "removed"

    def do_start(self, words: str) -> str:
        """`start NAME CGROUP [MEMORY [OOM_SCORE_ADJ]]`: a process that has so much memory."""
        name, cgroup, *more = words.split()
        puppet = self._puppets.new()
        try:
            self.attach(cgroup, puppet.pid)
        except OSError:
            puppet.end()
            raise
        self.made[name] = puppet
        if more[1:]:
            Path(f"/proc/{puppet.pid}/oom_score_adj").write_text(more[1])
        if more:
            self._taken(name, f"take {_size(more[0])}")
        return "started"

    def do_take(self, words: str) -> str:
        """`take NAME MEMORY`: so much more."""
        name, memory = words.split()
        return self._taken(name, f"take {_size(memory)}")

    def do_cache(self, words: str) -> str:
        """`cache NAME MEMORY`: so much page cache that can be given back."""
        name, memory = words.split()
        return self._taken(name, f"cache {_size(memory)}")

    def _taken(self, name: str, command: str) -> str:
        answer = self.made[name].tell(command)
        if answer.isdigit():
            raise OSError(int(answer), command)
        return "has it" if answer else "died"

    def do_fork(self, words: str) -> str:
        """`fork NAME COUNT`: how many children it could have."""
        name, count = words.split()
        return self.made[name].tell(f"fork {count}")

    def do_move(self, words: str) -> str:
        """`move NAME CGROUP`."""
        name, cgroup = words.split()
        self.attach(cgroup, self.made[name].pid)
        return "moved"

    def do_end(self, name: str) -> str:
        """Kill a process."""
        self.made[name].end()
        return "ended"

    def do_lives(self, name: str) -> str:
        """Whether a process lives; one that is to die may take a moment."""
        return "dead" if self.made[name].gone(0.5) else "lives"


class Simulated(Side):
    """The model of the kernel.

    Args:
        version: of its cgroups.
        like: the machine that it runs on; None = this one.
    """

    def __init__(self, version: Any, like: MachineInfo | None = None) -> None:
        self.kernel = Kernel(like or machine(), version)
        self.fs = self.kernel.cgroups
        self.made: dict[str, int] = {}
        self._phases: dict[str, Phase] = {}
        self.fs.makedirs(BASE)

    def do_mkdir(self, name: str) -> str:
        """A cgroup as mkdir(2) leaves it."""
        self.fs.mkdir(self.path(name))
        return "made"

    def do_start(self, words: str) -> str:
        """`start NAME CGROUP [MEMORY [OOM_SCORE_ADJ]]`."""
        name, cgroup, *more = words.split()
        phase = Phase(FOREVER, memory=_size(more[0]) if more else 0)
        adj = int(more[1]) if more[1:] else 0
        self.made[name] = self.kernel.spawn(Workload((phase,)), self.path(cgroup), adj, name)
        return "started"

    def _becomes(self, name: str, change: Callable[[Phase], Phase]) -> str:
        process = self.kernel.processes[self.made[name]]
        process.workload = Workload((*process.workload.phases[: process.phase + 1], change(process.wants)))
        self.kernel._enter(process, process.phase + 1)
        return "has it" if self.made[name] in self.kernel.processes else "died"

    def do_take(self, words: str) -> str:
        """`take NAME MEMORY`."""
        name, memory = words.split()
        process = self.kernel.processes[self.made[name]]
        cache = min(process.wants.cache, process.cache)  # a puppet does not read reclaimed files again
        return self._becomes(name, lambda phase: phase._replace(memory=phase.memory + _size(memory), cache=cache))

    def do_cache(self, words: str) -> str:
        """`cache NAME MEMORY`."""
        name, memory = words.split()
        return self._becomes(name, lambda phase: phase._replace(cache=phase.cache + _size(memory)))

    def do_fork(self, words: str) -> str:
        """`fork NAME COUNT`."""
        name, count = words.split()
        process = self.kernel.processes[self.made[name]]
        before = process.tasks
        self._becomes(name, lambda phase: phase._replace(pids=process.tasks + int(count)))
        return str(process.tasks - before)

    def do_move(self, words: str) -> str:
        """`move NAME CGROUP`."""
        name, cgroup = words.split()
        self.fs.attach(self.path(cgroup), self.made[name])
        return "moved"

    def do_end(self, name: str) -> str:
        """Kill a process."""
        self.kernel.kill(self.made[name])
        return "ended"

    def do_lives(self, name: str) -> str:
        """Whether a process lives."""
        return "lives" if self.made[name] in self.kernel.processes else "dead"

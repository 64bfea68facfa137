"""The view of `kubectl exec` into a simulated container: its cgroup files, /proc, its environment, and a shell.

The shell and its programs are those of containers' own commands (`kitlib.node.simulated.shell`, `programs`); an unknown
program is "not found". Files are those that a container sees with its own cgroup namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kitlib.api.errors import KitError
from kitlib.node.simulated.container_machine import REFUSED, ContainerMachine, ProcessOne
from kitlib.node.simulated.programs import catalogue
from kitlib.node.simulated.programs.waiting import CLIENTS
from kitlib.node.simulated.shell.interpreter import Shell
from kitlib.node.simulated.shell.machine import (
    Data,
    Forever,
    Input,
    Machine,
    NotFollowed,
    Program,
    ProgramError,
    ShellExit,
)
from kitlib.node.simulated.shell.machine import Result as ProgramResult

if TYPE_CHECKING:
    from kitlib.kubelet.pods.volume_files import Files
    from kitlib.node.simulated.process import Process

PROMPT = "/ # "
_CGROUP = "/sys/fs/cgroup"
_SHOWN = (
    "cat, cp, dd, echo, env, grep, head, hostname, id, ls, nproc, printenv, printf, pwd, rm, sh, tail, test, touch, wc"
)


class CgroupReader(Protocol):
    """The cgroup file system of a node."""

    @property
    def version(self) -> int: ...
    def read(self, path: str, file: str) -> str: ...
    def files(self, path: str) -> list[str]: ...


class ExecNode(Protocol):
    """The interface of a node that the shell uses."""

    @property
    def cgroupfs(self) -> CgroupReader: ...
    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]: ...
    def pressure(self, resource: str) -> str: ...
    def process(self, pod: str, container: str = "", namespace: str = "default") -> Process: ...
    def signal(self, pod: str, container: str, signal: int = 9, namespace: str = "default") -> None: ...
    def volume_files(self, pod: str, container: str = "", namespace: str = "default") -> Files: ...
    def made_files(self, pod: str, container: str = "", namespace: str = "default") -> Mapping[str, Data | None]: ...
    def written_files(
        self, pod: str, container: str = "", namespace: str = "default"
    ) -> MutableMapping[str, Data | None]: ...


class ExecResult(NamedTuple):
    """The output of a command and its exit code."""

    stdout: str
    stderr: str
    code: int


class ContainerFiles:
    """A container's files as the node shows them; implements `kitlib.node.simulated.container_machine.View`.

    Args:
        node: the container's node.
        namespace: the pod's namespace.
        pod: the pod's name, which is its host name.
        container: the container's name; "" = the only one.
    """

    def __init__(self, node: ExecNode, namespace: str, pod: str, container: str) -> None:
        self._node, self._namespace, self._pod, self._container = node, namespace, pod, container

    def proc(self) -> dict[str, str]:
        """Return the /proc/1 values of the container's process."""
        return self._node.proc(self._pod, self._container, self._namespace)

    def _cgroup(self) -> str:
        return self.proc()["cgroup"].splitlines()[0].split(":", 2)[2]

    def text(self, path: str) -> str | None:
        """Return a file's content; None where there is no such file."""
        if path in ("/proc/self/cgroup", "/proc/1/cgroup"):
            # In its own cgroup namespace a process sees its cgroup as the root. Source: cgroup_namespaces(7).
            return "".join(f"{line.rsplit(':', 1)[0]}:/\n" for line in self.proc()["cgroup"].splitlines())
        for name in ("oom_score", "oom_score_adj"):
            if path in (f"/proc/self/{name}", f"/proc/1/{name}"):
                return f"{self.proc()[name].strip()}\n"
        if path == "/proc/self/nproc":
            return f"{_count(self.proc()['Cpus_allowed_list'])}\n"
        if path.startswith("/proc/pressure/"):
            try:
                return self._node.pressure(path.removeprefix("/proc/pressure/"))
            except KitError:
                return None
        if path in ("/proc/mounts", "/proc/self/mounts", "/proc/1/mounts"):
            return self._mounts()
        if path == "/etc/hostname":
            return f"{self._pod}\n"
        mounted = self._mounted().get(path)
        if mounted is not None:
            return mounted.data.decode(errors="replace")
        file = self._cgroup_file(path)
        return None if file is None else f"{self._node.cgroupfs.read(self._cgroup(), file).rstrip()}\n"

    def _mounts(self) -> str:
        """Return /proc/mounts: the root, /proc and the cgroup hierarchies. Source: containerd oci.defaultMounts."""
        flags = "nosuid,nodev,noexec,relatime"
        mounts = ["overlay / overlay rw,relatime", f"proc /proc proc rw,{flags}"]
        if self._node.cgroupfs.version == 2:
            mounts.append(f"cgroup {_CGROUP} cgroup2 ro,{flags}")
        else:
            mounts.append(f"tmpfs {_CGROUP} tmpfs ro,{flags},mode=755")
            mounts += [f"cgroup {_CGROUP}/{one} cgroup ro,{flags},{one}" for one in self.names(_CGROUP) or ()]
        return "".join(f"{mount} 0 0\n" for mount in mounts)

    def has(self, path: str) -> bool:
        """Return False: unknown files are assumed not to exist."""
        return False

    def _cgroup_file(self, path: str) -> str | None:
        if not path.startswith(f"{_CGROUP}/"):
            return None
        rest = path.removeprefix(f"{_CGROUP}/")
        if self._node.cgroupfs.version == 1:
            controller, _, rest = rest.partition("/")
            if not rest.startswith((f"{controller}.", "cgroup.", "tasks")):
                return None
        return rest if rest in self._node.cgroupfs.files(self._cgroup()) else None

    def _mounted(self) -> Files:
        return self._node.volume_files(self._pod, self._container, self._namespace)

    def names(self, path: str) -> list[str] | None:
        """Return the names in a directory; None where there is no such directory."""
        files = sorted(self._node.cgroupfs.files(self._cgroup()))
        controllers = sorted(
            {file.partition(".")[0] for file in files if "." in file and not file.startswith("cgroup.")}
        )
        known: dict[str, list[str]] = {"/": ["etc", "proc", "sys"], "/sys": ["fs"], "/sys/fs": ["cgroup"]}
        if self._node.cgroupfs.version == 2:
            known[_CGROUP] = files
        else:
            known[_CGROUP] = controllers
            known |= {f"{_CGROUP}/{c}": [f for f in files if f.startswith(f"{c}.")] for c in controllers}
        for mounted in self._mounted():
            parts = mounted.strip("/").split("/")
            for depth, name in enumerate(parts):
                names = known.setdefault("/" + "/".join(parts[:depth]), [])
                if name not in names:
                    names.append(name)
                    names.sort()
        return known.get(path)


class ContainerShell:
    """A shell in a container; its variables persist between lines.

    Args:
        node: the container's node.
        namespace: the pod's namespace.
        pod: the pod's name, which is its host name.
        container: the container's name; "" = the only one.
    """

    prompt = PROMPT

    def __init__(self, node: ExecNode, namespace: str, pod: str, container: str) -> None:
        self._files, self._signals = ContainerFiles(node, namespace, pod, container), list[int]()
        self._signal = partial(node.signal, pod, container, namespace=namespace)
        process = node.process(pod, container, namespace)
        one = ProcessOne(process.name, process.workload.tidying, lambda seconds, number: self._signals.append(number))
        self._machine = ContainerMachine(
            self._files,
            node.made_files(pod, container, namespace),
            node.written_files(pod, container, namespace),
            process=one,
        )
        lines = (line.partition("=")[::2] for line in self._files.proc()["environ"].splitlines() if "=" in line)
        self._shell = Shell(self._machine, _find, self._not_found, dict(lines))

    @staticmethod
    def _not_found(words: Sequence[str], machine: Machine) -> ProgramResult:
        text = f"{words[0]}: not found (a simulated container runs no programs; it knows {_SHOWN} and others)\n"
        return ProgramResult(err=text, code=127)

    def run(self, words: Sequence[str]) -> ExecResult:
        """Run one command, as `kubectl exec POD -- COMMAND` does."""
        return self._collect(lambda: self._program(words)) if words else ExecResult("", "", 0)

    def _program(self, words: Sequence[str]) -> int:
        try:
            result = self._shell.program(words, self._machine, Input())
        except ProgramError as error:
            result = ProgramResult(err=f"{words[0].rpartition('/')[2]}: {error}\n", code=error.code)
        self._machine.log(result.out)
        self._machine.log(Data(result.err), error=True)
        return result.code

    def line(self, text: str) -> ExecResult:
        """Run one line of an interactive shell."""
        return self._collect(lambda: self._shell.run(text))

    def _collect(self, run: Callable[[], int]) -> ExecResult:
        self._machine.begin()
        try:
            code = run()
        except ShellExit as end:
            code = end.code
        except ProgramError as error:
            self._machine.log(Data(f"sh: {error}\n"), error=True)
            code = error.code
        except NotFollowed as error:
            text = f"sh: {error}: not read here, though a shell of a real container may know it\n"
            self._machine.log(Data(text), error=True)
            code = 2
        except Forever:
            self._machine.log(Data(f"sh: {REFUSED}\n"), error=True)
            code = 1
        while self._signals:
            self._signal(self._signals.pop(0))
        return ExecResult(self._machine.out.text, self._machine.err.text, code)


def _find(name: str) -> Program | None:
    """Return a program by name; None for network clients too, because a fake answer would mislead a reader."""
    return None if name.rpartition("/")[2] in CLIENTS else catalogue.find(name)


def _count(cpus: str) -> int:
    total = 0
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total

"""What `kubectl exec` finds in a simulated container: its cgroup files, /proc, its environment, a small shell.

A simulated container runs no programs. The shell knows the commands that one uses to look around in a container; every
other one is "not found". Files are those that a container sees with a cgroup namespace of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from kitlib.api.errors import KitError
from kitlib.kubelet.pods.volume_files import Files

PROMPT = "/ # "
_CGROUP = "/sys/fs/cgroup"


class CgroupFiles(Protocol):
    """The cgroup file system of a node."""

    @property
    def version(self) -> int: ...
    def read(self, path: str, file: str) -> str: ...
    def files(self, path: str) -> list[str]: ...


class ExecNode(Protocol):
    """What the shell needs of a node."""

    @property
    def cgroupfs(self) -> CgroupFiles: ...
    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]: ...
    def pressure(self, resource: str) -> str: ...
    def volume_files(self, pod: str, container: str = "", namespace: str = "default") -> Files: ...


class Result(NamedTuple):
    """What a command wrote and its exit code."""

    stdout: str
    stderr: str
    code: int


class ContainerShell:
    """A container as a shell in it sees it.

    Args:
        node: where it runs.
        namespace: of its pod.
        pod: its pod's name, which is its host name.
        container: its name; "" = the only one.
    """

    def __init__(self, node: ExecNode, namespace: str, pod: str, container: str) -> None:
        self._node, self._namespace, self._pod, self._container = node, namespace, pod, container
        self._commands: dict[str, Callable[[Sequence[str]], Result]] = {
            "cat": self._cat,
            "echo": lambda words: Result(" ".join(words) + "\n", "", 0),
            "env": lambda words: Result(self._proc()["environ"], "", 0),
            "printenv": self._printenv,
            "false": lambda words: Result("", "", 1),
            "true": lambda words: Result("", "", 0),
            "hostname": lambda words: Result(f"{self._pod}\n", "", 0),
            "id": lambda words: Result("uid=0(root) gid=0(root)\n", "", 0),
            "ls": self._ls,
            "nproc": lambda words: Result(f"{_count(self._proc()['Cpus_allowed_list'])}\n", "", 0),
            "pwd": lambda words: Result("/\n", "", 0),
        }

    def run(self, words: Sequence[str]) -> Result:
        """Run one command, as `kubectl exec POD -- COMMAND` does."""
        if not words:
            return Result("", "", 0)
        name, rest = words[0].rpartition("/")[2], list(words[1:])
        if name in ("sh", "bash", "ash"):
            return self._script(rest[1]) if rest[:1] == ["-c"] and len(rest) > 1 else Result("", "", 0)
        command = self._commands.get(name)
        if command is None:
            known = ", ".join(sorted([*self._commands, "sh"]))
            return Result(
                "", f"{words[0]}: not found (a simulated container runs no programs; it knows {known})\n", 127
            )
        try:
            return command(rest)
        except KitError as error:
            return Result("", f"{name}: {error}\n", 1)

    def line(self, text: str) -> Result:
        """One line of an interactive shell."""
        return self._script(text)

    def _script(self, text: str) -> Result:
        """Commands joined by `;`, `&&` and `||`; each works on what the one before it returned."""
        try:
            lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError as error:
            return Result("", f"sh: syntax error: {error}\n", 2)
        out, err, code, skip = "", "", 0, False
        current: list[str] = []
        for word in [*words, ";"]:
            if word not in (";", "&&", "||"):
                current.append(word)
                continue
            if current and not skip:
                if any(set(one) <= set("<>|&") for one in current):
                    result = Result("", "sh: redirections and pipes are not simulated\n", 2)
                elif current[0] == "exit":
                    return Result(out, err, int(current[1]) if current[1:] and current[1].isdigit() else code)
                else:
                    result = self.run(current)
                out, err, code = out + result.stdout, err + result.stderr, result.code
            current = []
            skip = (word == "&&" and code != 0) or (word == "||" and code == 0)
        return Result(out, err, code)

    # Files.

    def _proc(self) -> dict[str, str]:
        return self._node.proc(self._pod, self._container, self._namespace)

    def _cgroup(self) -> str:
        return self._proc()["cgroup"].splitlines()[0].split(":", 2)[2]

    def _file(self, path: str) -> str:
        if path in ("/proc/self/cgroup", "/proc/1/cgroup"):
            return "".join(f"{line.rsplit(':', 1)[0]}:/\n" for line in self._proc()["cgroup"].splitlines())
        for name in ("oom_score", "oom_score_adj"):
            if path in (f"/proc/self/{name}", f"/proc/1/{name}"):
                return f"{self._proc()[name].strip()}\n"
        if path.startswith("/proc/pressure/"):
            return self._node.pressure(path.removeprefix("/proc/pressure/"))
        if path == "/etc/hostname":
            return f"{self._pod}\n"
        mounted = self._mounted().get(path)
        if mounted is not None:
            return mounted.data.decode(errors="replace")
        file = self._cgroup_file(path)
        if file is None:
            raise KitError(f"can't open '{path}': No such file or directory")
        return f"{self._node.cgroupfs.read(self._cgroup(), file).rstrip()}\n"

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

    def _cat(self, words: Sequence[str]) -> Result:
        out, err = "", ""
        for path in words:
            try:
                out += self._file(path)
            except KitError as error:
                err += f"cat: {error}\n"
        return Result(out, err, 1 if err else 0)

    def _ls(self, words: Sequence[str]) -> Result:
        path = next((word for word in words if not word.startswith("-")), "/").rstrip("/") or "/"
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
        if path in self._mounted():
            return Result(f"{path}\n", "", 0)
        if path not in known:
            return Result("", f"ls: {path}: No such file or directory\n", 1)
        return Result("".join(f"{name}\n" for name in known[path]), "", 0)

    def _printenv(self, words: Sequence[str]) -> Result:
        found = dict(line.split("=", 1) for line in self._proc()["environ"].splitlines() if "=" in line)
        if not words:
            return Result(self._proc()["environ"], "", 0)
        shown = [found[word] for word in words if word in found]
        return Result("".join(f"{value}\n" for value in shown), "", 0 if len(shown) == len(words) else 1)


def _count(cpus: str) -> int:
    total = 0
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total

"""Probes of a real node: commands in the container, and connections to its ports.

A probe runs in its own process; the agent reads its result at a later tick. It connects to the pod's address from the
node's network namespace. If the pods of a node share its namespace (`pod_network.py`), a port is probed only if a
process of the probe's pod listens on it.

Source: kubelet prober.runProbe; pkg/probe/exec, pkg/probe/grpc, pkg/probe/http, pkg/probe/tcp; CRI ExecSync.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass

from kitlib.api.container import Container, LifecycleHandler, Probe
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.kubelet.prober.worker import Answer, ProbeType, probes_of
from kitlib.node.common.probes import declared_answer, grpc_answer, grpc_authority, http_url, port_of, timed_out
from kitlib.node.real import listening, spawn
from kitlib.node.real.container_streams import ContainerPipes, Started
from kitlib.node.real.running import Running

MAX_OUTPUT = 10 * 1024
"""Maximum bytes of a probe's output. Source: prober maxReadLength, exec maxReadLength."""
HOST = "127.0.0.1"
_PYTHON = ("/usr/bin/python3", "-I", "-S", "-OO")
_HERE = os.path.dirname(os.path.abspath(__file__))
_PROGRAM = os.path.join(_HERE, "probe_process.py")
_GRPC_PROGRAM = os.path.join(_HERE, "grpc_probe_process.py")
_HOOK = "Hook"
"""The key of a lifecycle hook, in place of a probe's type: a container runs one hook at a time."""
_LONGEST_HOOK = 10**6
"""Timeout of a hook's request in seconds: practically none."""
_STATUS = "HTTP probe failed with statuscode"
Exec = Callable[..., Started]


@dataclass
class _Asked:
    """A running probe.

    Attributes:
        started: the probe's process.
        deadline: time on the clock in seconds after which it counts as timed out.
        code: exit code of the process; None = it runs.
        output: output so far.
    """

    started: Started
    deadline: float
    code: int | None = None
    output: bytes = b""

    def ended(self, code: int) -> None:
        self.code = code

    def read(self) -> None:
        for descriptor in {self.started.output, self.started.errors} - {-1}:
            with suppress(OSError):  # nothing there at present
                while piece := os.read(descriptor, MAX_OUTPUT):
                    self.output = (self.output + piece)[:MAX_OUTPUT]

    def close(self) -> None:
        for descriptor in {self.started.output, self.started.errors, self.started.input} - {-1}:
            with suppress(OSError):
                os.close(descriptor)


class RealHook:
    """A lifecycle hook in a container. Implements `kitlib.kubelet.loop.interfaces.RunningHook`.

    Args:
        probing: owner of the hook's process.
        identity: the container's id.
        pod: the container's pod.
        container: the container.
        probe: the hook as a probe without a time limit.
        found: immediate result; None = it runs.
    """

    def __init__(
        self, probing: Probing, identity: str, pod: Pod, container: Container, probe: Probe, found: Answer | None
    ) -> None:
        self._probing, self._identity, self._about, self._found = probing, identity, (pod, container, probe), found

    def answer(self) -> Answer | None:
        """Return the hook's result; an HTTP answer of any status is a success. Source: runHTTPHandler."""
        if self._found is None:
            self._found = self._probing.hook_answer(self._identity, *self._about)
        if self._found is not None and self._found.output.startswith(_STATUS):
            return Answer("success")
        return self._found

    def cancel(self) -> None:
        """Kill the hook's process."""
        if self._found is None:
            self._probing.cancel_hook(self._identity)


class Probing:
    """The probes of one node's containers.

    Args:
        exec: function that starts a command in a container.
        adopt: function that registers a child process and a callback for its exit code.
        pids: returns the processes of a pod's containers.
        clock: returns seconds.
        release: the kubelet's release, named in the requests of its probes.
    """

    def __init__(
        self,
        exec: Exec,
        adopt: Callable[[int, Callable[[int], None]], None],
        pids: Callable[[str, str], Iterable[int]],
        clock: Callable[[], float],
        release: Release,
    ) -> None:
        self._exec, self._adopt, self._pids, self._clock = exec, adopt, pids, clock
        self._agent = f"kube-probe/{release.name}"  # source: pkg/probe/http userAgent, pkg/probe/grpc
        self._asked: dict[tuple[str, str], _Asked] = {}

    def answer(
        self, running: Running, pod: Pod, container: Container, kind: ProbeType, seconds: float
    ) -> Answer | None:
        """Return a probe's result; None while it runs.

        Args:
            running: the running container.
            pod: the pod.
            container: the container.
            kind: the probe's type.
            seconds: time since the container's start in seconds; an answer declared by the pod's annotation depends on
                it.
        """
        declared = declared_answer(pod, container, kind, seconds)
        if declared is not None:
            return declared
        probe = probes_of(container)[kind]
        key = (running.id, kind)
        if key not in self._asked:
            return self._ask(running, pod, container, probe, kind)
        asked = self._asked[key]
        asked.read()
        if asked.code is None and self._clock() < asked.deadline:
            return None
        del self._asked[key]
        if asked.code is None:  # the runtime still reaps the killed child, which stays registered there
            with suppress(ProcessLookupError):
                os.kill(asked.started.pid, signal.SIGKILL)
        asked.close()
        if asked.code is None:
            return timed_out(pod, container, probe)
        return _found(pod, container, probe, asked.code, asked.output.decode(errors="replace"))

    def run_hook(self, running: Running, pod: Pod, container: Container, handler: LifecycleHandler) -> RealHook:
        """Start a lifecycle hook; the kubelet limits its time.

        Source: kubelet lifecycle handlerRunner.Run, which sets no time limit.
        """
        probe = Probe(exec=handler.exec, http_get=handler.http_get, timeout_seconds=_LONGEST_HOOK)
        self._give_up((running.id, _HOOK))
        return RealHook(self, running.id, pod, container, probe, self._ask(running, pod, container, probe, _HOOK))

    def hook_answer(self, identity: str, pod: Pod, container: Container, probe: Probe) -> Answer | None:
        """Return a hook's result; None while it runs."""
        asked = self._asked.get((identity, _HOOK))
        if asked is None:
            return Answer("failure", "container not running")
        asked.read()
        if asked.code is None:
            return None
        del self._asked[identity, _HOOK]
        asked.close()
        return _found(pod, container, probe, asked.code, asked.output.decode(errors="replace"))

    def cancel_hook(self, identity: str) -> None:
        """Kill a hook's process."""
        self._give_up((identity, _HOOK))

    def forget(self, identity: str) -> None:
        """Kill the probes and hooks of an ended container."""
        for key in [key for key in self._asked if key[0] == identity]:
            self._give_up(key)

    def _give_up(self, key: tuple[str, str]) -> None:
        asked = self._asked.pop(key, None)
        if asked is None:
            return
        if asked.code is None:
            with suppress(ProcessLookupError):
                os.kill(asked.started.pid, signal.SIGKILL)
        asked.close()

    def _ask(self, running: Running, pod: Pod, container: Container, probe: Probe, kind: str) -> Answer | None:
        seconds = float(probe.timeout_seconds or 1)
        asked = _Asked(Started(0, -1, -1, -1), self._clock() + seconds)
        try:
            if probe.exec is not None:
                command = probe.exec.command
                asked.started = self._exec(running, command, stdin=False, tty=False, ended=asked.ended)
            else:
                where = probe.http_get or probe.tcp_socket or probe.grpc
                port = port_of(container, where.port) if where is not None else 0
                if not isinstance(port, int) or not self._listens(running, port):
                    return _refused(pod, container, probe)
                place = running.place
                host = HOST if place is None else _host(probe) or place.address
                with nullcontext() if place is None else place.reaching(host):
                    asked.started = self._start(_words(pod, probe, seconds, host, port, self._agent))
                self._adopt(asked.started.pid, asked.ended)
        except KitError as error:  # the command does not exist, or the limit of processes is reached
            return Answer("unknown", f"rpc error: code = Unknown desc = failed to exec in container: {error}")
        for descriptor in {asked.started.output, asked.started.errors} - {-1}:
            os.set_blocking(descriptor, False)
        self._asked[running.id, kind] = asked
        return None

    def _listens(self, running: Running, port: int) -> bool:
        """Return whether the pod may listen on a port; it is checked if other pods use the same namespace."""
        if running.place is not None:
            return True
        own = set(listening.sockets(self._pids(running.namespace, running.pod)))
        return any(inode in own for table in ("tcp", "tcp6") for inode in listening.listeners(table, port))

    def _start(self, words: list[str]) -> Started:
        streams = ContainerPipes("")
        try:
            pid = spawn.start([*_PYTHON, *words], streams.given[0])
            output, inputs, _ = streams.keep()
            return Started(pid, output, -1, inputs)
        except OSError as error:
            raise KitError(error.strerror) from error
        finally:
            streams.close()


def _host(probe: Probe) -> str:
    """Return the host that a probe names; "" = the pod."""
    where = probe.http_get or probe.tcp_socket
    return where.host or "" if where is not None else ""


def _words(pod: Pod, probe: Probe, seconds: float, host: str, port: int, agent: str) -> list[str]:
    """Return the command line of the process that probes a port."""
    if probe.grpc is None:
        return [_PROGRAM, str(seconds), host, str(port), *_request(probe, host, port, agent)]
    return [_GRPC_PROGRAM, str(seconds), host, str(port), grpc_authority(pod, probe), agent, probe.grpc.service or ""]


def _request(probe: Probe, host: str, port: int, agent: str) -> list[str]:
    """Return scheme, path and headers of an HTTP request; [] if a connection is sufficient."""
    http = probe.http_get
    if http is None:
        return []
    headers = {header.name: header.value for header in http.http_headers}
    named = {name.lower() for name in headers}
    more = {} if "host" in named else {"Host": f"{_host(probe) or host}:{port}"}
    more |= {} if "user-agent" in named else {"User-Agent": agent}
    more |= {} if "accept" in named else {"Accept": "*/*"}
    path = http.path if http.path.startswith("/") else f"/{http.path}"
    lines = [f"{name}: {value}" for name, value in (more | headers).items() if value]
    return [(http.scheme or "HTTP").upper(), path, *(line.replace("\r", " ").replace("\n", " ") for line in lines)]


def _found(pod: Pod, container: Container, probe: Probe, code: int, output: str) -> Answer:
    """Return the result of an ended process. Source: exec.Probe, http.DoHTTPProbe, tcp.DoTCPProbe."""
    said = output.strip()
    if probe.exec is not None:
        return Answer("success" if code == 0 else "failure", output if code else "")
    if probe.grpc is not None:
        return grpc_answer(pod, probe, said or "connect")
    if code != 0 and said == "timeout":
        return timed_out(pod, container, probe)
    if code != 0:
        return _refused(pod, container, probe, said or "connection reset by peer")
    if probe.http_get is None or 200 <= int(said or 0) < 400:
        return Answer("success")
    return Answer("failure", f"HTTP probe failed with statuscode: {said}")


def _refused(pod: Pod, container: Container, probe: Probe, why: str = "connection refused") -> Answer:
    if probe.grpc is not None:
        return grpc_answer(pod, probe, "connect")
    where = probe.http_get or probe.tcp_socket
    port = port_of(container, where.port) if where is not None else 0
    text = f"dial tcp {_host(probe) or pod.status.pod_ip or HOST}:{port}: connect: {why}"
    return Answer("failure", f'Get "{http_url(pod, container, probe)}": {text}' if probe.http_get else text)

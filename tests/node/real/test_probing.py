"""Probes of a real node's containers: commands and ports are asked, late answers are given up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kitlib.api.container import ExecAction, LifecycleHandler
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.prober.worker import Answer
from kitlib.node.real import probing
from kitlib.node.real.container_streams import Started
from kitlib.node.real.pod_network import PodNamespace
from kitlib.node.real.probing import Probing
from kitlib.node.real.running import Running
from tests.node.real.test_grpc_probe_process import HEADERS, TRAILERS, frame

LIVENESS = "Liveness"


def pod(probe: dict[str, Any], **annotations: str) -> Pod:
    container = {"name": "c", "image": "x", "ports": [{"name": "web", "containerPort": 8080}], "livenessProbe": probe}
    meta = {"name": "p", "namespace": "default", "annotations": annotations}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}, Pod)


class Node:
    """A container that is this very process, and commands that run beside it."""

    def __init__(self) -> None:
        self.now, self.children = 0.0, dict[int, tuple[Any, Callable[[int], None]]]()
        self.running = Running("id", "/c", os.getpid(), "c", namespace="default", pod="p")
        self.probing = Probing(
            self.exec, self.adopt, lambda namespace, name: [os.getpid()], lambda: self.now, Release("1.35")
        )

    def exec(self, running: Running, command: list[str], *, stdin: bool, tty: bool, ended: Any) -> Started:
        assert running is self.running and not stdin and not tty
        if command[0] == "nothing":
            raise KitError("executable file `nothing` not found in $PATH")
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None and child.stderr is not None
        self.children[child.pid] = child, ended
        return Started(child.pid, os.dup(child.stdout.fileno()), os.dup(child.stderr.fileno()), -1)

    def adopt(self, pid: int, ended: Callable[[int], None]) -> None:
        self.children[pid] = None, ended

    def reap(self) -> None:
        """Wait for what was started."""
        for pid, (child, ended) in list(self.children.items()):
            code = child.wait(20) if child is not None else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            for stream in (child.stdout, child.stderr) if child is not None else ():
                stream.close()
            del self.children[pid]
            ended(code)

    def ask(self, obj: Pod) -> Answer | None:
        return self.probing.answer(self.running, obj, obj.spec.containers[0], LIVENESS, 1.0)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(probing, "_PYTHON", (sys.executable, "-I", "-S"))
    made = Node()
    yield made
    made.probing.forget("id")
    made.reap()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["true"], Answer("success")),
        (["sh", "-c", "echo no; echo really >&2; exit 3"], Answer("failure", "no\nreally\n")),
        (["sh", "-c", "yes | head -c 30000; exit 1"], Answer("failure", "y\n" * 5120)),
    ],
)
def test_a_command_is_asked_and_answers_with_a_later_tick(node: Node, command: list[str], expected: Answer) -> None:
    asked = pod({"exec": {"command": command}})
    assert node.ask(asked) is None
    for _ in range(20):
        node.probing._asked["id", LIVENESS].read()
    node.reap()
    found = node.ask(asked)
    assert found is not None
    assert found.outcome == expected.outcome
    assert sorted(found.output.splitlines()) == sorted(expected.output.splitlines())


def test_a_command_that_is_not_there_errs(node: Node) -> None:
    found = node.ask(pod({"exec": {"command": ["nothing"]}}))
    assert found is not None
    assert found.outcome == "unknown"
    assert "failed to exec in container: executable file `nothing` not found" in found.output


def test_a_late_command_is_killed_and_the_next_one_begins_anew(node: Node) -> None:
    asked = pod({"exec": {"command": ["sleep", "60"]}, "timeoutSeconds": 2})
    assert node.ask(asked) is None
    node.now = 1.9
    assert node.ask(asked) is None
    node.now = 2.0
    assert node.ask(asked) == Answer("failure", 'command timed out: "sleep 60" timed out after 2s')
    node.reap()
    assert node.ask(asked) is None
    node.probing.forget("id")
    node.reap()


@pytest.mark.parametrize("probe", [{"tcpSocket": {"port": 1}}, {"httpGet": {"port": "web", "path": "/x"}}])
def test_a_port_on_which_the_pod_does_not_listen_refuses(node: Node, probe: dict[str, Any]) -> None:
    text = "dial tcp 127.0.0.1:1: connect: connection refused"
    if "httpGet" in probe:
        text = f'Get "http://127.0.0.1:8080/x": {text.replace(":1:", ":8080:")}'
    assert node.ask(pod(probe)) == Answer("failure", text)


def test_a_grpc_server_that_is_not_there_is_tried_until_the_timeout(node: Node) -> None:
    """The rule of grpc.WithBlock, which tries a refused connection again."""
    text = 'timeout: failed to connect service "127.0.0.1:1" within 1s: context deadline exceeded'
    assert node.ask(pod({"grpc": {"port": 1}})) == Answer("failure", text)


def test_a_grpc_server_is_asked_by_its_protocol(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        asked = pod({"grpc": {"port": door.getsockname()[1], "service": "sick"}})
        assert node.ask(asked) is None
        line, _ = door.accept()
        said = line.recv(4096)
        line.sendall(frame(4, 0, 0))
        while b"sick" not in said:
            said += line.recv(4096)
        line.sendall(frame(1, 4, 1, HEADERS) + frame(0, 0, 1, b"\0\0\0\0\x02\x08\x02") + frame(1, 5, 1, TRAILERS))
        node.reap()
        line.close()
        assert node.ask(asked) == Answer("failure", 'service unhealthy (responded with "NOT_SERVING")')
    assert said.startswith(b"PRI * HTTP/2.0") and b"/grpc.health.v1.Health/Check" in said


def test_a_port_on_which_it_listens_is_asked(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        asked = pod({"tcpSocket": {"port": port}})
        assert node.ask(asked) is None
        node.reap()
        assert node.ask(asked) == Answer("success")
        asked = pod({"httpGet": {"port": port, "httpHeaders": [{"name": "X-A", "value": "b"}]}})
        assert node.ask(asked) is None
        line, _ = door.accept()
        line.close()
        line, _ = door.accept()
        said = line.recv(4096).decode()
        line.sendall(b"HTTP/1.1 500 Oh\r\n\r\n")
        line.close()
        node.reap()
        assert node.ask(asked) == Answer("failure", "HTTP probe failed with statuscode: 500")
    assert said.splitlines()[:2] == ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    assert {"User-Agent: kube-probe/1.35", "X-A: b"} <= set(said.splitlines())


def test_a_pod_with_a_namespace_of_its_own_is_asked_at_its_address(node: Node) -> None:
    """Source: pkg/probe/http NewRequestForHTTPGetAction, whose host is the pod's address unless the probe names one."""
    node.running.place = PodNamespace("127.0.0.2")
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.2", 0)) as own:
        for door, named, outcome in ((own, "", "success"), (other, "", "failure"), (other, "127.0.0.1", "success")):
            asked = pod({"tcpSocket": {"port": door.getsockname()[1], "host": named}})
            assert node.ask(asked) is None
            node.reap()
            found = node.ask(asked)
            assert found is not None
            assert found.outcome == outcome


def test_a_declared_answer_is_given_without_asking(node: Node) -> None:
    asked = pod({"exec": {"command": ["nothing"]}}, **{"kitlib.dev/liveness.c": "ok"})
    assert node.ask(asked) == Answer("success")


def test_a_hook_is_begun_and_answers_once_it_has_ended(node: Node) -> None:
    asked = pod({})
    for command, outcome in ((["sh", "-c", "exit 3"], "failure"), (["true"], "success")):
        hook = node.probing.run_hook(
            node.running, asked, asked.spec.containers[0], LifecycleHandler(exec=ExecAction(command=command))
        )
        assert hook.answer() is None
        node.now += 100  # no time limit of its own
        assert hook.answer() is None
        node.reap()
        found = hook.answer()
        assert found is not None
        assert found.outcome == outcome
        hook.cancel()


def test_a_hook_that_is_given_up_is_killed(node: Node) -> None:
    asked = pod({})
    handler = LifecycleHandler(exec=ExecAction(command=["sleep", "600"]))
    hook = node.probing.run_hook(node.running, asked, asked.spec.containers[0], handler)
    assert hook.answer() is None
    hook.cancel()
    node.reap()  # would wait for ten minutes
    found = hook.answer()
    assert found is not None
    assert found.outcome == "failure"


def test_a_hook_without_its_program_fails_at_once(node: Node) -> None:
    asked = pod({})
    handler = LifecycleHandler(exec=ExecAction(command=["nothing"]))
    found = node.probing.run_hook(node.running, asked, asked.spec.containers[0], handler).answer()
    assert found is not None
    assert found.outcome == "unknown"

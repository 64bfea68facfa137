"""What goes between a node and its owner comes back as it was."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from kitlib.api.errors import KitError, NotFound
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.real import protocol
from kitlib.node.real.link import Link, NodeGone

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "0000-1111"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}}]},
}


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--kube-reserved=cpu=100m,memory=100Mi", "--system-reserved=cpu=1", "--eviction-hard=memory.available<5%"],
        [
            "--cgroup-driver=systemd",
            "--pod-max-pids=100",
            "--feature-gates=QOSReserved=true",
            "--qos-reserved=memory=50%",
        ],
        ["--cpu-manager-policy=static", "--reserved-cpus=0"],
    ],
)
def test_a_configuration_comes_back(flags: list[str]) -> None:
    release = Release("1.34")
    machine = MachineInfo.declare(4, "8Gi", huge_pages={"2Mi": 64}, max_pid=4096)
    settings = read_settings(flags, release=release)
    config = NodeConfig(machine=machine, settings=settings, release=release, name="n", resources={"example.com/gpu": 2})
    line = protocol.encode({"config": protocol.config_to_data(config)})
    back = protocol.config_from_data(protocol.decode(line)["config"])
    assert back == config
    assert back.gates.gates() == config.gates.gates()


@pytest.mark.parametrize("version", [1, 2])
def test_a_tree_comes_back_with_its_reasons(version: Any) -> None:
    config = NodeConfig(machine=MachineInfo.declare(4, "8Gi"))
    tree = desired_tree(config, [from_dict(POD)], version=version)
    back = protocol.tree_from_data(protocol.decode(protocol.encode(protocol.tree_to_data(tree))))
    assert back.to_dict() == tree.to_dict()


def test_errors_are_raised_again_on_the_other_side() -> None:
    def there_and_back(error: Exception) -> KitError:
        line = protocol.encode({"error": protocol.error_to_data(error)})
        return protocol.error_from_data(protocol.decode(line)["error"], "n1")

    refused = there_and_back(CgroupError(22, "/kubepods", "cpu.shares", "many"))
    assert isinstance(refused, CgroupError)
    assert str(refused) == str(CgroupError(22, "/kubepods", "cpu.shares", "many"))
    assert str(there_and_back(NotFound("pods", "web"))) == 'pods "web" not found'
    assert str(there_and_back(KitError("no"))) == "no"
    assert str(there_and_back(ZeroDivisionError("oh"))) == "node n1: the agent could not do it: ZeroDivisionError: oh"


@pytest.mark.parametrize("line", [b"", b"[1]", b"{", b"\xff\xfe"])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(KitError, match="invalid message"):
        protocol.decode(line)


class Node:
    """The other end of a link, in the engine's frames."""

    def __init__(self) -> None:
        self.mine, self.theirs = socket.socketpair()

    def say(self, message: bytes, stream: int = 1, pieces: int = 1) -> None:
        frame = bytes([stream, 0, 0, 0]) + len(message).to_bytes(4, "big") + message
        size = max(1, len(frame) // pieces)
        for at in range(0, len(frame), size):
            self.mine.sendall(frame[at : at + size])

    def answer(self, **said: Any) -> None:
        asked = protocol.decode(self.mine.makefile("rb").readline())
        self.say(protocol.encode({"id": asked["id"], **said}), pieces=5)


@pytest.fixture
def node() -> Node:
    return Node()


def test_a_link_matches_answers_with_requests_and_keeps_reports(node: Node) -> None:
    link = Link("n", node.theirs)
    node.say(b'{"report": "gone", "pod": ["d", "p", "u"]}\n{"report": "eve', pieces=3)
    node.say(b'nt", "kind": "Normal", "reason": "a", "message": "b"}\nnot json\n')
    node.say(b"a traceback\n", stream=2)
    helper = threading.Thread(target=node.answer, kwargs={"ok": "max 100000"})
    helper.start()
    assert link.ask("read", path="/") == "max 100000"
    helper.join()
    assert [r["report"] for r in link.reports] == ["gone", "event"]
    assert "a traceback" in link.errors
    link.close()


def test_a_node_that_ends_says_so_to_everyone_who_waits(node: Node) -> None:
    link = Link("n", node.theirs)
    number = link.send("read")
    node.say(b"Killed\n", stream=2)
    node.mine.close()
    with pytest.raises(NodeGone, match="node n has ended: Killed"):
        link.answer(number, 5)
    with pytest.raises(NodeGone):
        link.ask("read")
    assert not link.alive


def test_a_node_that_is_stuck_is_told_after_the_time(node: Node) -> None:
    link = Link("n", node.theirs)
    with pytest.raises(NodeGone, match=r"no answer within 0\.05 s"):
        link.ask("read", timeout=0.05)
    link.close()

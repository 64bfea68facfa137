"""Frames from a hostile node or control plane: none does more than to be refused, and none ends a reader."""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.container import codec, wire
from kitlib.cluster.control_plane.container.agent import ControlPlane
from kitlib.cluster.control_plane.container.channel import Channel
from kitlib.cluster.nodes.container import ContainerNode
from kitlib.cluster.nodes.plan import plan
from kitlib.node.real import link as links
from kitlib.node.real import protocol
from kitlib.node.real.agent import Agent
from kitlib.node.real.link import MAX_BAD, Conversation, Lines, Link, Misbehaved, NodeGone
from tests.fuzz.mutate import Mutator, fuzz, part, share

POD = ["default", "web", "uid-1"]
CONTAINER = {"name": "c", "ready": True, "restartCount": 1, "image": "x", "imageID": "", "state": {"running": {}}}
FACTS = {
    "version": 2, "controllers": ["cpu"], "lowest_score": 0, "kernel": "6.1", "systemd": "", "cpus": [0, 1],
    "limits": [], "seconds": 1.0, "began": 2.0,
}  # fmt: skip
NO_ARGS = codec.encode(((), {}))
FROM_NODE: tuple[Any, ...] = (
    {"report": "event", "pod": POD, "kind": "Warning", "reason": "Killed", "message": "out of memory", "field": ""},
    {"report": "status", "pod": POD, "status": {"phase": "Running", "podIP": "", "containerStatuses": [CONTAINER]}},
    {"report": "gone", "pod": POD},
    {"report": "condition", "condition": {"type": "MemoryPressure", "status": "True", "reason": "a", "message": "b"}},
    {"report": "busy"},
    {"watch": 3, "at": 1.5, "values": ["1", None]},
    {"id": 1, "ok": FACTS},
    {"id": 1, "error": {"kind": "cgroup", "errno": 16, "path": "/", "file": "a", "value": "b", "why": "c"}},
    {"id": 1, "error": {"kind": "not found", "message": 'pods "web" not found'}},
)
OBJECT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "resourceVersion": "5"}, "spec": {}}
FROM_CONTROL: tuple[Any, ...] = (
    {"to": "node-1", "line": {"id": 1, "do": "read", "path": "/", "file": "x"}},
    {"start": 3, "plan": codec.encode(plan(1)[0])},
    {"end": "node-1"},
    {"id": 7, "ok": [OBJECT], "version": 5, "nodes": {"node-1": FACTS}, "journal": [], "changes": [["ADDED", OBJECT]]},
    {"id": 7, "error": {"module": "kitlib.api.errors", "kind": "NotFound", "message": "", "args": NO_ARGS}},
    {"id": 7, "version": 9, "nodes": {}, "journal": [{"action": "advance", "seconds": 1}], "objects": [OBJECT]},
)  # fmt: skip
TO_CONTROL: tuple[Any, ...] = (
    {"id": 1, "do": "changes", "since": 0, "known": [], "journal": 0, "at": 1.0},
    {"id": 2, "do": "apply", "action": "apply", "objects": [[OBJECT, "f.yaml", 1]], "create_only": False},
    {"id": 3, "do": "call", "method": "delete", "arguments": ["Pod", "a", "default"], "named": {"grace": 0}},
    {"id": 4, "do": "begin", "version": wire.VERSION, "settings": codec.encode({"seed": 1})},
    {"from": "node-1", "line": FROM_NODE[0]},
    {"gone": "node-1", "said": ["killed"]},
    {"started": 1, "facts": FACTS},
)


def frame(samples: tuple[Any, ...], mutator: Mutator) -> bytes:
    """A frame of which something is wrong: in its data or in its bytes."""
    sample = share(samples, mutator)
    if mutator.random.random() < 0.7:
        sample = mutator.value(sample)
    line = json.dumps(sample, default=str).encode("utf-8", "surrogatepass")
    return mutator.text(line) if mutator.random.random() < 0.4 else line


class Peer(Conversation):
    """A node that nobody sends anything to."""

    def write(self, line: bytes) -> None:
        """Nobody is there."""


def test_what_a_node_says_is_refused_or_fits(record_property: Any) -> None:
    peer = Peer("node-1")
    peer._watches[3] = lambda at, values: None

    def hear(line: bytes) -> None:
        peer.reports.clear()
        peer._sort(line)

    for name, value in fuzz(lambda m: frame(FROM_NODE, m), hear, KitError).items():
        record_property(name, value)


class Relay:
    """Takes what a control plane wants."""

    def to_node(self, name: str, line: bytes) -> None:
        assert isinstance(name, str) and isinstance(line, bytes)

    def start(self, number: int, packed: str) -> None:
        assert isinstance(number, int)
        wire.unpack(packed)

    def end(self, name: str) -> None:
        assert isinstance(name, str)


def test_what_a_control_plane_says_is_refused_or_fits(record_property: Any) -> None:
    from kitlib.cluster.control_plane.container.relay import ControlLink

    owner = ControlLink.__new__(ControlLink)
    Conversation.__init__(owner, "control")
    owner._relay = Relay()  # type: ignore[assignment]

    def hear(line: bytes) -> None:
        owner._sort(line)
        error = protocol.decode(line, wire.MAX_LINE).get("error")
        if isinstance(error, dict):
            assert isinstance(wire.error_from_data(error), Exception)

    for name, value in fuzz(lambda m: frame(FROM_CONTROL, m), hear, KitError).items():
        record_property(name, value)


def test_what_comes_to_the_control_plane_is_refused_or_fits(record_property: Any) -> None:
    reads, writes = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    control = ControlPlane(reads, null)

    def hear(line: bytes) -> None:
        control._channels.clear()
        control._sort(line)
        while not control._inbox.empty():
            asked = control._inbox.get()
            if asked is not None and asked.get("do") != "begin":
                control._answer(asked)

    try:
        for name, value in fuzz(lambda m: frame(TO_CONTROL, m), hear, KitError).items():
            record_property(name, value)
    finally:
        for descriptor in (reads, writes, null):
            os.close(descriptor)


def test_an_agent_answers_whatever_it_is_asked(record_property: Any) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    agent = Agent(0, null)
    samples = (
        {"id": 1, "do": "start", "version": protocol.VERSION, "config": {}},
        {"id": 2, "do": "sync", "pods": [OBJECT], "same": ["uid"]},
        {"id": 3, "do": "read", "path": "/", "file": "cpu.max"},
    )
    try:
        for name, value in fuzz(lambda m: frame(samples, m), agent._answer, ()).items():
            record_property(name, value)
    finally:
        os.close(null)


def test_packed_values_are_refused_or_of_the_kits_types(record_property: Any) -> None:
    cluster = Cluster.simulated(2, kubelets=False)
    cluster.apply(OBJECT | {"spec": {"containers": [{"name": "c", "image": "x"}]}})
    samples = [json.loads(codec.encode(one)) for one in (plan(2), cluster.decision("a"), {"release": cluster.release})]

    def make(mutator: Mutator) -> str:
        changed = mutator.value(share(samples, mutator))
        return json.dumps(changed, default=str)

    def hear(text: str) -> None:
        codec.encode(codec.decode(text))

    for name, value in fuzz(make, hear, KitError, inputs=part(4)).items():
        record_property(name, value)


def test_reports_that_no_kubelet_makes_do_not_end_the_cluster(record_property: Any) -> None:
    """The node's own object says that something was refused; everything else goes on."""
    cluster = Cluster.simulated(1)
    cluster.apply(OBJECT | {"spec": {"containers": [{"name": "c", "image": "x"}]}})
    uid = cluster.pod("a").metadata.uid
    peer = Peer("node-1")
    one, config = cluster.node("node-1").plan, cluster.node("node-1").config

    class Held:
        link = peer

        def check(self, facts: object) -> None:
            """Everything is accepted."""

        def close(self) -> None:
            """Nothing is there."""

    node = ContainerNode(one, config, Held(), lambda *_, **__: None, facts=FACTS)
    samples = json.loads(json.dumps(FROM_NODE[:4]).replace('"web"', '"a"').replace("uid-1", uid))

    def make(mutator: Mutator) -> Any:
        return mutator.value(share(samples, mutator))

    def hear(report: Any) -> None:
        if isinstance(report, dict):
            peer._sort(json.dumps(report).encode())
            node.take_reports(cluster.api)

    fuzz(make, hear, KitError, inputs=part(10))
    cluster.advance(1)
    assert [node.name for node in cluster.nodes] == ["node-1"]


# Streams.


def docker_frame(body: bytes, stream: int = 1) -> bytes:
    return bytes((stream, 0, 0, 0)) + len(body).to_bytes(4, "big") + body


@pytest.fixture
def pair() -> Any:
    ours, theirs = socket.socketpair()
    link = Link("node-1", ours)
    yield link, theirs
    link.close()
    theirs.close()


def ended(link: Link) -> None:
    link._reader.join(10)
    assert not link._reader.is_alive() and not link.alive


def test_a_line_without_end_costs_its_sender_the_connection(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    link, theirs = pair
    link.max_line = 1 << 20

    def send() -> None:
        try:
            while True:
                theirs.sendall(docker_frame(b"[" * (1 << 15)))
        except OSError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(30)
    assert not sender.is_alive(), "the owner has hung up"
    with pytest.raises(NodeGone, match="has ended: "):
        link.ask("read", path="/", file="x")


def test_many_wrong_lines_cost_the_connection(pair: Any) -> None:
    link, theirs = pair
    theirs.sendall(docker_frame(b"nonsense\n" * (MAX_BAD - 1)))
    theirs.sendall(docker_frame(b'{"report": "gone", "pod": ["a", "b", "c"]}\n'))
    while not link.reports:
        assert link._reader.is_alive()
    theirs.sendall(docker_frame(b"nonsense\n"))
    ended(link)
    assert f"{MAX_BAD} messages were wrong" in link.errors[-1]


def test_reports_that_nobody_can_take_cost_the_connection(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_REPORTS", 1000)
    link, theirs = pair
    theirs.sendall(docker_frame(b'{"report": "gone", "pod": ["a", "b", "c"]}\n' * 1001))
    ended(link)
    assert len(link.reports) == 1000 and "1000 reports wait" in link.errors[-1]


def test_a_watch_whose_reader_fails_does_not_end_the_link(pair: Any) -> None:
    link, theirs = pair

    def fail(at: float, values: Any) -> None:
        raise RuntimeError("a widget's own")

    link._watches[3] = fail
    theirs.sendall(docker_frame(b'{"watch": 3, "at": 1.0, "values": []}\n{"report": "gone", "pod": ["a", "b", "c"]}\n'))
    while not link.reports:
        assert link._reader.is_alive()
    assert "RuntimeError: a widget's own" in link.errors


def test_what_a_node_says_is_kept_in_short(pair: Any) -> None:
    link, theirs = pair
    theirs.sendall(docker_frame(b"x" * 100_000 + b"\n" + b"y\n" * 1000, 2))
    theirs.close()
    ended(link)
    assert len(link.errors) == 40 and max(map(len, link.errors)) <= 2000


def test_one_misbehaving_node_does_not_take_the_others_from_the_control_plane() -> None:
    bad, good = (Channel(name, lambda line: None) for name in ("bad", "good"))
    for _ in range(MAX_BAD):
        bad.take(b"nonsense")
    assert not bad.alive and good.take(b'{"report": "gone", "pod": ["a", "b", "c"]}')
    assert not bad.take(b'{"report": "gone", "pod": ["a", "b", "c"]}'), "nothing more is taken from it"


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    text = b"one\n\ntwo\nthree"
    for size in range(1, len(text) + 1):
        lines = Lines(100)
        found = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        assert found == [b"one", b"", b"two"]
    with pytest.raises(Misbehaved, match="a line of more than 100 bytes"):
        Lines(100).feed(b"x" * 101)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        (b'{"a":' + b"[" * 61 + b"]" * 61 + b"}", True),
        (b"[" * 1_000_000, True),
        (b'{"a": "' + b"[" * 1000 + b'"}', False),
        (b'{"a": "\\"' + b"{" * 1000 + b'"}', False),
        (b'{"a": [' + b",".join([b"[1]"] * 1000) + b"]}", False),
        (b" " * (protocol.MAX_LINE + 1), True),
    ],
    ids=["61 levels", "a million brackets", "brackets in a text", "behind a quote", "a long flat list", "too long"],
)
def test_depth_and_length_are_bounded(line: bytes, refused: bool) -> None:
    if refused:
        with pytest.raises(KitError, match=r"the message is too long|nested more than"):
            protocol.decode(line)
    else:
        protocol.decode(line)

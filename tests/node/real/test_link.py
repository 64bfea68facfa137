"""Whose answer an answer is."""

from __future__ import annotations

import pytest

from kitlib.node.real import protocol
from kitlib.node.real.link import Conversation, NodeGone


class Node(Conversation):
    """A node that answers when it is told to; `asked` are the requests that have reached it."""

    def __init__(self) -> None:
        super().__init__("n")
        self.asked: list[int] = []
        self.frozen = True

    def write(self, line: bytes) -> None:
        self.asked.append(protocol.decode(line)["id"])
        if not self.frozen:
            for number in self.asked:
                self._take(protocol.encode({"id": number, "ok": f"answer {number}"}))
            self.asked.clear()


def test_a_late_answer_is_not_taken_for_that_of_a_later_request() -> None:
    """A frozen node answers in the order of the requests when it goes on, also those that were given up."""
    node = Node()
    for _ in range(3):
        with pytest.raises(NodeGone, match="no answer within"):
            node.ask("read", timeout=0, path="/", file="x")
    node.frozen = False
    assert node.ask("read", path="/", file="x") == "answer 4"
    assert node.ask("read", path="/", file="x") == "answer 5"
    assert not node.errors


def test_a_missing_answer_says_what_the_container_does() -> None:
    node = Node()
    node.look = lambda: "its container is paused"
    with pytest.raises(NodeGone, match=r"^node n: no answer within 0 s; its container is paused$"):
        node.ask("alive", timeout=0)


def test_the_end_of_a_node_says_the_way_out() -> None:
    node = Node()
    node._over()
    with pytest.raises(NodeGone, match=r"^node n has ended; cluster.add_nodes\(1\) starts another node$"):
        node.ask("alive")

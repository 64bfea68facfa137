"""A terminal's line as Linux edits it, and a shell behind it."""

from __future__ import annotations

import pytest

from kitlib.api.streams import StreamEvent
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.terminal import LONGEST, LineDiscipline

RUB = b"\b \b"


@pytest.mark.parametrize(
    ("keys", "read", "shown"),
    [
        (b"ls\r", [b"ls"], b"ls\r\n"),
        (b"lx\x7fs\r", [b"ls"], b"lx" + RUB + b"s\r\n"),
        (b"\x08\x7fls\n", [b"ls"], b"ls\r\n"),
        ("é\x7fx\r".encode(), [b"x"], "é".encode() + RUB + b"x\r\n"),
        (b"cat  a b\x17\x17c\r", [b"cat  c"], b"cat  a b" + RUB * 3 + b"c\r\n"),
        (b"rm\x15ls\r", [b"ls"], b"rm" + RUB * 2 + b"ls\r\n"),
        (b"sleep\x03ls\r", [None, b"ls"], b"sleep^C\r\nls\r\n"),
        (b"a\x1b[A\r", [b"a\x1b[A"], b"a^[[A\r\n"),
        (b"a\x01\x7f\r", [b"a"], b"a^A" + RUB * 2 + b"\r\n"),
        (b"a\x04b\r\x04", [b"ab", "end"], b"ab\r\n"),
        (b"x" * (LONGEST + 9) + b"\r", [b"x" * LONGEST], b"x" * LONGEST + b"\r\n"),
    ],
    ids=[
        "a line",
        "an erased character",
        "nothing to erase",
        "a character of two bytes is one",
        "words are erased",
        "the line is erased",
        "Ctrl-C drops the line",
        "an arrow key is no editor's",
        "a control character is two columns wide",
        "Ctrl-D ends on an empty line only",
        "a line has an end",
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["in one piece", "key by key"])
def test_keys_become_lines(keys: bytes, read: list[object], shown: bytes, at_once: bool) -> None:
    line, events = LineDiscipline(), []
    for piece in [keys] if at_once else [bytes([key]) for key in keys]:
        events += list(line.feed(piece))
    told: list[object] = []
    for event in events:
        if event.kind != "echo":
            told.append({"line": event.data, "interrupt": None, "end": "end"}[event.kind])
    assert (told, b"".join(event.data for event in events if event.kind == "echo")) == (read, shown)


def test_a_shell_in_a_terminal_is_edited_interrupted_resized_and_left() -> None:
    cluster = Cluster.simulated(1)
    spec = {"containers": [{"name": "c", "image": "x", "command": ["sleep", "600"]}]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "box"}, "spec": spec})
    events: list[StreamEvent] = []
    stream = cluster.node().exec("default", "box", "c", ["sh"], events.append, stdin=True, tty=True)
    stream.resize(120, 40)
    stream.write(b"echo hx\x7f\x7fhello\rfalse\x03stty si")
    stream.write(b"ze\rexit 3\rls\r")
    text = b"".join(event.data for event in events).decode()
    assert text.replace("\b \b", "<") == (
        "/ # echo hx<<hello\r\nhello\r\n/ # false^C\r\n/ # stty size\r\n40 120\r\n/ # exit 3\r\n"
    )
    assert [event.code for event in events if event.ended] == [3] and not stream.is_open

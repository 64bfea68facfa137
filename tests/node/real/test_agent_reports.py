"""What an agent tells its owner: in order, and together where it comes together."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kitlib.api.core import Pod, PodStatus
from kitlib.node.real import agent, protocol


@pytest.fixture
def pipe() -> Iterator[tuple[int, agent.Owner]]:
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    yield reads, agent.Owner(writes)
    os.close(reads)
    os.close(writes)


def came(reads: int) -> list[str]:
    try:
        lines = os.read(reads, 1 << 16).splitlines()
    except BlockingIOError:
        return []
    return [str(message.get("report") or message["id"]) for message in map(protocol.decode, lines)]


def test_reports_go_with_the_answer_that_follows_them(pipe: tuple[int, agent.Owner]) -> None:
    reads, owner = pipe
    owner.event(None, "Normal", "Started", "Container started")
    owner.status(Pod(), PodStatus(phase="Running"))
    assert came(reads) == []
    owner.send({"id": 7, "ok": None})
    assert came(reads) == ["event", "status", "7"]
    owner.flush()
    assert came(reads) == []


def test_where_more_takes_its_time_what_waits_is_told(
    pipe: tuple[int, agent.Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, owner = pipe
    now = 5.0
    monkeypatch.setattr(agent.time, "monotonic", lambda: now)
    owner.event(None, "Normal", "Pulled", "")
    now += 2 * agent.TOGETHER
    owner.event(None, "Normal", "Created", "")
    assert came(reads) == ["event", "event"]
    owner.event(None, "Normal", "Started", "")
    assert came(reads) == []
    owner.flush()
    assert came(reads) == ["event"]

"""A node's container is started again if the engine was too slow, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.real import container
from kitlib.node.real.link import Link

LATE = (
    "failed to create shim task: failed to start io pipe copy: unable to copy pipes: containerd-shim: "
    'opening w/o fifo "init-stderr" failed: context deadline exceeded'
)


class Stream:
    """A link that only knows whether it is closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


class Engine:
    """An engine that rejects the first starts.

    Args:
        errors: messages of its rejections, one a start.
    """

    def __init__(self, *errors: str) -> None:
        self.api, self.base_url, self._errors = self, "http://engine", list(errors)
        self.containers: list[str] = []
        self.starts = 0
        self.state = {"Status": "running"}

    def inspect_container(self, identity: str) -> dict[str, Any]:
        from docker.errors import NotFound

        if identity not in self.containers:
            raise NotFound("404", explanation=f"No such container: {identity}")
        return {"Name": f"/kitlib-{identity}", "State": self.state}

    def create_host_config(self, **more: Any) -> dict[str, Any]:
        return more

    def create_container(self, image: str, **more: Any) -> dict[str, str]:
        self.containers.append(f"id-{self.starts}")
        return {"Id": self.containers[-1]}

    def attach_socket(self, identity: str, **more: Any) -> object:
        return object()

    def start(self, identity: str) -> None:
        from docker.errors import APIError

        self.starts += 1
        if self._errors:
            raise APIError("500 Server Error", explanation=self._errors.pop(0))

    def remove_container(self, identity: str, *, force: bool) -> None:
        from docker.errors import NotFound

        if identity not in self.containers:
            raise NotFound("404", explanation="No such container")
        self.containers.remove(identity)


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Stream]:
    """The streams that were opened; no time passes between attempts."""
    monkeypatch.setattr(container, "_REST", 0.0)
    return []


def start(engine: Engine, streams: list[Stream]) -> container.NodeContainer:
    def link(name: str, stream: Any) -> Link:
        streams.append(Stream())
        return streams[-1]  # type: ignore[return-value]

    return container.start(engine, "image", "node-1", MachineInfo(cores=2, memory=2**30), link=link)


@pytest.mark.parametrize("late", [LATE, "timed out waiting for the container", "i/o timeout"])
def test_a_start_that_took_too_long_is_repeated_and_leaves_nothing(late: str, streams: list[Stream]) -> None:
    engine = Engine(late, late)
    start(engine, streams)
    assert engine.containers == ["id-2"]
    assert [stream.closed for stream in streams] == [True, True, False]


def test_after_three_starts_the_engines_words_are_the_message(streams: list[Stream]) -> None:
    engine = Engine(*[LATE] * 5)
    with pytest.raises(KitError, match=r"node node-1: the engine refused to start it: .*context deadline exceeded"):
        start(engine, streams)
    assert (engine.starts, engine.containers) == (3, [])
    assert all(stream.closed for stream in streams)


def test_another_refusal_is_not_repeated(streams: list[Stream]) -> None:
    engine = Engine("no space left on device")
    with pytest.raises(KitError, match="no space left"):
        start(engine, streams)
    assert (engine.starts, engine.containers) == (1, [])


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"Status": "running"}, "its container kitlib-id-0 runs: the machine may be busy"),
        ({"Status": "paused", "Paused": True}, "its container kitlib-id-0 is paused: `docker unpause kitlib-id-0`"),
    ],
)
def test_the_state_of_a_container_that_does_not_answer_is_said(
    state: dict[str, Any], words: str, streams: list[Stream]
) -> None:
    engine = Engine()
    node = start(engine, streams)
    engine.state = state
    assert words in node.link.look()
    engine.remove_container(node.id, force=True)
    assert node.link.look() == "its engine: No such container: id-0"

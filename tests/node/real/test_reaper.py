"""What a killed owner leaves on its engine is removed, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.node.real import reaper
from kitlib.node.real.container import OWNER
from kitlib.node.real.leftovers import LABEL


class Client:
    """An engine on which a container of the dead owner's appears late."""

    def __init__(self) -> None:
        self.there, self.looks, self.removed, self.api = {"a": "host:1", "b": "host:2"}, 0, list[str](), self
        self.layers = {"layer": "host:1", "other": "host:2"}

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        self.looks += 1
        if self.looks == 2:
            raise OSError("the engine is busy")
        if self.looks == 3:
            self.there["late"] = "host:1"
        wanted = filters["label"].removeprefix(f"{OWNER}=")
        return [{"Id": one} for one, whose in self.there.items() if whose == wanted]

    def images(self, *, filters: dict[str, Any]) -> list[dict[str, Any]]:
        assert filters == {"dangling": True, "label": LABEL}
        return [{"Id": one, "Labels": {OWNER: whose}} for one, whose in self.layers.items()]

    def remove_image(self, identity: str) -> None:
        del self.layers[identity]

    def remove_container(self, identity: str, *, force: bool) -> None:
        assert force
        del self.there[identity]
        self.removed.append(identity)


def test_the_dead_owners_containers_go_also_those_that_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(reaper.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(reaper.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    client = Client()
    reaper.clean(client, "host:1")
    assert client.removed == ["a", "late"] and client.there == {"b": "host:2"}
    assert client.layers == {"other": "host:2"}
    assert reaper.LOOKS_FOR <= now[0] <= 2 * reaper.LOOKS_FOR


class SlowClient(Client):
    """An engine that takes longer for a request than the reaper waits, and refuses the first removal."""

    def __init__(self, now: list[float]) -> None:
        super().__init__()
        self._now, self._refused = now, False

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        self._now[0] += 2 * reaper.LOOKS_FOR
        return super().containers(all=all, filters=filters)

    def remove_container(self, identity: str, *, force: bool) -> None:
        self._now[0] += 2 * reaper.LOOKS_FOR
        if not self._refused:
            self._refused = True
            raise OSError("the container is being started")
        super().remove_container(identity, force=force)


def test_a_slow_engine_is_asked_again_until_it_has_removed_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(reaper.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(reaper.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    client = SlowClient(now)
    reaper.clean(client, "host:1")
    assert client.there == {"b": "host:2"} and now[0] <= reaper.LOOKS_AT_MOST + 4 * reaper.LOOKS_FOR

"""A release as it is handed from room to room."""

from __future__ import annotations

from kitlib.api.release import Release


def test_a_release_that_is_handed_on_keeps_its_gates():
    changed = Release("1.30", {"MemoryQoS": True})
    assert Release.of(changed).enabled("MemoryQoS")
    assert Release.of(changed, {"NodeSwap": False}).enabled("MemoryQoS")
    assert (Release.of("v1.30.2").name, Release.of(None)) == ("1.30", Release.latest())

"""The kubelet's timeline: entries in order, of an hour or at least the last 500."""

from __future__ import annotations

from kitlib.kubelet.loop.timeline import KEPT_ALWAYS, KEPT_SECONDS, KubeletTimeline, TimelineEntry


def test_entries_older_than_an_hour_go_once_there_are_more_than_500() -> None:
    now = [0.0]
    made = KubeletTimeline(lambda: now[0])
    for number in range(KEPT_ALWAYS):
        made.note("a", str(number))
    now[0] = KEPT_SECONDS
    made.note("b", "at the hour")
    assert len(made) == KEPT_ALWAYS + 1
    now[0] = KEPT_SECONDS + 1
    made.note("b", "after it")
    assert len(made) == KEPT_ALWAYS
    assert [entry.action for entry in made.of("b")] == ["at the hour", "after it"]
    assert next(iter(made)).action == "2"


def test_an_entry_lists_its_files_and_its_text() -> None:
    entry = TimelineEntry(1.25, "cgroups", "writing", "pod", "memory.max=1, cpu.weight=2, done")
    assert entry.files() == ["memory.max", "cpu.weight"]
    assert str(entry) == "      1.2  cgroups          writing pod: memory.max=1, cpu.weight=2, done"

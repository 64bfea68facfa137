"""A container's output: lines with their time, the last of them kept."""

from __future__ import annotations

from kitlib.node.common.log import KEPT, MAX_LINE, Log, shown


def log() -> tuple[Log, list[float]]:
    clock = [100.0]
    return Log(lambda: clock[0]), clock


def test_a_line_has_the_time_at_which_it_began() -> None:
    made, clock = log()
    made.add(b"a\nb")
    clock[0] = 101.0
    made.add(b"c\n")
    assert [(line.at, line.text) for line in made.lines()] == [(100.0, b"a\n"), (100.0, b"bc\n")]
    assert shown(made.lines()[0], True) == b"1970-01-01T00:01:40.000000000Z a\n"


def test_tail_counts_before_time_is_looked_at() -> None:
    made, clock = log()
    made.add(b"1\n2\n")
    clock[0] = 200.0
    made.add(b"3\n")
    assert [line.text for line in made.lines(tail=2, since=150.0)] == [b"3\n"]
    assert [line.text for line in made.lines(tail=2)] == [b"2\n", b"3\n"]
    assert [line.text for line in made.lines(first=2)] == [b"3\n"]


def test_only_the_last_is_kept_and_numbers_go_on() -> None:
    made, _ = log()
    for number in range(3000):
        made.add(b"%099d\n" % number)
    assert KEPT <= len(made.text()) < KEPT + 200
    assert made.lines()[-1].number == 2999 == made.count - 1


def test_a_line_without_end_is_cut_and_counts_when_its_container_ends() -> None:
    made, _ = log()
    made.add(b"x" * (MAX_LINE + 10))
    assert len(made.lines()) == 1 and made.unfinished(False) == b"x" * 10
    made.end()
    assert made.over and len(made.lines()) == 2


def test_listeners_hear_every_piece() -> None:
    made, _ = log()
    heard: list[bytes] = []
    made.listeners.append(heard.append)
    made.add(b"a")
    made.add(b"b\n")
    assert heard == [b"a", b"b\n"]

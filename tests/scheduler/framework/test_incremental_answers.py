"""Counts of a snapshot are looked up again when the snapshot has added or discarded some."""

from __future__ import annotations

from kitlib.scheduler.framework.incremental_answers import TRIES, LiveCounts


class Table:
    """A snapshot whose set of counts grows `grows` times, once in each look-up."""

    def __init__(self, grows: int = 0) -> None:
        self.counts, self.grows, self.looks = 0, grows, 0

    def look(self) -> None:
        self.looks += 1
        if self.grows:
            self.grows -= 1
            self.counts += 1


def test_counts_are_looked_up_once_while_the_set_stays_the_same() -> None:
    table = Table()
    counts = LiveCounts(table, table.look)
    assert counts.are_found() and counts.are_found() and table.looks == 1
    table.counts += 1
    assert counts.are_found() and table.looks == 2


def test_a_look_up_that_adds_a_count_is_repeated() -> None:
    table = Table(grows=1)
    assert LiveCounts(table, table.look).are_found() and table.looks == 2


def test_counts_that_discard_each_other_are_given_up() -> None:
    for grows, found in ((TRIES - 1, True), (TRIES, False)):
        table = Table(grows)
        assert LiveCounts(table, table.look).are_found() is found
        assert table.looks == TRIES


def test_given_up_counts_are_tried_again_at_the_next_question() -> None:
    table = Table(TRIES)
    counts = LiveCounts(table, table.look)
    assert not counts.are_found()
    assert counts.are_found()

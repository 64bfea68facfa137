"""Public threads rebuilt as dumps (threads.py): stage and cause, and proposals that are no way around an owner."""

from __future__ import annotations

import re

import pytest

from tests.advisor.dumps import asked, dump, words
from tests.advisor.thread_list import THREADS
from tests.advisor.threads import LAST_OLD_WORDS, PASSED_OVER, QUERIES, Thread

AROUND = re.compile(r"scheduling gate|suspend|quota|queue|label node \S+ with \S*kubernetes\.io/")


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.source)
def test_the_stage_and_the_cause_are_those_of_the_thread(thread: Thread) -> None:
    release = LAST_OLD_WORDS if thread.query == "volume" else None
    answer = asked(dump(*thread.objects, release=release), thread.target)
    assert answer.stage == thread.stage
    assert thread.cause in f"{words(answer)}\n{answer.decision.message if answer.decision else ''}"
    ways = [str(one) for one in answer.remedies]
    assert not [way for way in ways if AROUND.search(way)]
    assert thread.remedy in "\n".join(ways)


def test_each_query_has_its_threads_and_names_what_was_passed_over() -> None:
    assert {thread.query for thread in THREADS} == set(QUERIES)
    assert set(PASSED_OVER) == set(QUERIES) - {"reports"}

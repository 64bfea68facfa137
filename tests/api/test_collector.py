"""Python's garbage collector rests while many objects are made, and is afterwards as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

from kitlib.api.collector import collector_paused, full_collections_postponed


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_rests_inside_and_is_as_before_outside(was_on: bool) -> None:
    (gc.enable if was_on else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError), collector_paused():
            inside = gc.isenabled()
            with collector_paused():
                pass
            still = gc.isenabled()
            raise ZeroDivisionError
        assert (inside, still, gc.isenabled()) == (False, False, was_on)
    finally:
        gc.enable()


YOUNG = """
import gc
from kitlib.api.collector import collector_paused
with collector_paused():
    made = [[number] for number in range(5_000)]
young = {id(one) for generation in (0, 1) for one in gc.get_objects(generation)}
print(gc.get_freeze_count(), len(young.intersection(map(id, made))), gc.isenabled())
"""


def test_what_was_made_while_it_rested_is_old_for_it_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", YOUNG], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0", "True"]


def test_full_collections_wait_for_the_last_block_of_all_threads() -> None:
    before = gc.get_threshold()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with full_collections_postponed():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with pytest.raises(ZeroDivisionError), full_collections_postponed():
        thread.start()
        assert inside.wait(10)
        with full_collections_postponed():
            pass
        nested = gc.get_threshold()
        raise ZeroDivisionError
    overlapping = gc.get_threshold()
    leave.set()
    thread.join()
    assert nested[:2] == overlapping[:2] == before[:2] and min(nested[2], overlapping[2]) > 1_000_000
    assert gc.get_threshold() == before


def test_young_garbage_is_collected_while_full_collections_wait() -> None:
    full = gc.get_stats()[2]["collections"]
    with full_collections_postponed():
        young = gc.get_stats()[0]["collections"]
        kept = [[number] for number in range(200_000)]
        stats = gc.get_stats()
    assert len(kept) == 200_000 and stats[0]["collections"] > young + 50 and stats[2]["collections"] == full

"""Python's garbage collector rests while many objects are made, and is afterwards as it was."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from kitlib.api.collector import collector_paused


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

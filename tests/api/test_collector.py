"""Python's garbage collector rests while many objects are made, and is afterwards as it was."""

from __future__ import annotations

import gc

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

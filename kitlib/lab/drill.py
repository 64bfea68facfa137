"""A drill, a question with numbers of its own, and the topic that draws it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Drill:
    """A question with its numbers filled in and its answer."""

    text: str
    answer: str | float
    why: str
    choices: Sequence[str] = ()
    unit: str = ""
    tolerance: float = 0.0


@dataclass(frozen=True)
class Topic:
    """What drills are made from.

    Attributes:
        key: of the topic.
        notebook: the number of the notebook that taught it.
        make: draws a drill.
    """

    key: str
    notebook: int
    make: Callable[[random.Random], Drill]

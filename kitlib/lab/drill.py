"""A drill, which is a question with its own numbers, and the topic that draws it."""

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
    """A generator of drills.

    Attributes:
        key: the topic's name.
        notebook: number of the notebook that teaches it, such as "05".
        question: key of that notebook's question about it; a learner who has answered it knows the topic.
        make: draws a drill.
    """

    key: str
    notebook: str
    question: str
    make: Callable[[random.Random], Drill]

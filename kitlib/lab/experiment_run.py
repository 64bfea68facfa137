"""A run with a hidden result: later cells can use the values, the learner sees them after the guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from kitlib.lab.gate import GatedOutput
from kitlib.lab.prediction import Reveal, Verdict

T = TypeVar("T")


class ExperimentRun(Generic[T]):
    """The result of a run and the objects that show it.

    While a question waits for its answer, neither the shown objects nor the verdicts are part of the notebook's file.
    The last guess, or "I don't know", fills the place.

    Args:
        reveals: the answers of the questions.
        value: the result of the run.
        shown: tables, charts, widgets or texts that contain the answer.

    Attributes:
        value: the result of the run; available without a guess.
    """

    def __init__(self, reveals: Sequence[Reveal], value: T, shown: Sequence[Any]) -> None:
        self.value = value
        self._reveals, self._shown = list(reveals), list(shown)
        self._output = GatedOutput([reveal.prediction for reveal in self._reveals], self._parts)

    @property
    def waiting(self) -> bool:
        """Whether a question has neither a guess nor an "I don't know"."""
        return self._output.waiting

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts in the order of the questions; none while one of them waits."""
        return () if self.waiting else tuple(reveal.verdict for reveal in self._reveals if reveal.verdict is not None)

    def _parts(self) -> list[Any]:
        verdicts = self.verdicts
        if len(verdicts) > 1:
            keys = [reveal.prediction.key for reveal in self._reveals]
            return [*self._shown, *(replace(verdict, name=key) for verdict, key in zip(verdicts, keys, strict=True))]
        return [*self._shown, *verdicts]

    def __str__(self) -> str:
        return str(self._output)

    __repr__ = __str__

    def _ipython_display_(self) -> None:
        self._output.show()

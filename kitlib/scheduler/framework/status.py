"""A plugin's answer: a status with a code and reasons, or for Filter plugins a column of them, one per node.

Source: kube-scheduler framework interface.go (Code, Status).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Row numbers of a snapshot."""


class Code(IntEnum):
    """Kinds of answer; the names are Kubernetes'."""

    Success = 0
    Error = 1
    Unschedulable = 2
    UnschedulableAndUnresolvable = 3
    Wait = 4
    Skip = 5
    Pending = 6


REJECTED = (Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending)
"""The codes of a rejection, as opposed to an error. Source: Status.IsRejected."""


@dataclass(frozen=True)
class Status:
    """One answer of a plugin.

    Attributes:
        code: the kind of answer.
        reasons: the reasons of a rejection or error.
        plugin: the plugin's name; "" = the framework itself.
    """

    code: Code = Code.Success
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def ok(self) -> bool:
        """Whether the code is Success."""
        return self.code is Code.Success

    @property
    def message(self) -> str:
        """The reasons, joined with commas."""
        return ", ".join(self.reasons)


SUCCESS = Status()


@dataclass
class Verdicts:
    """A Filter plugin's answers for many nodes: a code for each node, and an index of its reasons in `texts`.

    Attributes:
        codes: a `Code` value for each row.
        which: an index in `texts` for each row; 0 = no reasons.
        texts: the distinct lists of reasons; the first is empty.
    """

    codes: NDArray[np.uint8]
    which: NDArray[np.int32]
    texts: list[tuple[str, ...]] = field(default_factory=lambda: [()])

    @classmethod
    def passing(cls, size: int) -> Verdicts:
        """Return verdicts in which every row passes."""
        return cls(np.zeros(size, np.uint8), np.zeros(size, np.int32))

    def reject(self, mask: NDArray[np.bool_], code: Code, *reasons: str) -> None:
        """Reject the rows of the mask that nothing has rejected yet."""
        new = mask & (self.codes == 0)
        if new.any():
            self.codes[new] = code
            self.which[new] = self._index(reasons)

    def reject_row(self, row: int, code: Code, reasons: tuple[str, ...]) -> None:
        """Reject one row (by its place in the column)."""
        self.codes[row] = code
        self.which[row] = self._index(reasons)

    def _index(self, reasons: tuple[str, ...]) -> int:
        try:
            return self.texts.index(reasons)
        except ValueError:
            self.texts.append(reasons)
            return len(self.texts) - 1

    def status(self, place: int, plugin: str) -> Status:
        """Return the answer for one row, by its place in the column."""
        return Status(Code(int(self.codes[place])), self.texts[int(self.which[place])], plugin)


def merge_codes(codes: NDArray[np.uint8], found: NDArray[np.uint8], *, all_run: bool) -> NDArray[np.uint8]:
    """Return the code of each row after one more filter; 0 = the row passes.

    A row keeps the code of the filter that rejects it first, because later ones are not asked. If all filters run, the
    most severe code counts.

    Args:
        codes: the codes so far.
        found: the codes of this filter.
        all_run: whether the release asks every filter about every row (the gate KitAllFiltersRun).

    Source: framework runtime RunFilterPlugins; PluginToStatus.Merge.
    """
    return np.maximum(codes, found) if all_run else np.where(codes == 0, found, codes)
